/// What `Cache-Control` says (RFC 9111 §5.2, RFC 5861), of a response or of a request.
struct CacheControl: Hashable {
    private var directives: [String: [String?]] = [:]

    /// Directives of all the fields, names in any case, arguments as tokens or quoted.
    init(_ fields: [String]) {
        for directive in HTTPList.members(fields) {
            let parts = directive.unicodeScalars.split(separator: "=", maxSplits: 1).map { Substring($0).trimmed }
            guard let name = parts.first?.lowercased(), !name.isEmpty else { continue }
            directives[name, default: []].append(parts.count == 2 ? Self.unquoted(parts[1]) : nil)
        }
    }

    /// Directives by their names, each with its argument.
    init(directives: [String: String?]) {
        self.directives = directives.mapValues { [$0] }
    }

    func has(_ name: String) -> Bool { directives[name] != nil }

    /// Whether a directive goes for the whole response: one with an argument goes for the fields that it names.
    func isForAll(_ name: String) -> Bool {
        directives[name]?.contains { HTTPList.members([$0 ?? ""]).isEmpty } ?? false
    }

    /// The fields that a directive names, in lower case (RFC 9111 §5.2.2.4, §5.2.2.7).
    func fieldNames(_ name: String) -> [String] {
        HTTPList.members((directives[name] ?? []).compactMap { $0 }).map { $0.lowercased() }
    }

    /// A number of seconds; of several the smallest, and 0 for what is no number: a cache that cannot tell assumes
    /// stale.
    func seconds(_ name: String) -> Int? {
        directives[name]?.map { $0.map(Self.seconds) ?? 0 }.min()
    }

    /// Like ``seconds(_:)``, where the directive may come without a number, which then means without a limit.
    func limit(_ name: String) -> Int? {
        directives[name]?.map { $0.map(Self.seconds) ?? 1 << 31 }.min()
    }

    /// Digits alone; beyond 2³¹ it is that much (RFC 9111 §1.2.2).
    static func seconds(_ text: String) -> Int { number(text) ?? 0 }

    /// As ``seconds(_:)``; `nil` for what is no number.
    static func number(_ text: String) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }) else { return nil }
        return min(Int(text) ?? .max, 1 << 31)
    }

    private static func unquoted(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard scalars.count >= 2, scalars.first == "\"", scalars.last == "\"" else { return text }
        return String(scalars.dropFirst().dropLast())
    }
}
