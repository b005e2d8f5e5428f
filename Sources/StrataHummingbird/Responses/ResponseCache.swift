#if Hummingbird
internal import Hummingbird
public import ServiceLifecycle
public import Strata
public import StrataHTTP
public import StrataRedis

/// Keeps responses of an application's own handlers, by the rules of HTTP (RFC 9111), for all instances of a service.
///
/// ```swift
/// let pages = ResponseCache(redis, keyspace: "shop-pages")
/// router.group("products").cached(by: pages, ResponsePolicy(freshFor: .seconds(60)))
///     .get(":id") { _, context in try await page(of: context.parameters.require("id")) }
/// let application = Application(router: router, services: [redis, pages])
/// ```
///
/// | what comes | what happens |
/// |---|---|
/// | GET or HEAD, something fresh is kept | it is served, with its `Age`; conditions and ranges are answered from it |
/// | GET, stale within `stale-while-revalidate` | it is served, and one instance makes a new one in the background |
/// | GET, nothing of use is kept | of all instances one runs the handler; GETs for the same response wait for it |
/// | POST, PUT, PATCH, DELETE … | the handler is run; success forgets the URL, `Location` and `Content-Location` |
///
/// It keeps responses that say how long they are fresh, by `Cache-Control` or `Expires`, or that the ``ResponsePolicy``
/// covers. It never keeps a response with `Set-Cookie`, `private`, `no-store` or `Vary: *`, one to a request with
/// `Authorization`, a stream of events, or a body above the limit. It ignores `Cache-Control` of a request, so that no
/// caller can make the handlers run.
///
/// As a service (``run()``) it renews responses in the background; while it does not run, a reader of a stale one
/// waits.
public final class ResponseCache: Service, Sendable {
    /// The cache that keeps the responses: for metrics, and to look at.
    public let level: AnyLevel<HTTPResource, HTTPContent>
    let responses: HTTPCache<AnyLevel<HTTPResource, HTTPContent>>
    private let site: String?

    /// The rules for responses of handlers: nothing is guessed, and the policy's word has a field of its own, which no
    /// handler can name.
    static let rules = HTTPLifetime.Rules(heuristicShare: 0, targetedFields: [policyField], storesRanges: false)
    static let policyField = ":policy"

    /// A cache of responses in memory above Redis.
    ///
    /// - Parameters:
    ///   - redis: The server, which is run as a service of its own.
    ///   - keyspace: The part of the database that belongs to these responses: the same in all instances of a service,
    ///     and another one in each service. Services that share it serve each other's responses of the same host.
    ///   - memory: The bytes of responses that each process keeps in memory; 64 MiB.
    ///   - site: The origin under which responses are kept, such as `https://shop.example`, no matter which host a
    ///     request names. With `nil` each host has responses of its own.
    ///   - collapseLimit: How long a GET waits for the same one that is running; 5 s by default.
    public convenience init(
        _ redis: RedisClient,
        keyspace: Keyspace,
        memory: Int = 64 << 20,
        site: String? = nil,
        collapseLimit: Duration = .seconds(5)
    ) {
        // Responses bring their own lifetimes; this one says how long an invalidation is worth repeating.
        let policy = FreshnessPolicy(freshFor: .seconds(86_400), jitter: 0, earlyRefresh: 0)
        self.init(
            in: MemoryLevel<HTTPResource, HTTPContent>(limit: .cost(memory))
                .compose(RedisLevel(redis, keyspace: keyspace, codec: .cbor, freshness: policy)),
            site: site,
            collapseLimit: collapseLimit
        )
    }

    /// A cache of responses in a level of your choice: memory, a disk, Redis, or a composition.
    ///
    /// - Parameters:
    ///   - storage: Where responses are kept. Only responses in Redis are shared, and only with Redis does one instance
    ///     run a handler for all.
    ///   - site: The origin under which responses are kept, no matter which host a request names.
    ///   - collapseLimit: How long a GET waits for the same one that is running; 5 s by default.
    public init(
        in storage: some CacheLevel<HTTPResource, HTTPContent>,
        site: String? = nil,
        collapseLimit: Duration = .seconds(5)
    ) {
        self.site = site.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
        responses = HTTPCache(
            in: AnyLevel(storage),
            origin: HTTPHandlers(rules: Self.rules),
            keptFor: .zero,
            servesStaleWhenUnreachable: false,
            collapseLimit: collapseLimit
        )
        level = AnyLevel(responses)
    }

    /// How the cache has been used since it was made.
    public var statistics: HTTPCacheStatistics { responses.statistics }

    /// Renews responses in the background, until the service is shut down.
    ///
    /// A handler may take 30 seconds for that. Then it is cancelled, has failed, and what it makes later is not kept.
    public func run() async {
        await cancelWhenGracefulShutdown { await self.responses.run() }
    }

    /// Invalidates every response that bears one of these tags, in all instances.
    ///
    /// A response whose handler is running when this begins is not kept.
    ///
    /// - Throws: ``/Strata/CacheError/Code/invalidTags``; the error of the level.
    public func invalidate(tags: [String]) async throws { try await responses.invalidate(tags: tags) }

    /// Invalidates every response that bears a tag, in all instances.
    ///
    /// - Throws: As ``invalidate(tags:)``.
    public func invalidate(tag: String) async throws { try await invalidate(tags: [tag]) }

    /// Removes all responses of a URL, in all instances.
    ///
    /// - Parameter url: The URL; a path with its query if the cache has a site.
    /// - Throws: The error of the level.
    public func remove(_ url: String) async throws {
        try await responses.remove(HTTPResource(url.hasPrefix("/") ? (site ?? "") + url : url))
    }

    /// Removes all responses, in all instances.
    ///
    /// - Throws: The error of the level.
    public func clear() async throws { try await responses.clear() }

    /// The longest path, with its query, whose responses are kept: keys are not counted as memory.
    private static let longestPath = 2_048

    /// The URL under which the response to a request is kept; `nil` for a request that goes past the cache.
    ///
    /// Scheme, host and path come from the caller (by HTTP/2 the scheme, too), and the handler sees them as they are.
    /// So no scheme may be another than a server's, no host may look like the beginning of a path, and no path may have
    /// a fragment, which is no part of a URL's key: a response would be kept as another URL's.
    func url(of request: Request) -> String? {
        guard let path = request.head.path, path.hasPrefix("/"),
            !path.utf8.contains(UInt8(ascii: "#"))
        else { return nil }
        // What other methods change is forgotten, however long the path is.
        let isRead = request.method == .get || request.method == .head
        guard !isRead || path.utf8.count <= Self.longestPath else { return nil }
        let host = request.head.authority ?? "localhost"
        guard Self.isHost(host) || !isRead else { return nil }
        if let site { return site + path }
        let scheme = (request.head.scheme ?? "http").lowercased()
        guard Self.isHost(host), scheme == "http" || scheme == "https" else { return nil }
        return "\(scheme)://\(host.lowercased())\(path)"
    }

    /// Whether a text is a name or an address with or without a port (RFC 3986 §3.2.2), as hosts have them.
    private static func isHost(_ text: String) -> Bool {
        let isLetter = { (byte: UInt8) in (65...90).contains(byte) || (97...122).contains(byte) }
        return (1...255).contains(text.utf8.count)
            && text.utf8.allSatisfy { isLetter($0) || (48...57).contains($0) || "-._:[]".utf8.contains($0) }
    }
}
#endif
