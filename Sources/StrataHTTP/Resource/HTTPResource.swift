public import Strata

/// What is fetched: a URL, with the header fields that are sent along.
///
/// The fields are part of the key: so responses that vary by them (`Vary`) are always kept apart.
public struct HTTPResource: Sendable, Hashable, Codable, KeyRepresentable, CustomStringConvertible {
    /// The URL, without a fragment.
    public let url: String
    /// Fields that are sent, as pairs of name and value, sorted; names in lower case.
    public let fields: [[String]]

    /// A resource by its URL.
    ///
    /// - Parameters:
    ///   - url: `http` or `https`.
    ///   - fields: Header fields of the request, on which the response may depend: language, accepted types,
    ///     authorization.
    public init(_ url: String, fields: [String: String] = [:]) {
        self.url = Self.sent(String(url.unicodeScalars.prefix { $0 != "#" }))
        self.fields = fields.map { [$0.key.lowercased(), $0.value] }.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// The key by which whole responses of a URL are kept, as the server has sent them.
    ///
    /// What is fetched as a value has followed redirects and may be decoded, so it has another key.
    init(exchangeAt url: String) {
        self.url = Self.sent(url)
        fields = [[":exchange", ""]]
    }

    /// The key of one of several responses of a URL.
    init(variantOf base: HTTPResource, _ generation: String, _ selecting: [(name: String, value: String?)]) {
        url = base.url
        fields =
            base.fields + [[":generation", generation]]
            + selecting.map { [$0.name, $0.value.map { "=" + $0 } ?? "-"] }
    }

    /// A URL in the letters in which it is sent: path and query have none beyond ASCII.
    ///
    /// Two spellings of a letter are one text, and two resources. A host is looked up by its letters, and stays.
    private static func sent(_ url: String) -> String {
        guard !url.utf8.allSatisfy({ $0 < 0x80 }), let scheme = url.firstRange(of: "://") else { return url }
        let end = url[scheme.upperBound...].firstIndex { "/?".contains($0) } ?? url.endIndex
        let digits = Array("0123456789ABCDEF".utf8)
        let rest = url[end...].utf8
            .flatMap { byte in
                byte < 0x80 ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        return url[..<end] + String(decoding: rest, as: UTF8.self)
    }

    // By bytes, as HTTP compares: the standard library has different spellings of a letter equal.
    public static func == (one: HTTPResource, other: HTTPResource) -> Bool {
        one.url.utf8.elementsEqual(other.url.utf8)
            && one.fields.elementsEqual(other.fields) { $0.elementsEqual($1) { $0.utf8.elementsEqual($1.utf8) } }
    }

    public func hash(into hasher: inout Hasher) {
        for part in [url] + fields.joined() {
            hasher.combine(part.utf8.count)
            for byte in part.utf8 { hasher.combine(byte) }
        }
    }

    /// Fields whose values are not secret.
    private static let open: Set = [
        ":exchange", ":generation", "accept", "accept-charset", "accept-encoding", "accept-language",
    ]

    /// URL and fields, with their separators escaped.
    ///
    /// The names of keys are visible in levels. So the values of fields that may be secret, such as `Authorization` and
    /// `Cookie`, appear there as their SHA-256.
    public var keyBytes: [UInt8] {
        var bytes = KeyBytes.joining(url)
        for field in fields {
            let isOpen = field.first.map { Self.open.contains($0) } ?? false
            for (place, part) in field.enumerated() {
                bytes.append(UInt8(ascii: ":"))
                let isPlain = place == 0 || isOpen && part.utf8.allSatisfy { $0 < 0x80 }
                bytes += isPlain ? KeyBytes.joining(part) : SHA256.hexadecimal(Array(part.utf8))
            }
        }
        return bytes
    }

    /// Whether the URL, or the fields by which it is told from others, are so long that its response is neither kept
    /// nor waited for: callers choose them, and levels do not count the size of keys.
    var isTooLong: Bool {
        url.utf8.count > 4_096 || fields.reduce(0) { $1.reduce($0) { $0 + $1.utf8.count } } > 4_096
    }

    /// The host and port, in lower case, by which limits count.
    var host: String {
        let scalars = url.unicodeScalars
        let scheme = scalars.prefix { $0 != ":" }
        let rest = scalars[scheme.endIndex...]
        let authority = (rest.starts(with: "://".unicodeScalars) ? rest.dropFirst(3) : scalars[...])
            .prefix { $0 != "/" && $0 != "?" }
        return String(authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority).lowercased()
    }

    var isAuthorized: Bool { fields.contains { $0.first == "authorization" } }

    /// The URL without user, password and query: neither those nor the fields may be public.
    public var description: String {
        let shown = url.unicodeScalars.prefix { $0 != "?" && $0 != "#" }
        let scheme = shown.prefix { $0 != ":" }
        let rest = shown[scheme.endIndex...]
        guard rest.starts(with: "://".unicodeScalars) else { return String(shown) }
        let authority = rest.dropFirst(3).prefix { $0 != "/" }
        guard let end = authority.lastIndex(of: "@") else { return String(shown) }
        return String(scheme) + "://" + String(shown[shown.index(after: end)...])
    }
}
