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
    private let fetch: @Sendable (Key) async throws -> Value?
    private let flights: Flights<Key, Entry<Value>?>
    private let limiter: FetchLimiter

    init(
        _ level: RedisLevel<Key, Value>,
        _ options: LeaseOptions,
        _ fetch: @escaping @Sendable (Key) async throws -> Value?
    ) {
        self.level = level
        self.options = options
        self.fetch = fetch
        flights = Flights(gate: level.gate)
        limiter = FetchLimiter(limit: options.fetchLimit)
    }

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

    private func produce(_ key: Key, _ names: KeyNames, _ request: ReadRequest) async throws -> Entry<Value>? {
        let start = MonotonicInstant.now
        do {
            let finding = try await level.look(up: names, request)
            if let entry = finding.entry, entry.isFresh(at: .now) { return entry }
            return try await lead(key, names, finding, request, since: start)
        } catch let failure as SourceFailure {
            throw failure.cause
        } catch is RedisError {
            return try await fetchUncoordinated(key, names, request)
        }
    }

    /// Competes for the lease until there is a value, or this process fetches it.
    private func lead(
        _ key: Key,
        _ names: KeyNames,
        _ finding: RedisLevel<Key, Value>.Finding,
        _ request: ReadRequest,
        since start: MonotonicInstant
    ) async throws -> Entry<Value>? {
        let giveUp = start.advanced(by: options.waitLimit)
        var finding = finding
        var hasWaited = false
        defer { if hasWaited { request.recorder?.step(.waited, at: .redis, from: start, to: .now) } }
        while .now < giveUp {
            // What a newer release has written is left to it: neither overwritten nor led for.
            if case .unusable(.newerFormat) = finding { break }
            if case .unusable(.otherSchema) = finding { break }
            let ticket = level.gate?.ticket(for: names.fingerprint) ?? .none
            var refreshing = true
            if case .nothing = finding { refreshing = false }
            switch try await Lease.readOrLead(
                level.redis,
                level.keyspace,
                names,
                duration: options.duration,
                refreshing: refreshing
            ) {
            case .value(let bytes):
                finding = try await level.open(bytes, names, ticket)
                if let entry = finding.entry, entry.isFresh(at: .now) { return entry }
            case .leads(let lease):
                return try await fetch(key, lease, ticket, request)
            case .waits(let remaining):
                if !hasWaited { level.counters.add(\.waits) }
                hasWaited = true
                if let entry = try await awaitValue(names, for: remaining, until: giveUp) { return entry }
            }
        }
        return try await fetchUncoordinated(key, names, request)
    }

    /// Looks for the value again and again while another process's lease stands.
    private func awaitValue(
        _ names: KeyNames,
        for lease: Duration,
        until giveUp: MonotonicInstant
    ) async throws -> Entry<Value>? {
        let end = min(giveUp, MonotonicInstant.now.advanced(by: lease + .milliseconds(Int64.random(in: 1...20))))
        var pause = 2.0
        while .now < end {
            try await Task.sleep(for: .milliseconds(pause * Double.random(in: 0.5...1)))
            pause = min(pause * 1.5, 50)
            let ticket = level.gate?.ticket(for: names.fingerprint) ?? .none
            let bytes = try await level.redis.get(names.value)
            if bytes != nil, let entry = try await level.open(bytes, names, ticket).entry, entry.isFresh(at: .now) {
                return entry
            }
            if try await level.redis.exists(names.lease) == 0 { return nil }
        }
        return nil
    }

    // MARK: Fetching

    private func fetch(
        _ key: Key,
        _ lease: Lease,
        _ ticket: Ticket,
        _ request: ReadRequest
    ) async throws -> Entry<Value>? {
        let entry: Entry<Value>?
        do {
            entry = try await lease.held(upTo: options.renewalLimit) { [self] in
                try await callSource(key, request)
            }
        } catch {
            try? await lease.end()
            throw error
        }
        guard var entry else {
            try? await lease.end()
            return nil
        }
        entry.ticket = ticket
        return try await store(entry, lease)
    }

    /// Stores what was fetched.
    ///
    /// Whatever happens there, the caller gets its value.
    private func store(_ entry: Entry<Value>, _ lease: Lease) async throws -> Entry<Value> {
        var unsealed = entry
        unsealed.ticket = .void
        do {
            let sealed = try await level.seal(entry, lease.names)
            var kept = sealed.entry
            kept.ticket = .void
            switch try await lease.store(sealed.bytes, expiry: sealed.expiry) {
            case .stored:
                level.counters.add(\.stores)
                kept.ticket = level.gate?.renew(entry.ticket) ?? .void
            case .outOfMemory:
                level.counters.add(\.failures)
                kept.ticket = entry.ticket
            case .refused: level.counters.add(\.refusedStores)
            }
            return kept
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            level.counters.add(\.failures)
            try? await lease.end()
            return unsealed
        }
    }

    /// Fetches without a lease, under this process's limit.
    private func fetchUncoordinated(
        _ key: Key,
        _ names: KeyNames,
        _ request: ReadRequest
    ) async throws -> Entry<Value>? {
        level.counters.add(\.uncoordinatedFetches)
        let ticket = level.gate?.ticket(for: names.fingerprint) ?? .none
        let fetched: Entry<Value>?
        do {
            fetched = try await limiter.run { try await callSource(key, request) }
        } catch let failure as SourceFailure {
            throw failure.cause
        }
        guard var entry = fetched else { return nil }
        let lifetimes = level.freshness.lifetimes(of: entry.content, fingerprint: names.fingerprint)
        entry.freshUntil = MonotonicInstant.now.advanced(by: lifetimes.fresh)
        entry.staleUntil = MonotonicInstant.now.advanced(by: lifetimes.kept)
        entry.ticket = ticket
        return entry
    }

    /// Asks the source.
    ///
    /// `nil` when there is no value and its absence is not to be remembered.
    private func callSource(_ key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        level.counters.add(\.fetches)
        let start = MonotonicInstant.now
        do {
            let value = try await fetch(key)
            let end = MonotonicInstant.now
            request.recorder?.step(.fetched, at: .source, from: start, to: end)
            guard value != nil || level.freshness.absentFor > .zero else { return nil }
            return Entry(value.map { .value($0) } ?? .absent, fetchDuration: start.duration(to: end))
        } catch {
            level.counters.add(\.failedFetches)
            throw SourceFailure(cause: error)
        }
    }

    /// Keeps an error of the source apart from those of Redis, until it leaves the level: a source may be Redis, too.
    private struct SourceFailure: Error {
        let cause: any Error
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

    /// All keys of the keyspace are removed from Redis; fetches under way cannot store any more.
    public func removeAll() async throws {
        flights.voidAll()
        defer { flights.voidAll() }
        try await level.removeAll()
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
