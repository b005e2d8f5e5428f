internal import Strata

/// What the caller wishes of the cache (RFC 9111 §5.2.1, RFC 5861 §4).
struct RequestDirectives: Hashable {
    var isNotStored: Bool
    var isValidated: Bool
    var onlyIfCached: Bool
    var maximumAge: Int?
    var minimumFreshness: Int
    var maximumStaleness: Int
    var staleIfError: Int

    init(_ request: HTTPFields) {
        let control = CacheControl(request.values(of: "cache-control"))
        let pragma = HTTPList.members(request.values(of: "pragma")).map { $0.lowercased() }
        let isOld = request.values(of: "cache-control").isEmpty && pragma.contains("no-cache")
        isNotStored = control.has("no-store")
        isValidated = control.has("no-cache") || isOld
        onlyIfCached = control.has("only-if-cached")
        maximumAge = control.seconds("max-age")
        minimumFreshness = control.seconds("min-fresh") ?? 0
        maximumStaleness = control.limit("max-stale") ?? 0
        staleIfError = control.seconds("stale-if-error") ?? 0
    }

    /// What may be done with a stored response.
    enum Use: Hashable {
        case serve
        /// It is stale, but the caller or the server allows it.
        case serveStale
        /// It may be served at once if it is asked about in the background.
        case serveAndValidate
        case validate
    }

    /// - Parameters:
    ///   - lifetime: That of the response.
    ///   - age: How old it is, in seconds.
    ///   - left: How long it is fresh yet; negative when it is stale.
    /// - Returns: What this request may do with it.
    func use(_ lifetime: HTTPLifetime, age: Int, left: Duration) -> Use {
        guard !isValidated, maximumAge.map({ age <= $0 }) ?? true else { return .validate }
        if left > .zero { return left >= .seconds(minimumFreshness) ? .serve : .validate }
        guard minimumFreshness == 0, !lifetime.isStrict else { return .validate }
        if left > .zero - .seconds(maximumStaleness) { return .serveStale }
        return left > .zero - .seconds(lifetime.staleWhileRevalidate) ? .serveAndValidate : .validate
    }

    /// Whether a stored response may stand in for a server that has failed (RFC 5861 §4, RFC 9111 §4.2.4).
    ///
    /// - Parameters:
    ///   - lifetime: That of the response.
    ///   - left: How long it is fresh yet; negative when it is stale.
    ///   - isUnreachable: Whether the server gave no answer at all.
    /// - Returns: Whether it is served.
    func allowsFallback(_ lifetime: HTTPLifetime, left: Duration, isUnreachable: Bool) -> Bool {
        guard !lifetime.isStrict, !isValidated else { return false }
        return isUnreachable || left > .zero - .seconds(max(staleIfError, lifetime.staleIfError))
    }
}
