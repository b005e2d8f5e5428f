/// Arithmetic of points in time, on seconds since 2001-01-01 00:00 UTC as `Date` keeps them.
enum CBORTime {
    /// The seconds between 1970 and 2001.
    static let secondsTo2001: Int64 = 978_307_200

    /// The decimal units of a fraction of a second, from the power of ten that stands for each in RFC 9581 §3.4.
    static let units: [(power: Int, size: Double)] = [
        (-3, 1e-3), (-6, 1e-6), (-9, 1e-9), (-12, 1e-12), (-15, 1e-15), (-18, 1e-18),
    ]

    /// Whole seconds since 1970 and a fraction in the coarsest unit that leads back to the very same number.
    ///
    /// Nanoseconds do for all dates but those of the hundred days around the turn to 2001, which are kept in finer
    /// steps.
    static func split(secondsSince2001 seconds: Double) -> (whole: Int64, power: Int, parts: UInt64)? {
        let floor = seconds.rounded(.down)
        guard let since2001 = Int64(exactly: floor) else { return nil }
        let (whole, overflow) = since2001.addingReportingOverflow(secondsTo2001)
        guard !overflow else { return nil }
        for unit in units {
            let parts = ((seconds - floor) / unit.size).rounded()
            if parts * unit.size < 1 && join(whole: whole, fraction: parts * unit.size) == seconds {
                return (whole, unit.power, UInt64(parts))
            }
        }
        return nil
    }

    /// Seconds since 2001 from whole seconds since 1970 and a fraction.
    static func join(whole: Int64, fraction: Double) -> Double {
        let (since2001, overflow) = whole.subtractingReportingOverflow(secondsTo2001)
        return (overflow ? Double(whole) - Double(secondsTo2001) : Double(since2001)) + fraction
    }

    /// RFC 3339 text in UTC with up to nine digits of fraction, or `nil` outside the years 0 to 9999.
    static func text(secondsSince2001 seconds: Double) -> String? {
        let floor = seconds.rounded(.down)
        guard abs(floor) < 1e12, var whole = Int64(exactly: floor) else { return nil }
        var nanoseconds = Int64(((seconds - floor) * 1e9).rounded())
        if nanoseconds == 1_000_000_000 {
            nanoseconds = 0
            whole += 1
        }
        let since1970 = whole + secondsTo2001
        let day = since1970 >= 0 ? since1970 / 86_400 : (since1970 - 86_399) / 86_400
        let second = Int(since1970 - day * 86_400)
        let date = civil(fromDay: Int(day))
        guard (0...9999).contains(date.year) else { return nil }
        var text = "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))T"
        text += "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
        if nanoseconds > 0 {
            var digits = padded(Int(nanoseconds), 9)
            while digits.last == "0" { digits.removeLast() }
            text += ".\(digits)"
        }
        return text + "Z"
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// Seconds since 2001 of RFC 3339 text, or `nil` where it is none.
    ///
    /// A leap second counts as the second after it.
    static func secondsSince2001(text: String) -> Double? {
        var rest = Array(text.utf8)[...]
        guard let year = number(&rest, digits: 4), literal(&rest, "-"),
            let month = number(&rest, digits: 2), (1...12).contains(month), literal(&rest, "-"),
            let day = number(&rest, digits: 2), (1...daysIn(month: month, of: year)).contains(day),
            literal(&rest, "T") || literal(&rest, "t") || literal(&rest, " "),
            let hour = number(&rest, digits: 2), hour < 24, literal(&rest, ":"),
            let minute = number(&rest, digits: 2), minute < 60, literal(&rest, ":"),
            let second = number(&rest, digits: 2), second <= 60
        else { return nil }
        guard let fraction = fraction(&rest), let offset = offset(&rest), rest.isEmpty else { return nil }
        let days = dayNumber(year: year, month: month, day: day)
        let whole = Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + second - offset)
        return join(whole: whole, fraction: fraction)
    }

    private static func number(_ rest: inout ArraySlice<UInt8>, digits: Int) -> Int? {
        guard rest.count >= digits else { return nil }
        var value = 0
        for digit in rest.prefix(digits) {
            guard (0x30...0x39).contains(digit) else { return nil }
            value = value * 10 + Int(digit - 0x30)
        }
        rest = rest.dropFirst(digits)
        return value
    }

    private static func literal(_ rest: inout ArraySlice<UInt8>, _ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// A fraction of a second, digits beyond the nanosecond ignored; zero where there is none.
    private static func fraction(_ rest: inout ArraySlice<UInt8>) -> Double? {
        guard literal(&rest, ".") else { return 0 }
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        guard !digits.isEmpty else { return nil }
        rest = rest.dropFirst(digits.count)
        var nanoseconds = 0
        for place in 0..<9 {
            nanoseconds *= 10
            if place < digits.count { nanoseconds += Int(digits[digits.startIndex + place] - 0x30) }
        }
        return Double(nanoseconds) * 1e-9
    }

    /// The seconds by which local time is ahead of UTC.
    private static func offset(_ rest: inout ArraySlice<UInt8>) -> Int? {
        if literal(&rest, "Z") || literal(&rest, "z") { return 0 }
        let isBehind = literal(&rest, "-")
        guard isBehind || literal(&rest, "+"),
            let hour = number(&rest, digits: 2), hour < 24, literal(&rest, ":"),
            let minute = number(&rest, digits: 2), minute < 60
        else { return nil }
        let seconds = hour * 3600 + minute * 60
        return isBehind ? -seconds : seconds
    }

    // MARK: Calendar

    private static func daysIn(month: Int, of year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        default: 31
        }
    }

    /// Days since 1970 of a date in the Gregorian calendar.
    ///
    /// By counting years from March: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
    private static func dayNumber(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// The date of a day counted from 1970 (the same source, `civil_from_days`).
    private static func civil(fromDay day: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
