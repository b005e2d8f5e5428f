public import Strata

/// A Redis level with a source below it, from which the whole fleet fetches a missing value once.
///
/// Within this process, callers of one key join one flight. Across processes a lease at the server decides who fetches; the
/// others wait for the value. The guarantee, for one key: at most one instance fetches at a time, as long as its lease is
/// renewed in time and the primary neither loses data nor fails over. Outside that more than one may fetch; each caller still
/// gets a right value. So does a read that leaves Redis out (``/Strata/ReadOptions/skipsReading``): it does not wait for another
/// instance's fetch. A fetched value is never stored by an instance whose lease does not stand at that moment.
///
/// How long values are good for, what is served when they are old, and how long anybody waits is the level's
/// ``RedisLevel/freshness``. A fetch that nobody waits for any more goes on in the background within the limits given there;
/// ``drain(within:)`` waits for it.
///
/// When Redis cannot be asked, the source is: a failure of the cache is no failure of the call. At most
/// ``LeaseOptions/fetchLimit`` such fetches run at once.
///
/// Round trips: one GET for a hit, three for a value that is fetched (GET, lease, store), besides renewals.
public final class FetchingLevel<Key: KeyRepresentable, Value: Sendable>: CacheLevel {
    /// The Redis level.
    public let level: RedisLevel<Key, Value>
    /// How the fleet agrees on who fetches.
    public let options: LeaseOptions
    let source: Fetch<Key, Value>
    /// What callers wait for: a look in Redis, and a fetch if need be.
    @usableFromInline
    let flights: Flights<Key, Entry<Value>?>
    /// The fetches themselves, which may go on without callers.
    let fetches: Flights<Key, Led>
    let limiter: FetchLimiter
    /// What the source has thrown in this process, for as long as it is not to be asked again.
    let sourceErrors = Pauses<Key>()

    /// What has come of a competition for the lease.
    enum Led: Sendable {
        case entry(Entry<Value>?)
        /// What this process has just stored; who takes it up the levels takes its ticket over.
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
        self.options = options
        self.source = source
        flights = Flights(gate: level.gate, completionLimit: level.freshness.completionLimit)
        fetches = Flights(gate: level.gate, completionLimit: level.freshness.completionLimit) { led in
            if case .stored(_, let renewal) = led { renewal.settle() }
        }
        limiter = options.limiter ?? FetchLimiter(limit: options.fetchLimit)
    }

    /// Callers in this process that wait for a value now.
    package var waiting: Int { flights.waiting }

    // MARK: Reading

    /// The entry of a key from Redis, or from the source.
    ///
    /// - Throws: What the source has thrown, as it is, also while it is not asked again; ``/Strata/CacheError/Code/sourceFailed``
    ///   when that was in another process; ``/Strata/CacheError/Code/timeout``; `CancellationError`. Never an error of Redis.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        if request.rights != nil { return try await level.entry(for: key, request) }
        let start = MonotonicInstant.now
        do {
            guard request.isShareable else { return try await read(key, request, nil) }
            let patience = level.freshness.patience(request)
            var (entry, role) = try await flights.join(key, fingerprint: fingerprint(of: key), patience: patience) {
                [self] flight in
                try await read(key, request, flight)
            }
            if role == .joined {
                request.recorder?.step(.joined, at: entry?.origin ?? .source, from: start, to: .now)
                entry = entry?.joined
            }
            return entry
        } catch let failure as SourceFailure {
            request.retryHint?.tell(failure.retryAfter)
            throw failure.cause
        } catch is WaitLimitReached {
            throw CacheError.late(since: start)
        }
    }

    /// Joins a read of the key that is under way.
    @inlinable
    public func join(_ key: Key, if isSought: () -> Bool) async throws -> Joined<Value>? {
        let patience = WaitLimit(sinceJoining: level.freshness.hardTimeout)
        return try await flights.joinUnderWay(key, patience: patience, if: isSought).map { Joined($0) }
    }

    /// Waits for fetches under way, also for those that nobody waits for.
    public func drain(within limit: Duration) async {
        async let waited: Bool = flights.drain(within: limit)
        _ = await (fetches.drain(within: limit), waited)
    }

    // MARK: Writing

    /// Written to Redis; a fetch under way cannot store any more.
    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        _ = try await commit(entry, for: key)
    }

    /// Written to Redis; a fetch under way cannot store any more.
    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        void(key)
        defer { void(key) }
        return try await level.commit(entry, for: key)
    }

    /// Removed from Redis; a fetch under way cannot store any more.
    public func remove(_ key: Key) async throws {
        void(key)
        defer { void(key) }
        try await level.remove(key)
    }

    /// All entries of the keyspace are void; so is what fetches under way will find.
    public func removeAll() async throws {
        voidAll()
        defer { voidAll() }
        try await level.removeAll()
    }

    private func void(_ key: Key) {
        flights.void(key)
        fetches.void(key)
    }

    private func voidAll() {
        flights.voidAll()
        fetches.voidAll()
    }

    /// Entries with these tags are void; so is what fetches under way will find, if it bears one.
    public func invalidate(tags: [String]) async throws {
        voidAll()
        defer { voidAll() }
        try await level.invalidate(tags: tags)
    }

    // MARK: Coherence

    /// The Redis level's.
    public var gate: FillGate? { level.gate }

    /// The Redis level's.
    public func fingerprint(of key: Key) -> UInt64 { level.fingerprint(of: key) }

    /// ``/Strata/EntryOrigin/redis``.
    public var origin: EntryOrigin? { level.origin }

    /// The Redis level over a fetcher.
    public var label: LevelLabel {
        LevelLabel(
            "fetching",
            counters: [.init("under_way", fetches.count), .init("unattended", flights.anchored + fetches.anchored)],
            parts: [level.label, LevelLabel("fetcher")]
        )
    }
}

extension RedisLevel {
    /// This level with a source below it, from which the whole fleet fetches a missing value once.
    ///
    /// - Parameters:
    ///   - options: How the fleet agrees on who fetches.
    ///   - fetch: Returns the value of a key, or `nil` when there is none. What it throws reaches those who wait for it.
    ///     It is cancelled when nobody in this process waits any more.
    /// - Returns: The level with its source.
    public func fetching(
        _ options: LeaseOptions = LeaseOptions(),
        _ fetch: @escaping @Sendable (Key) async throws -> Value?
    ) -> FetchingLevel<Key, Value> {
        FetchingLevel(self, options, Fetch(freshness) { key, _ in .found(try await fetch(key)) })
    }

    /// This level with a source below it that tells how its answer is to be kept.
    ///
    /// - Parameters:
    ///   - options: How the fleet agrees on who fetches.
    ///   - fetch: Asks for a key; it is told the old value, if there is one. What it throws reaches those who wait for it.
    ///     It is cancelled when nobody in this process waits any more.
    /// - Returns: The level with its source.
    public func fetching(
        _ options: LeaseOptions = LeaseOptions(),
        _ fetch: @escaping @Sendable (Key, FetchContext<Value>) async throws -> FetchOutcome<Value>
    ) -> FetchingLevel<Key, Value> {
        FetchingLevel(self, options, Fetch(freshness, fetch))
    }

    /// This level with a source below it that is asked for several keys by one call.
    ///
    /// A read of several keys asks for exactly those that no level has and that this instance has won the lease of.
    ///
    /// - Parameters:
    ///   - options: How the fleet agrees on who fetches.
    ///   - fetch: Returns the values of the keys; a key that it leaves out has none, and no tag ends that. Others than those
    ///     asked for are ignored.
    ///     What it throws reaches all who wait for one of the keys.
    /// - Returns: The level with its source.
    public func fetchingSeveral(
        _ options: LeaseOptions = LeaseOptions(),
        _ fetch: @escaping @Sendable ([Key]) async throws -> [Key: Value]
    ) -> FetchingLevel<Key, Value> {
        fetchingSeveral(options) { keys, _ in try await fetch(keys).mapValues { .value($0) } }
    }

    /// This level with a source below it that is asked for several keys by one call, and tells how its answers are to be kept.
    ///
    /// - Parameters:
    ///   - options: How the fleet agrees on who fetches.
    ///   - fetch: Asks for several keys; it is told the old value of each, if there is one. A key that it leaves out has no
    ///     value and no tags; ``/Strata/FetchOutcome/absent(lifetime:tags:)`` gives it some. One that has failed by itself is answered by
    ///     ``/Strata/FetchOutcome/failure(_:retryAfter:)``.
    /// - Returns: The level with its source.
    public func fetchingSeveral(
        _ options: LeaseOptions = LeaseOptions(),
        _ fetch: @escaping @Sendable ([Key], [Key: FetchContext<Value>]) async throws -> [Key: FetchOutcome<Value>]
    ) -> FetchingLevel<Key, Value> {
        FetchingLevel(self, options, Fetch(freshness, several: { try await fetch(Array($0.keys), $0) }))
    }
}
