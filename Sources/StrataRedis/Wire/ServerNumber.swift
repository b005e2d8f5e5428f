/// The one way by which numbers come in from Redis, each within the range that its use allows.
///
/// A user who can write to the database, or a host between it and this process, chooses them. A value outside the range
/// is no number, so nothing that is computed with one can overflow.
enum ServerNumber {
    /// Seconds since 1970: up to the year 2255, whose nanoseconds still fit into 64 bits.
    static let seconds: ClosedRange<Int64> = 0...9_000_000_000
    /// The part of a second.
    static let microseconds: ClosedRange<Int64> = 0...999_999
    /// What PTTL answers, in milliseconds: -2 for no key, -1 for no end.
    static let timeToLive: ClosedRange<Int64> = -2 ... .max
    /// How many there are of something.
    ///
    /// More than any server holds, and so few that the sum of a whole walk's counts does not overflow.
    static let count: ClosedRange<Int64> = 0...(1 << 40)
    /// The number of a connection.
    static let identifier: ClosedRange<Int64> = 0 ... .max

    /// A number in decimal digits, with a minus sign before them or nothing.
    ///
    /// - Parameters:
    ///   - text: The digits; no sign of plus, no blanks.
    ///   - range: What it may be.
    /// - Returns: `nil` when it is none, or not within the range.
    static func decimal(_ text: some Collection<UInt8>, in range: ClosedRange<Int64>) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        guard let magnitude = magnitude(isNegative ? text.dropFirst() : text.dropFirst(0)) else { return nil }
        let number = isNegative ? Int64(exactly: magnitude).map { -$0 } ?? lowest(magnitude) : Int64(exactly: magnitude)
        return number.flatMap { range.contains($0) ? $0 : nil }
    }

    /// Decimal digits and nothing else, up to the largest number of 64 bits.
    static func magnitude(_ digits: some Collection<UInt8>) -> UInt64? {
        guard !digits.isEmpty else { return nil }
        var number: UInt64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(UInt64(digit - UInt8(ascii: "0")))
            guard !overflow, !carry else { return nil }
            number = sum
        }
        return number
    }

    /// The lowest number has no positive counterpart.
    private static func lowest(_ magnitude: UInt64) -> Int64? {
        magnitude == Int64.min.magnitude ? .min : nil
    }
}

extension RESPValue {
    /// The reply as a number of a range, also where the server sent it as decimal text; `nil` for everything else.
    func number(in range: ClosedRange<Int64>) -> Int64? {
        switch self {
        case .integer(let value): range.contains(value) ? value : nil
        case .bytes(let text): ServerNumber.decimal(text, in: range)
        default: nil
        }
    }

    /// The reply as how many there are of something.
    var count: Int? { number(in: ServerNumber.count).map { Int($0) } }

    /// The reply as the cursor of a scan, which uses all 64 bits.
    var cursor: UInt64? {
        switch self {
        case .integer(let value): UInt64(exactly: value)
        case .bytes(let text): ServerNumber.magnitude(text)
        default: nil
        }
    }
}
