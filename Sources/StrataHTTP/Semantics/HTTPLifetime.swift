#if HTTP
/// How long a response may be used, as its header fields say (RFC 9111, RFC 5861).
///
/// It is a pure function of the response: no clock is read. The cache is one that many users share, so `private` keeps
/// a response out, and `s-maxage` beats `max-age`.
///
/// Age is what `Age` says plus the time that the response took. The date of the response is not compared with this
/// machine's clock, which would help only behind caches that do not know `Age`, and would make every clock that is
/// wrong a defect of the cache.
public struct HTTPLifetime: Sendable, Hashable, Codable {
    /// How responses are judged that say little.
    public struct Rules: Sendable, Hashable {
        /// How long a response is fresh that says nothing, as a share of the time since it was last changed; 0 for not
        /// at all.
        ///
        /// 0.1, as RFC 9111 §4.2.2 suggests.
        public var heuristicShare: Double
        /// How long such a response is fresh at most, in seconds; a day.
        public var heuristicLimit: Int
        /// Whether responses are stored that are meant for one user; only for caches that have one.
        public var storesPrivate: Bool

        /// Rules, each with its default.
        public init(heuristicShare: Double = 0.1, heuristicLimit: Int = 86_400, storesPrivate: Bool = false) {
            self.heuristicShare = heuristicShare
            self.heuristicLimit = heuristicLimit
            self.storesPrivate = storesPrivate
        }
    }

    /// Whether the response may be stored at all.
    public var isStorable: Bool
    /// How many seconds from its arrival it is fresh.
    public var freshFor: Int
    /// How many seconds more it may be served while a newer one is fetched.
    public var staleWhileRevalidate: Int
    /// How many seconds more it may be served when no newer one can be had.
    public var staleIfError: Int

    /// A lifetime of its parts.
    public init(isStorable: Bool, freshFor: Int = 0, staleWhileRevalidate: Int = 0, staleIfError: Int = 0) {
        self.isStorable = isStorable
        self.freshFor = freshFor
        self.staleWhileRevalidate = staleWhileRevalidate
        self.staleIfError = staleIfError
    }

    /// The lifetime of a response.
    ///
    /// - Parameters:
    ///   - status: Its status.
    ///   - fields: Its header fields.
    ///   - isAuthorized: Whether the request had an `Authorization` field.
    ///   - delay: How many seconds the response took to arrive.
    ///   - rules: What goes for responses that say little.
    public init(
        status: Int,
        fields: HTTPFields,
        isAuthorized: Bool = false,
        delay: Int = 0,
        rules: Rules = Rules()
    ) {
        let control = CacheControl(fields.values(of: "cache-control"))
        guard Self.isStorable(status, fields, control, isAuthorized, rules) else {
            self.init(isStorable: false)
            return
        }
        let lifetime =
            (rules.storesPrivate ? nil : control.seconds("s-maxage"))
            ?? control.seconds("max-age")
            ?? Self.expiry(fields)
            ?? Self.heuristic(status, fields, rules)
        let age = fields.values(of: "age").first.map { CacheControl.seconds($0.trimmed) } ?? 0
        let fresh = control.has("no-cache") ? 0 : max(0, lifetime - age - max(0, delay))
        let isStrict =
            control.has("must-revalidate") || control.has("no-cache")
            || (!rules.storesPrivate && (control.has("proxy-revalidate") || control.has("s-maxage")))
        self.init(
            isStorable: true,
            freshFor: fresh,
            staleWhileRevalidate: isStrict ? 0 : control.seconds("stale-while-revalidate") ?? 0,
            staleIfError: isStrict ? 0 : control.seconds("stale-if-error") ?? 0
        )
    }

    /// Statuses whose responses may be stored without a word (RFC 9110 §15.1), but for ranges, which are not understood
    /// here.
    private static let storableByThemselves: Set = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

    private static func namesEverything(_ vary: String) -> Bool {
        vary.unicodeScalars.split(separator: ",").contains { Substring($0).trimmed == "*" }
    }

    private static func isStorable(
        _ status: Int,
        _ fields: HTTPFields,
        _ control: CacheControl,
        _ isAuthorized: Bool,
        _ rules: Rules
    ) -> Bool {
        guard status >= 200, status != 206, status != 304, !control.has("no-store") else { return false }
        // Everything that is sent is part of the key or always the same, so any field but * is heeded already.
        guard !fields.values(of: "vary").contains(where: Self.namesEverything) else { return false }
        if !rules.storesPrivate {
            guard !control.has("private") else { return false }
            let isAllowed = ["public", "s-maxage", "must-revalidate"].contains(where: control.has)
            guard !isAuthorized || isAllowed else { return false }
        }
        // What must be understood is, as far as this list goes.
        if control.has("must-understand") { return storableByThemselves.contains(status) }
        return storableByThemselves.contains(status)
            || ["public", "max-age", "s-maxage"].contains(where: control.has)
            || !fields.values(of: "expires").isEmpty
    }

    /// From `Expires` and `Date`; 0 when one of them is no date, or there is none to compare with.
    private static func expiry(_ fields: HTTPFields) -> Int? {
        guard !fields.values(of: "expires").isEmpty else { return nil }
        guard let end = fields["expires"].flatMap(HTTPDate.seconds), let date = fields["date"].flatMap(HTTPDate.seconds)
        else { return 0 }
        return min(max(0, end - date), 1 << 31)
    }

    private static func heuristic(_ status: Int, _ fields: HTTPFields, _ rules: Rules) -> Int {
        guard rules.heuristicShare > 0, storableByThemselves.contains(status),
            let date = fields["date"].flatMap(HTTPDate.seconds),
            let change = fields["last-modified"].flatMap(HTTPDate.seconds), change < date
        else { return 0 }
        let limit = max(0, rules.heuristicLimit)
        return Int(min(Double(date - change) * min(rules.heuristicShare, 1), Double(limit)))
    }
}

/// When to ask again, of a response that was refused (RFC 9110 §10.2.3).
enum RetryAfter {
    /// In seconds; a date counts from that of the response.
    static func seconds(_ fields: HTTPFields) -> Int? {
        guard let text = fields["retry-after"], !text.isEmpty else { return nil }
        if text.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }) { return CacheControl.seconds(text) }
        guard let end = HTTPDate.seconds(text), let date = fields["date"].flatMap(HTTPDate.seconds) else { return nil }
        return min(max(0, end - date), 1 << 31)
    }
}
#endif
