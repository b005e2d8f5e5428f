public import Strata

/// Keeps responses in a level by the rules of HTTP (RFC 9111): serves fresh ones, and revalidates stale ones.
///
/// ```swift
/// let store = DiskStore(path: "/var/cache/shop/http.sqlite")
/// let pages = MemoryLevel<HTTPResource, HTTPContent>(limit: .entries(1_000))
///     .compose(HTTPCache(in: DiskLevel(store, namespace: "http"), HTTPFetcher()))
///     .pooled()
/// ```
///
/// | what is kept | what happens |
/// |---|---|
/// | fresh | it is served |
/// | stale, within `stale-while-revalidate` | it is served, and asked about in the background, while ``run()`` runs |
/// | stale | the server is asked by `ETag` and `Last-Modified`; if nothing has changed the body is not sent again |
/// | stale, within `stale-if-error`, and the server fails | it is served as stale |
///
/// A failure of the level is a miss, and a failed store is counted: neither fails a get.
///
/// The options of a read mean the same as elsewhere: `.cached` asks no server, `.reload` and a maximum age revalidate
/// fresh responses too, `.fresh` gets nothing stale, and `.stale` gets any response that is kept and may be served.
public final class HTTPCache<Storage: CacheLevel<HTTPResource, HTTPContent>>: CacheLevel {
    /// A resource: a URL with the fields that are sent.
    public typealias Key = HTTPResource
    /// A response with its body.
    public typealias Value = HTTPContent

    /// Where responses are kept.
    public let storage: Storage
    /// The source of responses that are not kept.
    package let origin: any HTTPOrigin
    /// How long stale responses are kept for revalidation, beyond the time for which they may be served.
    public let keptFor: Duration
    /// Whether ``respond(to:)`` serves stale responses when the server gives no answer at all.
    public let servesStaleWhenUnreachable: Bool
    /// How long ``respond(to:)`` lets a GET wait for the same one that is running; with zero it does not wait.
    public let collapseLimit: Duration
    let refreshes = RefreshQueue()
    let exchanges: Flights<HTTPResource, Landed>
    /// Requests that renew responses in the background, and are cancelled and left when their time is over.
    let renewals: Flights<HTTPCacheRequest, HTTPReply>
    let uncollapsed: Pauses<Uncollapsed>
    /// What lifetimes are judged by: the clock of the level that keeps the responses.
    let time: CacheClock
    let forgotten = ForgetLedger()
    let counted = Locked(HTTPCacheStatistics())
    /// Tells how long requests to the server take.
    let meter = FetchMeter()

    #if HTTP
    /// A cache of responses.
    ///
    /// - Parameters:
    ///   - storage: Where they are kept: in memory, on disk, or in memory above Redis.
    ///   - fetcher: Asks the servers.
    ///   - keptFor: How long stale responses are kept for revalidation; a day by default.
    ///   - servesStaleWhenUnreachable: Whether ``respond(to:)`` serves stale responses when the server gives no answer
    ///     at all, unless the response forbids it (RFC 9111 §4.2.4).
    ///   - collapseLimit: How long ``respond(to:)`` lets a GET wait for the same one that is running before it asks the
    ///     server, too; 5 s by default. With zero it does not wait.
    public convenience init(
        in storage: Storage,
        _ fetcher: HTTPFetcher,
        keptFor: Duration = .seconds(86_400),
        servesStaleWhenUnreachable: Bool = true,
        collapseLimit: Duration = .seconds(5)
    ) {
        self.init(
            in: storage,
            origin: fetcher,
            keptFor: keptFor,
            servesStaleWhenUnreachable: servesStaleWhenUnreachable,
            collapseLimit: collapseLimit
        )
    }
    #endif

    /// A cache of responses of any origin.
    package init(
        in storage: Storage,
        origin: any HTTPOrigin,
        keptFor: Duration,
        servesStaleWhenUnreachable: Bool,
        collapseLimit: Duration
    ) {
        time = storage.clock ?? .current
        exchanges = Flights(clock: time)
        renewals = Flights(clock: time, anchorLimit: 0)
        uncollapsed = Pauses(clock: time)
        self.storage = storage
        self.origin = origin
        // Of a century and more no instant could be told from "has no lifetime".
        self.keptFor = min(max(keptFor, .zero), EntryLifetime.longest)
        self.servesStaleWhenUnreachable = servesStaleWhenUnreachable
        self.collapseLimit = collapseLimit
    }

    /// How the cache was used since it was made.
    public var statistics: HTTPCacheStatistics { counted.withLock { $0 } }

    /// Revalidates responses that were served while stale, until the task is cancelled.
    ///
    /// While it does not run, `stale-while-revalidate` has no effect: a get then waits for the answer.
    public func run() async {
        await refreshes.run { [self] refreshed in
            if let target = refreshed.target {
                _ = try? await exchange(target, find(target), others: .left)
            } else {
                let kept = try? await storage.entry(for: refreshed.key, ReadRequest())
                _ = try? await refresh(refreshed.key, kept)
            }
        }
    }

    // MARK: Reading

    /// The response, kept or fetched.
    ///
    /// - Throws: As ``HTTPFetcher/fetch(_:revalidating:)``.
    public func entry(for key: HTTPResource, _ request: ReadRequest) async throws -> Entry<HTTPContent>? {
        guard request.awaited == nil else { return nil }
        let kept = try await found(key, request)
        let now = time.now
        if let kept {
            switch verdict(on: kept, of: key, request, at: now) {
            case .serve where kept.isFresh(at: now):
                counted.withLock { $0.hits += 1 }
                return outward(kept)
            case .serve, .serveAndRefresh:
                counted.withLock { $0.servedStale += 1 }
                return outward(kept)
            case .fallBack, .useless: break
            }
        }
        guard request.options.source != .never else { return nil }
        do {
            let entry = try await refresh(key, kept, isKept: !leavesUnfilled(request), request.recorder)
            counted.withLock { $0.misses += 1 }
            return entry
        } catch {
            guard request.options.staleness != .never, let kept, let lifetime = kept.value?.lifetime,
                Self.allowsStale(error), request.options.source != .always || lifetime.staleIfError > 0,
                time.now < kept.freshUntil.advanced(by: .seconds(lifetime.staleIfError))
            else {
                counted.withLock { $0.misses += 1 }
                throw error
            }
            counted.withLock { $0.servedStale += 1 }
            return outward(kept)
        }
    }

    /// What the read may do with what is kept.
    ///
    /// The response says how long it may be served stale at once, and it is so only while ``run()`` asks about it.
    private func verdict(
        on kept: Entry<HTTPContent>,
        of key: HTTPResource,
        _ request: ReadRequest,
        at now: MonotonicInstant
    ) -> Verdict {
        var entry = outward(kept)
        let window = Duration.seconds(kept.value?.lifetime.staleWhileRevalidate ?? 0)
        entry.revalidateUntil = entry.freshUntil.advanced(by: window)
        entry.staleUntil = max(entry.staleUntil, entry.revalidateUntil)
        entry.refreshAt = entry.freshUntil
        if case .refresh = request.purpose, entry.isFresh(at: now) { return .serve }
        let verdict = request.verdict(on: entry, at: now)
        guard verdict == .serveAndRefresh, !refreshes.add(HTTPRefresh(key: key)) else { return verdict }
        return request.options.staleness == .allowed ? .serve : .fallBack
    }

    private func leavesUnfilled(_ request: ReadRequest) -> Bool {
        storage.origin.map { request.options.skipsFilling.contains($0) } ?? false
    }

    func found(_ key: HTTPResource, _ request: ReadRequest) async throws -> Entry<HTTPContent>? {
        if let origin = storage.origin, request.options.skipsReading.contains(origin) { return nil }
        do {
            // Whatever is kept, however old: what the read may do with it is judged here.
            var asked = request
            asked.options = ReadOptions(
                skipsReading: request.options.skipsReading,
                skipsFilling: request.options.skipsFilling
            )
            return try await storage.entry(for: key, asked)
        } catch {
            if Task.isCancelled { throw CancellationError() }
            request.failed(error, at: storage, since: .now)
            counted.withLock { $0.failures += 1 }
            return nil
        }
    }

    /// Asks the server, and keeps what it says.
    private func refresh(
        _ key: HTTPResource,
        _ kept: Entry<HTTPContent>?,
        isKept: Bool = true,
        _ recorder: ReadTraceRecorder? = nil
    ) async throws -> Entry<HTTPContent> {
        let mark = forgotten.begin(key)
        defer { forgotten.end(key) }
        let isKept = isKept && !key.isTooLong
        let rights = isKept ? await storage.rights(toFill: [key]) : nil
        let start = time.now
        let outcome = try await fetch(key, revalidating: kept?.value, recorder)
        let now = time.now
        var entry: Entry<HTTPContent>
        switch outcome {
        case .content(let content):
            entry = content.entry(arrivedAt: now, took: start.duration(to: now))
        case .notModified(let content):
            counted.withLock { $0.notModified += 1 }
            entry = content.entry(arrivedAt: now, took: start.duration(to: now))
        case .absent(let lifetime):
            entry = lifetime.entry(.absent, arrivedAt: now, took: start.duration(to: now))
        }
        // Levels above count no keys, either.
        if key.isTooLong { entry.ticket = .void }
        if let rights, !forgotten.isForgotten(key, since: mark) {
            await keep(entry, for: key, insteadOf: kept, rights)
            // What has forgotten it meanwhile may have come to the level before it did.
            if forgotten.isForgotten(key, since: mark) { await removeOutdated(key) }
        }
        return entry
    }

    /// Removes a response, also for a caller that is cancelled.
    func removeOutdated(_ key: HTTPResource) async {
        do { try await Task { [storage] in try await storage.remove(key) }.value } catch {
            counted.withLock { $0.failures += 1 }
        }
    }

    private func keep(
        _ entry: Entry<HTTPContent>,
        for key: HTTPResource,
        insteadOf kept: Entry<HTTPContent>?,
        _ rights: FillRights
    ) async {
        do {
            guard entry.ticket != .void else {
                if kept != nil { try await storage.remove(key) }
                return
            }
            var stored = entry
            stored.rights = rights
            if let content = entry.value, !content.conditions.isEmpty || content.lifetime.staleWhileRevalidate > 0 {
                let window = Duration.seconds(max(content.lifetime.staleWhileRevalidate, content.lifetime.staleIfError))
                stored.staleUntil = entry.freshUntil.advanced(by: max(window, keptFor))
            }
            try await storage.store(stored, for: key)
        } catch {
            counted.withLock { $0.failures += 1 }
        }
    }

    /// What levels above may do with it: they serve stale entries only for as long as the response allows.
    private func outward(_ kept: Entry<HTTPContent>) -> Entry<HTTPContent> {
        var entry = kept
        let allowed = kept.value.map { Duration.seconds($0.lifetime.staleIfError) } ?? .zero
        entry.staleUntil = kept.freshUntil.advanced(by: allowed)
        return entry
    }

    /// RFC 5861 §4: the server cannot be reached, or says 500, 502, 503 or 504.
    static func allowsStale(_ error: any Error) -> Bool {
        if error is CancellationError { return false }
        guard let error = error as? HTTPError else { return true }
        switch error.code {
        case .statusNotOK: return error.status.map { [500, 502, 503, 504].contains($0) } ?? false
        case .timeout, .invalidResponse: return true
        default: return false
        }
    }

    // MARK: Writing

    /// Stores a response as if it had been fetched.
    public func store(_ entry: Entry<HTTPContent>, for key: HTTPResource) async throws {
        try await storage.store(entry, for: key)
    }

    /// Removes a response, without a request: the value of this resource, and the responses that ``respond(to:)`` keeps
    /// of its URL.
    ///
    /// - Throws: The error of the level that keeps the responses; both are tried.
    public func remove(_ key: HTTPResource) async throws {
        let base = HTTPResource(exchangeAt: key.url)
        forgotten.forget(base)
        forgotten.forget(key)
        var errors: [any Error] = []
        for key in [base, key] {
            do { try await storage.remove(key) } catch { errors.append(error) }
        }
        if let error = errors.first { throw error }
    }

    /// Removes all responses.
    public func removeAll() async throws {
        forgotten.forgetAll()
        try await storage.removeAll()
    }

    /// Invalidates the responses that bear one of these tags.
    public func invalidate(tags: [String]) async throws {
        forgotten.forgetAll()
        try await storage.invalidate(tags: tags)
    }

    /// The clock of the level that keeps the responses.
    public var clock: CacheClock? { time }

    /// Waits for running requests, including those whose callers have left, and for the level that keeps the responses.
    public func drain(within limit: Duration) async {
        let end = MonotonicInstant.now.advanced(by: limit)
        // First: they store what they bring.
        await exchanges.drain(within: limit)
        await storage.drain(within: max(.zero, MonotonicInstant.now.duration(to: end)))
    }

    public func relieve(_ pressure: MemoryPressure) { storage.relieve(pressure) }

    /// `http cache`, with the level that keeps the responses and the origin.
    public var label: LevelLabel {
        let counted = statistics
        return LevelLabel(
            "http cache",
            counters: [
                .init("hits", counted.hits), .init("misses", counted.misses), .init("fetches", counted.fetches),
                .init("failed_fetches", counted.failedFetches), .init("not_modified", counted.notModified),
                .init("served_stale", counted.servedStale), .init("collapsed", counted.collapsed),
                .init("failures", counted.failures),
            ],
            // What the origin itself counts are reads that go past this cache.
            parts: [storage.label, LevelLabel(origin.label.name)],
            durations: [meter.durations],
            hubs: [meter.events]
        )
    }
}

/// How a cache of responses has been used.
public struct HTTPCacheStatistics: Sendable, Hashable {
    /// Responses served while they were fresh.
    public var hits = 0
    /// Requests for which a response could be kept, and for which the server was asked.
    public var misses = 0
    /// Requests to servers, with any result.
    public var fetches = 0
    /// Requests to servers that have failed, or were answered with 500, 502, 503 or 504.
    public var failedFetches = 0
    /// Responses that the server has confirmed as still the newest.
    public var notModified = 0
    /// Responses served while they were stale.
    public var servedStale = 0
    /// Responses served after a wait for another request that fetched them.
    public var collapsed = 0
    /// Failed calls of the level that keeps the responses.
    public var failures = 0

    /// Nothing counted yet.
    public init() {}
}
