/// What a simulated fleet came to.
public struct FleetOutcome: Sendable {
    /// Reads, and those among them that waited for no fetch, each tenth of a second.
    public internal(set) var buckets: [(reads: Int, hits: Int)] = []
    /// Reads that memory answered.
    public internal(set) var memoryHits = 0
    /// Commands of all servers.
    public internal(set) var commands = 0
    /// Changes of keys that listeners were told of: each key and each listener by itself.
    public internal(set) var notices = 0
    /// Calls of the source.
    public internal(set) var sourceCalls = 0
    /// Of how many keys they were.
    public internal(set) var sourceKeys = 0
    /// How many calls waited for the source at most.
    public internal(set) var longestLine = 0
    /// Seconds of processor of each server.
    public internal(set) var processor: [Double] = []
    public internal(set) var connections = 0
    public internal(set) var connectionsEachTenth: [Int] = []
    /// Seconds from a change at the server until the last instance had been told.
    public internal(set) var propagation: [Double] = []
    /// Seconds of reads that Redis answered.
    public internal(set) var redisReads: [Double] = []
    /// What was counted, in seconds.
    public internal(set) var seconds = 0.0

    public var reads: Int { buckets.reduce(0) { $0 + $1.reads } }
    public var hits: Int { buckets.reduce(0) { $0 + $1.hits } }

    /// The share of one processor that the busiest server used.
    public var load: Double { (processor.max() ?? 0) / seconds }

    /// The most connections of a second.
    public var connectionsInWorstSecond: Int {
        let tenths = connectionsEachTenth
        return tenths.indices.map { tenths[$0..<min($0 + 10, tenths.count)].reduce(0, +) }.max() ?? 0
    }

    /// After how many seconds a share of all reads of each later half second waited for no fetch; `nil` when it never
    /// came to that.
    public func seconds(untilHits share: Double) -> Double? {
        let halves = buckets.indices.map { start in
            buckets[start..<min(start + 5, buckets.count)]
                .reduce((reads: 0, hits: 0)) { ($0.reads + $1.reads, $0.hits + $1.hits) }
        }
        let below = halves.lastIndex { Double($0.hits) < share * Double($0.reads) }
        let first = below.map { $0 + 1 } ?? 0
        return first < halves.count ? Double(first) / 10 : nil
    }

    /// The values below which shares of some times lie.
    public static func quantiles(_ shares: [Double], of times: [Double]) -> [Double] {
        let sorted = times.sorted()
        return shares.map { sorted.isEmpty ? 0 : sorted[min(Int(Double(sorted.count) * $0), sorted.count - 1)] }
    }
}
