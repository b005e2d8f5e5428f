public import Strata

/// A Redis level with a source below it, from which the whole fleet fetches a missing value once.
///
/// Within this process, callers of one key join one flight. Across processes a lease at the server decides who fetches; the
/// others wait for the value. The guarantee, for one key: at most one instance fetches at a time, as long as its lease is
/// renewed in time and the primary neither loses data nor fails over. Outside that more than one may fetch; each caller still
/// gets a right value. A fetched value is never stored by an instance whose lease does not stand at that moment.
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
    let source: @Sendable (Key) async throws -> Value?
    private let flights: Flights<Key, Entry<Value>?>
    let limiter: FetchLimiter

    init(
        _ level: RedisLevel<Key, Value>,
        _ options: LeaseOptions,
        _ fetch: @escaping @Sendable (Key) async throws -> Value?
    ) {
        self.level = level
        self.options = options
        source = fetch
        flights = Flights(gate: level.gate)
        limiter = FetchLimiter(limit: options.fetchLimit)
    }

    /// Callers in this process that wait for a value now.
    package var waiting: Int { flights.waiting }

    // MARK: Reading

    /// The entry of a key from Redis, or from the source.
    ///
    /// - Throws: What the source has thrown; `CancellationError`. Never an error of Redis.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        let start = MonotonicInstant.now
        let names = level.names(for: key)
        let (entry, role) = try await flights.join(key, fingerprint: names.fingerprint) { [self] in
            try await produce(key, names, request)
        }
        if role == .joined {
            request.recorder?.step(.joined, at: entry?.origin ?? .source, from: start, to: .now)
        }
        return entry
    }

    // MARK: Writing

    /// Written to Redis; a fetch under way cannot store any more.
    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        _ = try await commit(entry, for: key)
    }

    /// Written to Redis; a fetch under way cannot store any more.
    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        flights.void(key)
        defer { flights.void(key) }
        return try await level.commit(entry, for: key)
    }

    /// Removed from Redis; a fetch under way cannot store any more.
    public func remove(_ key: Key) async throws {
        flights.void(key)
        defer { flights.void(key) }
        try await level.remove(key)
    }

    /// All entries of the keyspace are void; so is what fetches under way will find.
    public func removeAll() async throws {
        flights.voidAll()
        defer { flights.voidAll() }
        try await level.removeAll()
    }

    /// Entries with these tags are void; so is what fetches under way will find, if it bears one.
    public func invalidate(tags: [String]) async throws {
        flights.voidAll()
        defer { flights.voidAll() }
        try await level.invalidate(tags: tags)
    }

    // MARK: Coherence

    /// The Redis level's.
    public var gate: FillGate? { level.gate }

    /// The Redis level's.
    public func fingerprint(of key: Key) -> UInt64 { level.fingerprint(of: key) }

    /// The Redis level over a fetcher.
    public var label: LevelLabel { LevelLabel("fetching", parts: [level.label, LevelLabel("fetcher")]) }
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
        FetchingLevel(self, options, fetch)
    }
}
