/// How long a response may be used, as its header fields say (RFC 9111, RFC 5861).
///
/// It is a pure function of the response: no clock is read. The cache is one that many users share, so `private` keeps
/// a response out, and `s-maxage` beats `max-age`.
///
/// The age is `Age` plus the time that the response took. The date of the response is not compared with this machine's
/// clock: that would help only behind caches that do not know `Age`, and would make every wrong clock a defect of the
/// cache.
public struct HTTPLifetime: Sendable, Hashable, Codable {
    /// The rules for responses that say little about their lifetime.
    public struct Rules: Sendable, Hashable {
        /// How long a response that says nothing is fresh, as a share of the time since it was last changed; 0 for not
        /// at all.
        ///
        /// 0.1, as RFC 9111 §4.2.2 suggests.
        public var heuristicShare: Double
        /// How long such a response is fresh at most, in whole seconds; a day.
        public var heuristicLimit: Duration
        /// Whether responses that are meant for one user are stored; only for caches with a single user.
        public var storesPrivate: Bool
        /// Fields that count instead of `Cache-Control` and `Expires`, in lower case; none by default.
        ///
        /// The first that is present counts; for example `["cdn-cache-control"]` (RFC 9213).
        public var targetedFields: [String]
        /// Whether parts of a body (status 206) are stored, to answer requests for bytes that lie in them.
        public var storesRanges: Bool

        /// Rules, each with its default.
        public init(
            heuristicShare: Double = 0.1,
            heuristicLimit: Duration = .seconds(86_400),
            storesPrivate: Bool = false,
            targetedFields: [String] = [],
            storesRanges: Bool = true
        ) {
            self.heuristicShare = heuristicShare
            self.heuristicLimit = heuristicLimit
            self.storesPrivate = storesPrivate
            self.targetedFields = targetedFields
            self.storesRanges = storesRanges
        }
    }

    /// Whether the response may be stored at all.
    public var isStorable: Bool
    /// How many seconds from its arrival it is fresh.
    public var freshFor: Int
    /// How many seconds more it may be served while a newer one is fetched.
    public var staleWhileRevalidate: Int
    /// How many seconds more it may be served when no newer one can be fetched.
    public var staleIfError: Int
    /// How old it was when it arrived, in seconds.
    public var age: Int
    /// How many seconds it had been stale when it arrived.
    public var staleFor: Int
    /// Whether it must never be served while it is stale, even if the caller allows it.
    public var isStrict: Bool

    /// A lifetime with the given parts.
    public init(
        isStorable: Bool,
        freshFor: Int = 0,
        staleWhileRevalidate: Int = 0,
        staleIfError: Int = 0,
        age: Int = 0,
        staleFor: Int = 0,
        isStrict: Bool = false
    ) {
        self.isStorable = isStorable
        self.freshFor = freshFor
        self.staleWhileRevalidate = staleWhileRevalidate
        self.staleIfError = staleIfError
        self.age = age
        self.staleFor = staleFor
        self.isStrict = isStrict
    }

    /// The lifetime of a response.
    ///
    /// - Parameters:
    ///   - status: Its status.
    ///   - fields: Its header fields.
    ///   - isAuthorized: Whether the request had an `Authorization` field.
    ///   - delay: How many seconds the response took to arrive.
    ///   - arrival: When it arrived, in seconds since 1970; replaces a missing or malformed `Date`. With `nil` nothing
    ///     replaces it.
    ///   - rules: The rules for responses that say little about their lifetime.
    public init(
        status: Int,
        fields: HTTPFields,
        isAuthorized: Bool = false,
        delay: Int = 0,
        arrival: Int? = nil,
        rules: Rules = Rules()
    ) {
        let targeted = TargetedControl.control(of: fields, targets: rules.targetedFields)
        let control = targeted ?? CacheControl(fields.values(of: "cache-control"))
        let hasExpiry = targeted == nil && !fields.values(of: "expires").isEmpty
        let age = Self.age(fields) + max(0, delay)
        guard Self.isStorable(status, fields, control, hasExpiry, isAuthorized, rules) else {
            self.init(isStorable: false, age: age)
            return
        }
        let date = fields["date"].flatMap(HTTPDate.seconds) ?? arrival
        let lifetime =
            (rules.storesPrivate ? nil : control.seconds("s-maxage"))
            ?? control.seconds("max-age")
            ?? (hasExpiry ? Self.expiry(fields, date) : nil)
            ?? Self.heuristic(status, fields, control, date, rules)
        let isAlwaysAsked = control.isForAll("no-cache")
        let isStrict =
            control.has("must-revalidate") || isAlwaysAsked
            || (!rules.storesPrivate && (control.has("proxy-revalidate") || control.has("s-maxage")))
        self.init(
            isStorable: true,
            freshFor: isAlwaysAsked ? 0 : max(0, lifetime - age),
            staleWhileRevalidate: isStrict ? 0 : control.seconds("stale-while-revalidate") ?? 0,
            staleIfError: isStrict ? 0 : control.seconds("stale-if-error") ?? 0,
            age: age,
            staleFor: max(0, age - lifetime),
            isStrict: isStrict
        )
    }

    /// Whether its times are such as ``init(status:fields:isAuthorized:delay:arrival:rules:)`` makes them.
    var isSound: Bool {
        [freshFor, staleWhileRevalidate, staleIfError, age, staleFor].allSatisfy { (0...(1 << 33)).contains($0) }
    }

    /// What a response says of caching, to this cache or to all.
    static func control(_ fields: HTTPFields, _ rules: Rules) -> CacheControl {
        TargetedControl.control(of: fields, targets: rules.targetedFields)
            ?? CacheControl(fields.values(of: "cache-control"))
    }

    /// Whether a response says itself how long it is fresh.
    static func isExplicit(_ fields: HTTPFields, _ rules: Rules) -> Bool {
        let control = control(fields, rules)
        return control.has("max-age") || control.has("s-maxage") || !fields.values(of: "expires").isEmpty
    }

    /// What `Age` says, the first of its values (RFC 9111 §5.1); 0 when that is no number.
    private static func age(_ fields: HTTPFields) -> Int {
        let first = fields.values(of: "age").first?.unicodeScalars.prefix { $0 != "," && $0 != ";" }
        return first.map { CacheControl.seconds(Substring($0).trimmed) } ?? 0
    }

    /// Statuses whose responses may be stored without a word (RFC 9110 §15.1).
    private static let storableByThemselves: Set = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

    private static func isStorable(
        _ status: Int,
        _ fields: HTTPFields,
        _ control: CacheControl,
        _ hasExpiry: Bool,
        _ isAuthorized: Bool,
        _ rules: Rules
    ) -> Bool {
        guard status >= 200, status != 304, status != 206 || rules.storesRanges else { return false }
        // What must be understood is, as far as this list goes; and then that beats `no-store` (RFC 9111 §5.2.2.3).
        let isUnderstood = storableByThemselves.contains(status)
        guard control.has("must-understand") ? isUnderstood : !control.has("no-store") else { return false }
        guard HTTPVary(fields) != .everything else { return false }
        if !rules.storesPrivate {
            guard !control.isForAll("private") else { return false }
            let isAllowed = ["public", "s-maxage", "must-revalidate"].contains(where: control.has)
            guard !isAuthorized || isAllowed else { return false }
        }
        return isUnderstood || hasExpiry || ["public", "max-age", "s-maxage"].contains(where: control.has)
            || (rules.storesPrivate && control.has("private"))
    }

    /// From `Expires` and `Date`; 0 when the former is no date, or there is none to compare with.
    private static func expiry(_ fields: HTTPFields, _ date: Int?) -> Int {
        guard let end = fields["expires"].flatMap(HTTPDate.seconds), let date else { return 0 }
        return min(max(0, end - date), 1 << 31)
    }

    private static func heuristic(
        _ status: Int,
        _ fields: HTTPFields,
        _ control: CacheControl,
        _ date: Int?,
        _ rules: Rules
    ) -> Int {
        guard rules.heuristicShare > 0, storableByThemselves.contains(status) || control.has("public"),
            let date, let change = fields["last-modified"].flatMap(HTTPDate.seconds), change < date
        else { return 0 }
        let limit = max(0, rules.heuristicLimit.components.seconds)
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
