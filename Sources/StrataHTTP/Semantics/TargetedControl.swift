/// Cache control that is meant for certain caches alone, such as `CDN-Cache-Control` (RFC 9213).
///
/// Unlike `Cache-Control` it is a dictionary of structured fields (RFC 8941 §3.2): one error makes the whole field
/// void.
enum TargetedControl {
    /// The first of the fields that is there, is no empty one and has no error; `nil` for none, and `Cache-Control`
    /// goes.
    static func control(of fields: HTTPFields, targets: [String]) -> CacheControl? {
        for target in targets {
            let values = fields.values(of: target)
            if !values.isEmpty, let control = parsed(values) { return control }
        }
        return nil
    }

    private static let numeric: Set = ["max-age", "s-maxage", "stale-while-revalidate", "stale-if-error"]

    private static func parsed(_ values: [String]) -> CacheControl? {
        var directives: [String: String?] = [:]
        for value in values {
            for member in HTTPList.split(value).map(\.trimmed) {
                let item = member.unicodeScalars.split(separator: ";", omittingEmptySubsequences: false)[0]
                let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let name = String(parts[0])
                guard isKey(name) else { return nil }
                let argument = parts.count == 2 ? String(parts[1]) : nil
                if numeric.contains(name) {
                    guard let argument, CacheControl.number(argument) != nil else { return nil }
                    directives[name] = argument
                } else if argument == "?0" {
                    directives[name] = nil
                } else {
                    guard argument.map(isItem) ?? true else { return nil }
                    directives[name] = .some(nil)
                }
            }
        }
        return directives.isEmpty ? nil : CacheControl(directives: directives)
    }

    /// Names begin with a small letter or `*`.
    private static func isKey(_ text: String) -> Bool {
        let isLetter = { (byte: UInt8) in (97...122).contains(byte) || byte == UInt8(ascii: "*") }
        guard let first = text.utf8.first, isLetter(first) else { return false }
        return text.utf8.allSatisfy { isLetter($0) || (48...57).contains($0) || "_-.".utf8.contains($0) }
    }

    /// Tokens, numbers, strings, bytes, truth values: told apart by their first character.
    private static func isItem(_ text: String) -> Bool {
        guard let first = text.utf8.first, text.utf8.allSatisfy({ (32..<127).contains($0) }) else { return false }
        switch first {
        case UInt8(ascii: "\""): return text.utf8.count >= 2 && text.utf8.last == first
        case UInt8(ascii: "?"): return text == "?0" || text == "?1"
        case UInt8(ascii: ":"): return text.utf8.count >= 2 && text.utf8.last == first
        case UInt8(ascii: "-"), 48...57: return Double(text) != nil
        default: return (65...90).contains(first) || (97...122).contains(first) || first == UInt8(ascii: "*")
        }
    }
}
