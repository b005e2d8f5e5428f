#if Configuration
internal import Strata

/// Durations as they are written in a configuration: a number and a unit, `500ms`, or a number of seconds.
enum DurationText {
    /// The units, the smallest first, in nanoseconds.
    private static let units: [(name: String, nanoseconds: Int64)] = [
        ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
    ]
    /// A hundred years: as long as anything may take, and no overflow.
    static let longest: Duration = .seconds(36_525 * 86_400)

    /// Why a text is no duration.
    enum Failure: Error {
        case wrongForm
        case outOfRange
    }

    static func read(_ text: String) throws(Failure) -> Duration {
        let unit = units.last { text.hasSuffix($0.name) && !(($0.name == "s") && text.hasSuffix("ms")) }
        let digits = unit.map { text.dropLast($0.name.count) } ?? text[...]
        guard !digits.isEmpty, digits.first != ".", digits.last != ".",
            digits.utf8.allSatisfy({ isDigit($0) || $0 == UInt8(ascii: ".") }),
            let number = Double(digits)
        else { throw .wrongForm }
        return try duration(number * (unit.map { Double($0.nanoseconds) } ?? 1e9))
    }

    static func read(seconds: Double) throws(Failure) -> Duration { try duration(seconds * 1e9) }

    private static func duration(_ nanoseconds: Double) throws(Failure) -> Duration {
        guard nanoseconds >= 0, nanoseconds <= Double(longest.saturatedNanoseconds) else { throw .outOfRange }
        return .nanoseconds(Int64(nanoseconds.rounded()))
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// The shortest way to write a duration: that of the largest unit of which it is a whole number.
    static func write(_ duration: Duration) -> String {
        let nanoseconds = duration.saturatedNanoseconds
        guard nanoseconds > 0 else { return "0s" }
        guard let unit = units.last(where: { nanoseconds % $0.nanoseconds == 0 }) else {
            return "\(Double(nanoseconds) / 1e6)ms"
        }
        return "\(nanoseconds / unit.nanoseconds)\(unit.name)"
    }

    /// Two durations with three dots between them, as the bounds of a range.
    static func write(_ range: ClosedRange<Duration>) -> String {
        "\(write(range.lowerBound))...\(write(range.upperBound))"
    }
}
#endif
