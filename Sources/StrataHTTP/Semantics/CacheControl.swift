#if HTTP
/// What `Cache-Control` says (RFC 9111 §5.2, RFC 5861), as far as it concerns a cache that many users share.
struct CacheControl: Hashable {
    private var directives: [String: [String?]] = [:]

    /// Directives of all the fields, names in any case, arguments as tokens or quoted.
    init(_ fields: [String]) {
        for field in fields {
            for directive in Self.split(field) {
                let parts = directive.unicodeScalars.split(separator: "=", maxSplits: 1).map { Substring($0).trimmed }
                guard let name = parts.first?.lowercased(), !name.isEmpty else { continue }
                directives[name, default: []].append(parts.count == 2 ? Self.unquoted(parts[1]) : nil)
            }
        }
    }

    func has(_ name: String) -> Bool { directives[name] != nil }

    /// A number of seconds; of several the smallest, and 0 for what is no number: a cache that cannot tell assumes
    /// stale.
    func seconds(_ name: String) -> Int? {
        directives[name]?.map { $0.map(Self.seconds) ?? 0 }.min()
    }

    /// Digits alone; beyond 2³¹ it is that much (RFC 9111 §1.2.2).
    static func seconds(_ text: String) -> Int {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }) else { return 0 }
        return min(Int(text) ?? .max, 1 << 31)
    }

    /// At commas that are not within quotes.
    ///
    /// By scalars, not by characters: a mark that follows a comma hides none.
    private static func split(_ field: String) -> [Substring] {
        let field = field.unicodeScalars
        var parts: [Substring] = []
        var start = field.startIndex
        var isQuoted = false
        var isEscaped = false
        for index in field.indices {
            let scalar = field[index]
            if isEscaped {
                isEscaped = false
            } else if isQuoted && scalar == "\\" {
                isEscaped = true
            } else if scalar == "\"" {
                isQuoted.toggle()
            } else if scalar == "," && !isQuoted {
                parts.append(Substring(field[start..<index]))
                start = field.index(after: index)
            }
        }
        parts.append(Substring(field[start...]))
        return parts
    }

    private static func unquoted(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard scalars.count >= 2, scalars.first == "\"", scalars.last == "\"" else { return text }
        return String(scalars.dropFirst().dropLast())
    }
}
#endif
