#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// URLs that responses name.
enum HTTPReference {
    /// The URL that a reference means, without a fragment; `nil` when it is none.
    static func resolved(_ reference: String, from url: String) -> String? {
        guard let base = URL(string: url), let found = URL(string: reference, relativeTo: base) else { return nil }
        return String(found.absoluteURL.absoluteString.unicodeScalars.prefix { $0 != "#" })
    }

    /// Whether scheme, host and port are the same (RFC 9110 §4.3.1).
    static func haveSameOrigin(_ one: String, _ other: String) -> Bool {
        guard let one = URL(string: one), let other = URL(string: other) else { return false }
        return one.scheme?.lowercased() == other.scheme?.lowercased()
            && one.host?.lowercased() == other.host?.lowercased()
            && port(one) == port(other)
    }

    private static func port(_ url: URL) -> Int { url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80) }
}
