/// Dates of HTTP (RFC 9110 §5.6.7), in seconds since 1970.
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

    /// `nil` when it is no date; then nothing follows from it.
    ///
    /// The three forms that may come, and nothing like them: `Sun, 06 Nov 1994 08:49:37 GMT`,
    /// `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`. Letters may be of either case. The day of the
    /// week is not looked at.
    static func seconds(_ text: String) -> Int? {
        guard text.utf8.count <= 64 else { return nil }
        let words = text.unicodeScalars.split(separator: " ", omittingEmptySubsequences: false).map { String($0) }
        if words[0].utf8.last == UInt8(ascii: ",") {
            guard words.last?.lowercased() == "gmt" else { return nil }
            switch words.count {
            case 6:
                guard let year = number(words[3], digits: 4) else { return nil }
                return seconds(day: number(words[1], digits: 2), month: words[2], year: year, time: words[4])
            case 4:
                let date = words[1].unicodeScalars.split(separator: "-", omittingEmptySubsequences: false)
                guard date.count == 3, let short = number(String(date[2]), digits: 2) else { return nil }
                let year = short + (short < 70 ? 2_000 : 1_900)
                let day = number(String(date[0]), digits: 2)
                return seconds(day: day, month: String(date[1]), year: year, time: words[2])
            default: return nil
            }
        }
        // A day of one digit has a second space before it.
        guard words.count == 5 || (words.count == 6 && words[2].isEmpty), let year = number(words.last ?? "", digits: 4)
        else { return nil }
        let day = number(words[words.count - 3], digits: words.count == 5 ? 2 : 1)
        return seconds(day: day, month: words[1], year: year, time: words[words.count - 2])
    }

    /// The first of the three forms.
    static func text(_ seconds: Int) -> String {
        let day = Int((Double(seconds) / 86_400).rounded(.down))
        let rest = seconds - day * 86_400
        // Years that begin in March, counted from the year 0.
        let shifted = day + 719_468
        let era = Int((Double(shifted) / 146_097).rounded(.down))
        let ofEra = shifted - era * 146_097
        let yearOfEra = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * ofYear + 2) / 153
        let date = ofYear - (153 * month + 2) / 5 + 1
        let number = (month + 2) % 12
        let year = yearOfEra + era * 400 + (number < 2 ? 1 : 0)
        let weekday = days[((day % 7) + 11) % 7]
        let parts = [rest / 3_600, rest / 60 % 60, rest % 60].map { padded($0, to: 2) }
        return "\(weekday), \(padded(date, to: 2)) \(months[number]) \(padded(year, to: 4)) "
            + parts.joined(separator: ":") + " GMT"
    }

    private static func padded(_ number: Int, to length: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, length - text.count)) + text
    }

    private static func seconds(day: Int?, month: String, year: Int, time: String) -> Int? {
        let parts = time.unicodeScalars.split(separator: ":", omittingEmptySubsequences: false)
            .map { number(String($0), digits: 2) }
        guard parts.count == 3, let hour = parts[0], let minute = parts[1], let second = parts[2],
            hour < 24, minute < 60, second <= 60, let day, day >= 1,
            let month = months.firstIndex(where: { $0.lowercased() == month.lowercased() }).map({ $0 + 1 }),
            day <= length(of: month, in: year)
        else { return nil }
        return number(ofDay: day, month, year) * 86_400 + hour * 3_600 + minute * 60 + second
    }

    private static func number(_ text: String, digits: Int) -> Int? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }) else { return nil }
        return Int(text)
    }

    private static func length(of month: Int, in year: Int) -> Int {
        let isLeap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
        return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    /// Days since 1970 in the Gregorian calendar, counted from the first of March, so that leap days come last.
    private static func number(ofDay day: Int, _ month: Int, _ year: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let month = (month + 9) % 12
        let leaps = year / 4 - year / 100 + year / 400
        return year * 365 + leaps + (month * 306 + 5) / 10 + day - 1 - 719_468
    }
}
