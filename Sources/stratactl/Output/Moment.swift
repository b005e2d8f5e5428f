import StrataRedis

/// A point of the server's time.
struct Moment: Encodable {
    /// Milliseconds since the beginning of 1970.
    let milliseconds: Int64
    /// Seconds from the server's present to it; negative for what is past.
    let relativeSeconds: Double
    /// The date and time in UTC; `nil` outside the years 1 to 9999.
    let time: String?

    init(_ milliseconds: Int64, now: Int64) {
        self.milliseconds = milliseconds
        // In floating point, for both may be anything an envelope can hold.
        relativeSeconds = (Double(milliseconds) - Double(now)) / 1000
        time = Timestamp.text(milliseconds)
    }

    /// The time, and how far away it is.
    var text: String {
        if milliseconds == .max { return "for ever" }
        let place = time ?? "\(milliseconds) ms since 1970"
        let distance = TimeSpan.text(seconds: relativeSeconds.magnitude)
        return place + (relativeSeconds < 0 ? " (\(distance) ago)" : " (in \(distance))")
    }
}

/// Points of time as text (RFC 3339, in UTC).
enum Timestamp {
    /// The time so many milliseconds after the beginning of 1970; `nil` outside the years 1 to 9999.
    static func text(_ milliseconds: Int64) -> String? {
        guard (-62_135_596_800_000...253_402_300_799_999).contains(milliseconds) else { return nil }
        let days = Int((milliseconds - modulo(milliseconds, 86_400_000)) / 86_400_000)
        let rest = Int(modulo(milliseconds, 86_400_000))
        let (year, month, day) = civil(days)
        let date = [padded(year, 4), padded(month, 2), padded(day, 2)].joined(separator: "-")
        let clock = [rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60].map { padded($0, 2) }
            .joined(separator: ":")
        return "\(date)T\(clock).\(padded(rest % 1000, 3))Z"
    }

    /// Days since 1970 as a date of the Gregorian calendar.
    ///
    /// `civil_from_days` of Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", 2013. Years begin in March,
    /// so that the leap day is the last of one.
    private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func modulo(_ value: Int64, _ modulus: Int64) -> Int64 {
        let remainder = value % modulus
        return remainder < 0 ? remainder + modulus : remainder
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
