/// One range of bytes that a request asks for (RFC 9110 §14.1.2).
enum HTTPRange: Hashable {
    case from(Int, through: Int?)
    case last(Int)

    /// `nil` when there is none, or one that may be left unheeded: several ranges, other units, errors.
    init?(_ request: HTTPFields) {
        guard let text = request["range"] else { return nil }
        let parts = text.unicodeScalars.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, Substring(parts[0]).trimmed.lowercased() == "bytes" else { return nil }
        let bounds = Substring(parts[1]).trimmed.unicodeScalars.split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2 else { return nil }
        switch (Self.number(bounds[0]), Self.number(bounds[1])) {
        case (let first?, let last?) where first <= last: self = .from(first, through: last)
        case (let first?, nil) where bounds[1].isEmpty: self = .from(first, through: nil)
        case (nil, let count?) where bounds[0].isEmpty: self = .last(count)
        default: return nil
        }
    }

    /// The bytes of a representation of so many bytes; `nil` when it has none of them.
    func bytes(of length: Int) -> Range<Int>? {
        switch self {
        case .from(let first, let last):
            guard first < length else { return nil }
            return first..<min(last.map { $0 < length ? $0 + 1 : length } ?? length, length)
        case .last(let count):
            guard count > 0, length > 0 else { return nil }
            return max(0, length - count)..<length
        }
    }

    /// Whether `If-Range` lets the range stand: a strong tag or an exact date (RFC 9110 §13.1.5).
    static func stands(_ request: HTTPFields, for response: HTTPFields) -> Bool {
        guard !request.values(of: "if-range").isEmpty else { return true }
        guard let condition = request["if-range"] else { return false }
        return HTTPConditions.areStronglyEqual(condition, response["etag"])
            || condition == response["last-modified"] && isStrong(date: condition, of: response)
    }

    /// Whether a date tells a representation from any other: one of the second in which it was sent may have changed in
    /// it once more (RFC 9110 §8.8.2.2).
    private static func isStrong(date: String, of response: HTTPFields) -> Bool {
        guard let modified = HTTPDate.seconds(date), let sent = response["date"].flatMap({ HTTPDate.seconds($0) })
        else {
            return false
        }
        return modified < sent
    }

    private static func number(_ text: Substring.UnicodeScalarView) -> Int? {
        guard !text.isEmpty, text.count < 19 else { return nil }
        return text.allSatisfy { ("0"..."9").contains($0) } ? Int(String(text)) : nil
    }
}

/// Which bytes of a representation a response has (RFC 9110 §14.4).
struct HTTPPart: Hashable {
    var bytes: Range<Int>
    /// Of the whole; `nil` when the server does not know it.
    var length: Int?

    /// `nil` when the field is none, or does not fit the body.
    init?(_ response: HTTPFields, body: Int) {
        guard let words = response["content-range"]?.unicodeScalars.split(separator: " "), words.count == 2,
            String(words[0]).lowercased() == "bytes"
        else { return nil }
        let sides = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard sides.count == 2 else { return nil }
        let bounds = sides[0].split(separator: "-", omittingEmptySubsequences: false).map { Int(String($0)) }
        guard bounds.count == 2, let first = bounds[0], let last = bounds[1], first >= 0, last < .max, first <= last
        else { return nil }
        length = Int(String(sides[1]))
        bytes = first..<(last + 1)
        guard bytes.count == body, length.map({ last < $0 }) ?? (String(sides[1]) == "*") else { return nil }
    }

    init(bytes: Range<Int>, length: Int?) {
        self.bytes = bytes
        self.length = length
    }

    /// The value of `Content-Range`.
    var text: String { "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(length.map { String($0) } ?? "*")" }
}
