public import Strata
internal import Synchronization

/// A Redis level with a source below it, from which the whole fleet fetches a missing value once.
///
/// Within this process, callers of one key join one flight. Across processes a lease in Redis decides which instance
/// fetches, and the others wait for the value. The guarantee, for one key: at most one instance fetches at a time, as
/// long as its lease is renewed in time and the primary neither loses data nor fails over. Otherwise several may fetch;
/// each caller still gets a correct value. A read that leaves Redis out (``/Strata/ReadOptions/skipsReading``), or does
/// not wait for others (``/Strata/ReadOptions/waitsForOthers``), may fetch beside another instance. An instance never
/// stores a fetched value unless its lease still stands at that moment.
///
/// ``RedisLevel/freshness`` says how long values are fresh, when stale ones are served, and how long callers wait. A
/// fetch without callers goes on in the background within its limits; ``drain(within:)`` waits for it.
///
/// When Redis cannot be asked, the source is asked: a failure of the cache is no failure of the call. At most
/// ``LeaseOptions/fetchLimit`` such fetches run at once.
///
/// Round trips: one GET for a hit, three for a fetched value (GET, lease, store), not counting renewals.
public final class FetchingLevel<Key: KeyRepresentable, Value: Sendable>: SourcedLevel {
    /// The Redis level.
    public let level: RedisLevel<Key, Value>
    /// How the fleet decides which instance fetches.
    ///
    /// You may change it at any time: later fetches and waits follow the new options. The ``LeaseOptions/limiter``
    /// cannot be changed: the one that the level was made with stays, and a new one is ignored.
    public var options: LeaseOptions {
        get { leases.value }
        set {
            leases.change {
                let limiter = $0.limiter
                $0 = newValue
                $0.limiter = limiter
            }
            if leases.value.limiter == nil { limiter.limit = newValue.fetchLimit }
        }
    }
    private let leases: Adjustable<LeaseOptions>
    let source: Fetch<Key, Value>
    /// The reads that callers wait for: a look in Redis, and a fetch where needed.
    @usableFromInline
    let flights: Flights<Key, Entry<Value>?>
    /// Reads of several keys in Redis, by these keys.
    let looks: Flights<[Key], BatchLook<Key, Value>>
    /// The fetches themselves, which may go on without callers.
    let fetches: Flights<Key, Led>
    /// Fetches that no read joins, by numbers of their own: beside another one, or past Redis.
    let apart: Flights<UInt64, Led>
    /// Reads that no other joins, and that say how long they wait, by numbers of their own.
    let limited: Flights<UInt64, Entry<Value>?>
    let lastNumber = Atomic<UInt64>(0)
    let limiter: FetchLimiter
    /// Hears how long callers waited for other instances.
    let waitDurations = WorkDurations()
    /// The errors that the source threw in this process, each for as long as its back-off lasts.
    let sourceErrors: Pauses<Key>

    /// The outcome of a competition for the lease.
    enum Led: Sendable {
        case entry(Entry<Value>?)
        /// A value that this process has just stored; the caller that fills the levels above takes its ticket.
        case stored(Entry<Value>, TicketRenewal)
        /// Another instance fetches, and the caller did not want to wait for that.
        case othersLead
    }

    init(
        _ level: RedisLevel<Key, Value>,
        _ options: LeaseOptions,
        _ source: Fetch<Key, Value>
    ) {
        self.level = level
        leases = Adjustable(options)
        self.source = source
        let clock = level.redis.clock
        let leases = leases
        sourceErrors = Pauses(steps: leases.value.failureBackOff ?? .milliseconds(100) ... .seconds(5), clock: clock)
        // No read fills the levels above.
        let unclaimed: @Sendable (Led) -> Void = { led in
            if case .stored(_, let renewal) = led { renewal.commit() }
        }
        let terms = level.terms
        flights = Flights(clock: clock, gate: level.gate, completionLimit: terms.value.completionLimit)
        looks = Flights(clock: clock, gate: level.gate, completionLimit: terms.value.completionLimit)
        fetches = Flights(
            clock: clock,
            gate: level.gate,
            completionLimit: terms.value.completionLimit,
            unclaimed: unclaimed
        )
        apart = Flights(clock: clock, completionLimit: terms.value.completionLimit, unclaimed: unclaimed)
        limited = Flights(clock: clock, completionLimit: terms.value.completionLimit)
        limiter = options.limiter ?? FetchLimiter(limit: options.fetchLimit, clock: clock)
    }

    /// Callers in this process that wait for a value now.
    package var waiting: Int { flights.waiting }

    // MARK: Reading

    /// The entry of a key from Redis, or from the source.
    ///
    /// - Throws: The source's own error, also during its back-off; ``/Strata/CacheError/Code/sourceFailed`` for one of
    ///   another process; ``/Strata/CacheError/Code/timeout``; `CancellationError`. Never an error of Redis.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        if request.rights != nil { return try await level.entry(for: key, request) }
        let request = try request.sourced(by: self)
        if let awaited = request.awaited { return try await taken(key, among: awaited) }
        let start = MonotonicInstant.now
        let since = time.running(at: start)
        do {
            let limit = level.freshness.waitLimit(request)
            guard request.isShareable else {
                return try await alone(request, since: start, limit: limit) { [self] flight in
                    try await read(key, request, flight)
                }
            }
            let (entry, role) = try await flights.join(key, fingerprint: fingerprint(of: key), limit: limit) {
                [self] flight in
                try await read(key, request, flight)
            }
            return try received(entry, role, since: start, request.recorder)
        } catch let failure as SourceFailure {
            request.retryHint?.tell(failure.retryAfter)
            throw failure.cause
        } catch let limit as WaitLimitReached {
            request.left?.add(limit)
            throw CacheError.late(since: since, by: time)
        }
    }

    /// What a read or a fetch brings that another read has left.
    ///
    /// The next read finds there what was stored in Redis; no other level keeps what was fetched past Redis.
    private func taken(_ key: Key, among left: LeftFlights) async throws -> Entry<Value>? {
        if let (entry, isOwn) = try await flights.outcome(of: key, among: left) { return isOwn ? entry : entry?.joined }
        guard let (led, isOwn) = try await fetches.outcome(of: key, among: left) else { return nil }
        return isOwn ? taken(led) : taken(led)?.joined
    }

    /// Joins a read of the key that is running; a read without a source joins none of those that have one.
    @inlinable
    public func join(_ key: Key, if isSought: () -> Bool) async throws -> Joined<Value>? {
        guard !lacksSource else { return nil }
        let limit = WaitLimit(sinceJoining: level.freshness.hardTimeout)
        guard let (read, isLate) = try await flights.joinUnderWay(key, limit: limit, if: isSought) else { return nil }
        if isLate { try checkOffer(of: read) }
        return Joined(read, isLate: isLate)
    }

    /// Throws where what a read has offered may not be served any more.
    @usableFromInline
    func checkOffer(of read: Delivery<Entry<Value>?>) throws {
        guard usable(read.offered ?? nil) == nil else { return }
        throw CacheError(code: .timeout, message: "no value within the time that a read may take")
    }

    /// What a read returns that has waited for a flight.
    ///
    /// - Parameters:
    ///   - output: What the flight has brought.
    ///   - role: The part of the read in it.
    ///   - start: When it began to wait.
    ///   - recorder: Takes down that it has waited.
    /// - Returns: The entry; `nil` when there is none.
    /// - Throws: ``WaitLimitReached``.
    func received(
        _ output: Entry<Value>?,
        _ role: FlightRole,
        since start: MonotonicInstant,
        _ recorder: ReadTraceRecorder?
    ) throws -> Entry<Value>? {
        switch role {
        case .started: return output
        case .joined:
            recorder?.step(.joined, at: output?.origin ?? .source, from: start, to: .now)
            return output?.joined
        case .late:
            guard let spare = usable(output) else { throw WaitLimitReached() }
            recorder?.stale(because: .late)
            return spare.joined
        }
    }

    /// Waits for running fetches, also for those without callers.
    public func drain(within limit: Duration) async {
        let end = time.now.advanced(by: limit)
        await concurrently { [looks, limited] in
            await concurrently {
                await looks.drain(within: limit)
            } and: {
                await limited.drain(within: limit)
            }
        } and: {
            await flights.drain(within: limit)
        }
        // Reads have begun the last of these.
        let left = max(time.now.duration(to: end), .zero)
        await concurrently { [apart] in
            await apart.drain(within: left)
        } and: {
            await fetches.drain(within: left)
        }
    }

    // MARK: Writing

    /// Writes to Redis; a running fetch can no longer store its value.
    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        _ = try await commit(entry, for: key)
    }

    /// Writes to Redis; a running fetch can no longer store its value.
    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        void(key)
        defer { void(key) }
        return try await level.commit(entry, for: key)
    }

    /// Removes from Redis, also the memory of a failure; a running fetch can no longer store its value.
    public func remove(_ key: Key) async throws {
        void(key)
        sourceErrors.end(key)
        defer { void(key) }
        try await level.remove(key)
    }

    /// Voids all entries of the keyspace, and the results of running fetches.
    public func removeAll() async throws {
        voidAll()
        sourceErrors.endAll()
        defer { voidAll() }
        try await level.removeAll()
    }

    func void(_ key: Key) {
        looks.voidAll()
        flights.void(key)
        fetches.void(key)
    }

    private func voidAll() {
        looks.voidAll()
        flights.voidAll()
        fetches.voidAll()
    }

    /// Voids entries with these tags, and the results of running fetches that bear one.
    public func invalidate(tags: [String]) async throws {
        voidAll()
        defer { voidAll() }
        try await level.invalidate(tags: tags)
    }

    // MARK: Coherence

    public var gate: FillGate? { level.gate }

    public func fingerprint(of key: Key) -> UInt64 { level.fingerprint(of: key) }

    /// Whether calls bring their sources: the level was made by ``RedisLevel/fetchingPerCall(_:)``.
    public var lacksSource: Bool { source.isPerCall }

    /// The clock of the client of Redis.
    public var clock: CacheClock? { time }

    var time: CacheClock { level.redis.clock }

    /// The policy of the level in Redis.
    public var policy: FreshnessPolicy? { level.policy }

    public var origin: EntryOrigin? { level.origin }

    /// The Redis level over a fetcher.
    public var label: LevelLabel {
        let counted = level.statistics
        let reads = looks.unattended + flights.unattended + limited.unattended
        let unattended = reads + fetches.unattended + apart.unattended
        let fetcher = LevelLabel(
            "fetcher",
            counters: source.meter.counters + [.init(detail: "uncoordinated_fetches", counted.uncoordinatedFetches)],
            durations: [source.meter.durations],
            hubs: [source.meter.events]
        )
        return LevelLabel(
            "fetching",
            counters: [
                .init("under_way", fetches.count + apart.count),
                .init("unattended", unattended),
                .init("refreshes_under_way", fetches.launched),
                .init(detail: "waits", counted.waits),
            ],
            parts: [level.label, fetcher],
            durations: [waitDurations]
        )
    }
}

extension RedisLevel {
    /// This level with a source below it, from which the whole fleet fetches a missing value once.
    ///
    /// - Parameters:
    ///   - options: How the fleet decides which instance fetches.
    ///   - fetch: Returns the value of a key, or `nil` when there is none. Its errors reach the callers that wait. It
    ///     is cancelled when no caller of this process waits any more.
    /// - Returns: The level with its source.
    public func fetching(
        _ options: LeaseOptions = LeaseOptions(),
        _ fetch: @escaping @Sendable (Key) async throws -> Value?
    ) -> FetchingLevel<Key, Value> {
        FetchingLevel(self, options, Fetch(terms, clock: redis.clock) { key, _ in .found(try await fetch(key)) })
    }

    /// This level with a source below it that tells how levels keep its answer.
    ///
    /// - Parameters:
    ///   - options: How the fleet decides which instance fetches.
    ///   - fetch: Fetches a key, given the old value, if there is one. Its errors reach the callers that wait. It is
    ///     cancelled when no caller of this process waits any more.
    /// - Returns: The level with its source.
    public func fetching(
        _ options: LeaseOptions = LeaseOptions(),
        _ fetch: @escaping @Sendable (Key, FetchContext<Value>) async throws -> FetchOutcome<Value>
    ) -> FetchingLevel<Key, Value> {
        FetchingLevel(self, options, Fetch(terms, clock: redis.clock, fetch))
    }

    /// This level with a place for sources below it: each call brings its own, and the whole fleet fetches a missing
    /// value once.
    ///
    /// ```swift
    /// let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
    ///     .compose(RedisLevel(redis, keyspace: "products", freshness: .resilient).fetchingPerCall())
    ///
    /// let product = try await products.get(id) { try await database.product(id) }
    /// ```
    ///
    /// A read without a source finds what levels hold; see ``/Strata/SourcedLevel``.
    ///
    /// - Parameter options: How the fleet decides which instance fetches.
    /// - Returns: The level.
    public func fetchingPerCall(_ options: LeaseOptions = LeaseOptions()) -> FetchingLevel<Key, Value> {
        FetchingLevel(self, options, Fetch(perCall: terms, clock: redis.clock))
    }

    /// This level with a source below it that fetches several keys in one call.
    ///
    /// A read of several keys asks for exactly those that no level has and whose lease this instance got.
    ///
    /// - Parameters:
    ///   - options: How the fleet decides which instance fetches.
    ///   - fetch: Returns the values of the keys. A key that it leaves out has no value, and an absence without tags.
    ///     Keys that were not asked for are ignored. Its errors reach all callers that wait for one of the keys.
    /// - Returns: The level with its source.
    public func fetchingSeveral(
        _ options: LeaseOptions = LeaseOptions(),
        _ fetch: @escaping @Sendable ([Key]) async throws -> [Key: Value]
    ) -> FetchingLevel<Key, Value> {
        fetchingSeveral(options) { keys, _ in try await fetch(keys).mapValues { .value($0) } }
    }

    /// This level with a source below it that fetches several keys in one call, and tells how levels keep its answers.
    ///
    /// - Parameters:
    ///   - options: How the fleet decides which instance fetches.
    ///   - fetch: Fetches several keys, given the old value of each, if there is one. A key that it leaves out has no
    ///     value and no tags; ``/Strata/FetchOutcome/absent(lifetime:tags:)`` gives it tags. For a key that failed by
    ///     itself, return ``/Strata/FetchOutcome/failure(_:retryAfter:)``.
    /// - Returns: The level with its source.
    public func fetchingSeveral(
        _ options: LeaseOptions = LeaseOptions(),
        _ fetch: @escaping @Sendable ([Key], [Key: FetchContext<Value>]) async throws -> [Key: FetchOutcome<Value>]
    ) -> FetchingLevel<Key, Value> {
        FetchingLevel(
            self,
            options,
            Fetch(terms, clock: redis.clock, several: { try await fetch(Array($0.keys), $0) })
        )
    }
}
