#if HTTP
/// Dates of HTTP (RFC 9110 §5.6.7), in seconds since 1970.
enum HTTPDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    /// `nil` when it is no date; then nothing follows from it.
    ///
    /// The three forms that may come: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and
    /// `Sun Nov  6 08:49:37 1994`. The day of the week is not looked at.
    static func seconds(_ text: String) -> Int? {
        guard text.utf8.count <= 64 else { return nil }
        let words = text.split { $0 == " " || $0 == "," || $0 == "-" }.map { $0.lowercased() }
        switch words.count {
        case 6 where words[5] == "gmt":
            return seconds(day: words[1], month: words[2], year: words[3], time: words[4])
        case 5:
            return seconds(day: words[2], month: words[1], year: words[4], time: words[3])
        default:
            return nil
        }
    }

    private static func seconds(day: String, month: String, year: String, time: String) -> Int? {
        let parts = time.split(separator: ":", omittingEmptySubsequences: false).map { number($0, digits: 2) }
        guard parts.count == 3, let hour = parts[0], let minute = parts[1], let second = parts[2],
            hour < 24, minute < 60, second <= 60,
            let day = number(day, digits: 1) ?? number(day, digits: 2), day >= 1,
            let month = months.firstIndex(of: month).map({ $0 + 1 }),
            let year = number(year, digits: 4) ?? number(year, digits: 2).map({ $0 + ($0 < 70 ? 2_000 : 1_900) }),
            day <= length(of: month, in: year)
        else { return nil }
        return days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second
    }

    private static func number(_ text: some StringProtocol, digits: Int) -> Int? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }) else { return nil }
        return Int(text)
    }

    private static func length(of month: Int, in year: Int) -> Int {
        let isLeap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
        return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    /// Days since 1970 in the Gregorian calendar, counted from the first of March, so that leap days come last.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let month = (month + 9) % 12
        let leaps = year / 4 - year / 100 + year / 400
        return year * 365 + leaps + (month * 306 + 5) / 10 + day - 1 - 719_468
    }
}
#endif
