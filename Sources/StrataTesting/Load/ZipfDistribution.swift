#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// Zipf's law over a fixed number of ranks: rank r is drawn with a weight of 1 / r^exponent.
///
/// Requests to real caches come close to it with exponents between 0.6 and 1.1 (Breslau et al., INFOCOM 1999).
public struct ZipfDistribution: Sendable {
    /// Sums of the weights up to each rank, as shares of all.
    private let cumulative: [Double]

    /// A distribution over the ranks from 0.
    ///
    /// - Parameters:
    ///   - count: How many ranks there are; at least 1.
    ///   - exponent: How much the first ranks are preferred; 0 prefers none.
    public init(count: Int, exponent: Double) {
        precondition(count > 0, "a distribution needs a rank")
        let total = (1...count).reduce(0) { $0 + Self.weight($1, exponent) }
        var sum = 0.0
        cumulative = (1...count)
            .map { rank in
                sum += Self.weight(rank, exponent) / total
                return sum
            }
    }

    /// Draws a rank.
    ///
    /// O(log count).
    public func next(using generator: inout some RandomNumberGenerator) -> Int {
        let point = Double.random(in: 0..<1, using: &generator)
        var lower = 0
        var upper = cumulative.count - 1
        while lower < upper {
            let middle = (lower + upper) / 2
            if cumulative[middle] > point { upper = middle } else { lower = middle + 1 }
        }
        return lower
    }

    private static func weight(_ rank: Int, _ exponent: Double) -> Double {
        1 / pow(Double(rank), exponent)
    }
}
