/// The conditions of a request that a cache may answer by itself (RFC 9110 §13, RFC 9111 §4.3.2).
package struct HTTPConditions {
    private let tags: [String]
    private let date: String?

    init(_ request: HTTPFields) {
        tags = HTTPList.members(request.values(of: "if-none-match"))
        date = request["if-modified-since"]
    }

    /// Names of fields that make a request conditional, or ask for a part.
    package static let names: Set = [
        "if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range", "range",
    ]

    /// Names of the conditions that a cache answers.
    static let answered: Set = ["if-none-match", "if-modified-since"]

    /// Whether a request is conditional, or asks for a part.
    static func areIn(_ request: HTTPFields) -> Bool { names.contains { !request.values(of: $0).isEmpty } }

    /// Whether the caller has the response already, so that it need not be sent.
    ///
    /// `If-None-Match` beats `If-Modified-Since`. Tags are compared weakly. A response without `Last-Modified` counts
    /// as changed at its date.
    func isSatisfied(by response: HTTPFields) -> Bool {
        guard tags.isEmpty else {
            if tags == ["*"] { return true }
            guard let own = response["etag"], !own.isEmpty else { return false }
            return tags.contains { Self.opaque($0) == Self.opaque(own) }
        }
        guard let date, let since = HTTPDate.seconds(date) else { return false }
        guard let changed = (response["last-modified"] ?? response["date"]).flatMap(HTTPDate.seconds) else {
            return false
        }
        return changed <= since
    }

    /// Whether two tags are the same and both strong (RFC 9110 §8.8.3.2).
    static func areStronglyEqual(_ one: String?, _ other: String?) -> Bool {
        guard let one, let other else { return false }
        return one == other && one.hasPrefix("\"")
    }

    private static func opaque(_ tag: String) -> String { tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag }
}
