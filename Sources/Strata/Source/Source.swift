internal import Synchronization

/// The bottom of a cache in one process: a closure whose values get lifetimes and whose callers share fetches.
///
/// ```swift
/// let quotes = MemoryLevel<String, Quote>(limit: .entries(1_000))
///     .compose(Source(freshness: .resilient) { symbol in try await exchange.quote(symbol) })
/// ```
///
/// Below a Redis level, `fetching` does the same for the whole fleet.
///
/// Reads of one key that overlap cause one fetch. A caller's cancellation is its own; the fetch is cancelled when the
/// last caller has left. A fetch that callers have given up waiting for goes on in the background, up to the policy's
/// limits, and later callers get its result.
///
/// After a failure the key is not asked for again for a while: as long as the source says, otherwise from 100 ms,
/// doubled with each failure in a row, up to 5 s. Until then, or until the key is removed, callers get the error that
/// the source threw. At most 4 096 keys are remembered.
public final class Source<Key: Hashable & Sendable, Value: Sendable>: Fetcher, SourcedLevel {
    /// How long values are fresh, and how long callers wait for them.
    ///
    /// It may be changed at any time: fetches and waits that begin from then on go by the new policy.
    public var freshness: FreshnessPolicy {
        get { terms.value }
        set { terms.change { $0 = newValue } }
    }
    /// How many fetches may run at once; may be changed at any time.
    public var limit: Int {
        get { limiter.limit }
        set { limiter.limit = newValue }
    }

    private let terms: Adjustable<FreshnessPolicy>
    let fetch: Fetch<Key, Value>
    private let flights: Flights<Key, Entry<Value>?>
    /// Fetches beside another one of the same key, by numbers of their own.
    private let apart: Flights<UInt64, Entry<Value>?>
    private let lastApart = Atomic<UInt64>(0)
    let limiter: FetchLimiter
    private let pauses: Pauses<Key>
    private let isPausedByErrors: Bool
    private let time: CacheClock

    /// A source that tells how levels keep its answer.
    ///
    /// - Parameters:
    ///   - freshness: How long values live, and how long callers wait for them.
    ///   - limit: How many fetches may run at once.
    ///   - failureBackOff: How long a key is not asked for again after an error that does not say so itself; doubled
    ///     with each failure in a row. `nil` asks again at once.
    ///   - fetch: Asks for a key. Its error reaches the waiting callers.
    public convenience init(
        freshness: FreshnessPolicy = FreshnessPolicy(),
        limit: Int = 64,
        failureBackOff: ClosedRange<Duration>? = .milliseconds(100) ... .seconds(5),
        _ fetch: @escaping @Sendable (Key, FetchContext<Value>) async throws -> FetchOutcome<Value>
    ) {
        let terms = Adjustable(freshness)
        self.init(terms, limit, failureBackOff, Fetch(terms, fetch))
    }

    private init(
        _ terms: Adjustable<FreshnessPolicy>,
        _ limit: Int,
        _ failureBackOff: ClosedRange<Duration>?,
        _ fetch: Fetch<Key, Value>
    ) {
        self.terms = terms
        time = fetch.clock
        pauses = failureBackOff.map { Pauses(steps: $0, clock: fetch.clock) } ?? Pauses(clock: fetch.clock)
        isPausedByErrors = failureBackOff != nil
        self.fetch = fetch
        flights = Flights(clock: fetch.clock, completionLimit: terms.value.completionLimit)
        apart = Flights(clock: fetch.clock, completionLimit: terms.value.completionLimit)
        limiter = FetchLimiter(limit: limit, clock: fetch.clock)
    }

    /// A source of values; `nil` is an absence.
    ///
    /// - Parameters:
    ///   - freshness: How long values live, and how long callers wait for them.
    ///   - limit: How many fetches may run at once.
    ///   - failureBackOff: For how long a key is not asked for again after an error; doubled with each failure in a
    ///     row. `nil` asks again at once.
    ///   - fetch: Asks for a key. Its error reaches the waiting callers.
    public convenience init(
        freshness: FreshnessPolicy = FreshnessPolicy(),
        limit: Int = 64,
        failureBackOff: ClosedRange<Duration>? = .milliseconds(100) ... .seconds(5),
        _ fetch: @escaping @Sendable (Key) async throws -> Value?
    ) {
        self.init(freshness: freshness, limit: limit, failureBackOff: failureBackOff) { key, _ in
            .found(try await fetch(key))
        }
    }

    /// The bottom of a cache whose calls bring their sources with them.
    ///
    /// ```swift
    /// let quotes = MemoryLevel<String, Quote>(limit: .entries(1_000)).compose(Source.perCall(freshness: .resilient))
    /// let quote = try await quotes.get(symbol) { try await exchange.quote(symbol) }
    /// ```
    ///
    /// A read without a source finds what the levels above hold.
    ///
    /// - Parameters:
    ///   - freshness: How long values live, and how long callers wait for them.
    ///   - limit: How many fetches may run at once.
    ///   - failureBackOff: For how long a key is not asked for again after an error, by any call; doubled with each
    ///     failure in a row. `nil` asks again at once.
    /// - Returns: The source.
    public static func perCall(
        freshness: FreshnessPolicy = FreshnessPolicy(),
        limit: Int = 64,
        failureBackOff: ClosedRange<Duration>? = .milliseconds(100) ... .seconds(5)
    ) -> Source {
        let terms = Adjustable(freshness)
        return Source(terms, limit, failureBackOff, Fetch(perCall: terms))
    }

    /// A source of several keys, asked once for all keys of a read that no level above has and no other read fetches.
    ///
    /// ```swift
    /// let quotes = MemoryLevel<String, Quote>(limit: .entries(1_000))
    ///     .compose(Source.fetchingSeveral(freshness: .resilient) { symbols in try await exchange.quotes(symbols) })
    ///
    /// let found = try await quotes.get(["SWFT", "RDIS"])
    /// ```
    ///
    /// - Parameters:
    ///   - freshness: How long values live, and how long callers wait for them.
    ///   - limit: How many calls of the closure may run at once.
    ///   - failureBackOff: For how long a key is not asked for again after an error; doubled with each failure in a
    ///     row. `nil` asks again at once.
    ///   - fetch: Returns the values of the keys, at most 1 000 with a call. A key that it leaves out has no value. Its
    ///     errors reach all callers that wait for one of the keys.
    /// - Returns: The source.
    public static func fetchingSeveral(
        freshness: FreshnessPolicy = FreshnessPolicy(),
        limit: Int = 64,
        failureBackOff: ClosedRange<Duration>? = .milliseconds(100) ... .seconds(5),
        _ fetch: @escaping @Sendable ([Key]) async throws -> [Key: Value]
    ) -> Source {
        fetchingSeveral(freshness: freshness, limit: limit, failureBackOff: failureBackOff) { keys, _ in
            try await fetch(keys).mapValues { .value($0) }
        }
    }

    /// A source of several keys that tells how levels keep its answers.
    ///
    /// - Parameters:
    ///   - freshness: How long values live, and how long callers wait for them.
    ///   - limit: How many calls of the closure may run at once.
    ///   - failureBackOff: How long a key is not asked for again after an error that does not say so itself.
    ///   - fetch: Fetches several keys, at most 1 000 with a call, given the old value of each, if there is one. A key
    ///     that it leaves out has no value; one that failed by itself has ``FetchOutcome/failure(_:retryAfter:)``.
    /// - Returns: The source.
    public static func fetchingSeveral(
        freshness: FreshnessPolicy = FreshnessPolicy(),
        limit: Int = 64,
        failureBackOff: ClosedRange<Duration>? = .milliseconds(100) ... .seconds(5),
        _ fetch: @escaping @Sendable ([Key], [Key: FetchContext<Value>]) async throws -> [Key: FetchOutcome<Value>]
    ) -> Source {
        let terms = Adjustable(freshness)
        return Source(terms, limit, failureBackOff, Fetch(terms, several: { try await fetch(Array($0.keys), $0) }))
    }

    /// Callers that wait for a fetch now.
    package var waiting: Int { flights.waiting }

    /// The closure's answer.
    ///
    /// - Throws: What the closure throws; the same error again while the key is not asked for;
    ///   ``CacheError/Code/timeout``; `CancellationError`.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        try await entry(for: key, request, nil)
    }

    /// The answer for a key that may have a part in a fetch of several.
    func entry(
        for key: Key,
        _ request: ReadRequest,
        _ slot: Fetch<Key, Value>.Slot?
    ) async throws -> Entry<Value>? {
        // Who needs no fetch must not hold up the other keys.
        defer { slot?.leave() }
        let request = try request.sourced(by: self)
        guard request.options.source != .never else { return nil }
        if let awaited = request.awaited { return try await flights.outcome(of: key, among: awaited)?.output }
        let start = MonotonicInstant.now
        let since = time.running(at: start)
        let fingerprint = fingerprint(of: key)
        if !request.insists(on: Value.self), let (left, reason) = pauses.left(for: key, at: time.now(at: start)) {
            request.retryHint?.tell(left)
            let error = reason ?? CacheError.sourceFailed("an error", retryAfter: left)
            request.recorder?.backedOff(error, since: start)
            throw error
        }
        do {
            let (entry, role) = try await fetched(key, fingerprint, request, slot)
            guard role == .joined else { return entry }
            request.recorder?.step(.joined, at: .source, from: start, to: .now)
            return entry?.joined
        } catch let failure as SourceFailure {
            request.retryHint?.tell(pauses.left(for: key, at: time.now)?.duration)
            throw failure.cause
        } catch let limit as WaitLimitReached {
            request.left?.add(limit)
            throw CacheError.late(since: since, by: time)
        }
    }

    /// The answer of a fetch that is running or begins; a read that does not wait for others fetches beside a running
    /// one.
    private func fetched(
        _ key: Key,
        _ fingerprint: UInt64,
        _ request: ReadRequest,
        _ slot: Fetch<Key, Value>.Slot?
    ) async throws -> (entry: Entry<Value>?, role: FlightRole) {
        let (limit, priority) = (freshness.waitLimit(request), request.options.priority)
        let work: @Sendable (Flight) async throws -> Entry<Value>? = { [self] _ in
            try await ask(key, fingerprint, request, slot)
        }
        guard !request.options.waitsForOthers else {
            let left: () -> Void = { slot?.leave() }
            let (entry, role) = try await flights.join(
                key,
                limit: limit,
                priority: priority,
                joined: left,
                work
            )
            return (entry, role)
        }
        if let entry = try await flights.begin(key, limit: limit, priority: priority, work) { return (entry, .started) }
        let number = lastApart.wrappingAdd(1, ordering: .relaxed).newValue
        var entry = try await apart.join(number, limit: limit, priority: priority, work).output
        // The other fetch fills the levels above.
        entry?.ticket = .void
        return (entry, .started)
    }

    private func ask(
        _ key: Key,
        _ fingerprint: UInt64,
        _ request: ReadRequest,
        _ slot: Fetch<Key, Value>.Slot?
    ) async throws -> Entry<Value>? {
        do {
            let fetched = try await fetch(
                key,
                fingerprint: fingerprint,
                old: request.basis as? Entry<Value>,
                request.recorder,
                slot,
                within: limiter,
                for: request.callSource(of: Value.self, for: key),
                request.options
            )
            pauses.end(key)
            return fetched.entry
        } catch let failure as SourceFailure {
            if isPausedByErrors || failure.retryAfter != nil {
                pauses.pause(key, for: failure.retryAfter, because: failure.cause)
            }
            throw failure
        }
    }

    /// Writes nothing.
    ///
    /// Later reads do not join a fetch that is running.
    public func store(_ entry: Entry<Value>, for key: Key) async throws { flights.void(key) }

    /// Removes nothing but the memory of a failure.
    ///
    /// Later reads do not join a fetch that is running.
    public func remove(_ key: Key) async throws {
        flights.void(key)
        pauses.end(key)
    }

    /// Removes nothing but the memory of failures.
    ///
    /// Later reads do not join fetches that are running.
    public func removeAll() async throws {
        flights.voidAll()
        pauses.endAll()
    }

    /// Removes nothing.
    ///
    /// Later reads do not join fetches that are running. A key that has failed is not asked for sooner.
    public func invalidate(tags: [String]) async throws { flights.voidAll() }

    /// Waits for fetches that are running, also for those without callers.
    public func drain(within limit: Duration) async {
        await concurrently { [apart] in
            await apart.drain(within: limit)
        } and: {
            await flights.drain(within: limit)
        }
    }

    /// Whether it was made by ``perCall(freshness:limit:failureBackOff:)``.
    public var lacksSource: Bool { fetch.isPerCall }

    /// The clock that was current when the source was made.
    public var clock: CacheClock? { time }

    /// ``freshness``.
    public var policy: FreshnessPolicy? { freshness }

    /// `source`.
    public var label: LevelLabel {
        LevelLabel(
            "source",
            counters: [
                .init("under_way", flights.count + apart.count),
                .init("unattended", flights.unattended + apart.unattended),
            ] + fetch.meter.counters,
            durations: [fetch.meter.durations],
            hubs: [fetch.meter.events]
        )
    }
}

extension Source: AtomicLevel {}
