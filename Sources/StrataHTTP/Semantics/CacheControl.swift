#if HTTP
/// What `Cache-Control` says (RFC 9111 §5.2, RFC 5861), as far as it concerns a cache that many users share.
struct CacheControl: Hashable {
    private var directives: [String: [String?]] = [:]

    /// Directives of all the fields, names in any case, arguments as tokens or quoted.
    init(_ fields: [String]) {
        for field in fields {
            for directive in Self.split(field) {
                let parts = directive.split(separator: "=", maxSplits: 1)
                guard let name = parts.first?.trimmed.lowercased(), !name.isEmpty else { continue }
                directives[name, default: []].append(parts.count == 2 ? Self.unquoted(parts[1].trimmed) : nil)
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
    private static func split(_ field: String) -> [Substring] {
        var parts: [Substring] = []
        var start = field.startIndex
        var isQuoted = false
        var isEscaped = false
        for index in field.indices {
            let character = field[index]
            if isEscaped {
                isEscaped = false
            } else if isQuoted && character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
            } else if character == "," && !isQuoted {
                parts.append(field[start..<index])
                start = field.index(after: index)
            }
        }
        parts.append(field[start...])
        return parts
    }

    private static func unquoted(_ text: String) -> String {
        guard text.count >= 2, text.first == "\"", text.last == "\"" else { return text }
        return String(text.dropFirst().dropLast())
    }
}
#endif
