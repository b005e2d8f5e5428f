internal import Strata

/// How long work took in the last half minute or so, for medians and percentiles.
///
/// A histogram with eight classes for each doubling: a percentile is at most an eighth too high. Two windows of 15
/// seconds each, of which the older one goes when the newer is full.
struct DurationWindow: Sendable {
    private static let length: Int64 = 15_000_000_000
    private static let classes = 8 * 42

    private var older = [UInt32](repeating: 0, count: Self.classes)
    private var newer = [UInt32](repeating: 0, count: Self.classes)
    private var begin: MonotonicInstant

    init(at now: MonotonicInstant) { begin = now }

    mutating func add(_ nanoseconds: Int64, at now: MonotonicInstant) {
        turn(at: now)
        newer[Self.number(of: UInt64(max(nanoseconds, 0)) / 1000)] &+= 1
    }

    /// The percentiles; `nil` without work.
    mutating func durations(at now: MonotonicInstant) -> InstanceRecord.Durations? {
        turn(at: now)
        let counts = zip(older, newer).map { Int($0) + Int($1) }
        let count = counts.reduce(0, +)
        guard count > 0 else { return nil }
        func percentile(_ share: Double) -> Int {
            var left = max(Int((Double(count) * share).rounded(.up)), 1)
            for (number, many) in counts.enumerated() where many > 0 {
                left -= many
                if left <= 0 { return Self.end(of: number) }
            }
            return 0
        }
        return .init(count: count, median: percentile(0.5), p95: percentile(0.95), p99: percentile(0.99))
    }

    private mutating func turn(at now: MonotonicInstant) {
        let age = begin.nanoseconds(to: now)
        guard age >= Self.length else { return }
        older = age < 2 * Self.length ? newer : [UInt32](repeating: 0, count: Self.classes)
        newer = [UInt32](repeating: 0, count: Self.classes)
        begin = now
    }

    /// The class of so many microseconds.
    private static func number(of microseconds: UInt64) -> Int {
        guard microseconds >= 8 else { return Int(microseconds) }
        let power = 63 - microseconds.leadingZeroBitCount
        return min((power - 2) * 8 + Int(microseconds >> UInt64(power - 3) & 7), classes - 1)
    }

    /// The largest number of microseconds in a class.
    private static func end(of number: Int) -> Int {
        guard number >= 8 else { return number }
        let (power, step) = (number / 8 + 2, number % 8)
        return (9 + step) << (power - 3) - 1
    }
}
