public import Strata

/// A level in a Redis server that all instances of a service share.
///
/// ```swift
/// let redis = try RedisClient("redis://localhost:6379")
/// let products = RedisLevel<Int, Product>(redis, keyspace: "products", freshness: .current)
/// ```
///
/// By itself it is a level like any other. With a source below it, use `fetching(_:_:)`: the whole fleet then fetches a
/// missing value once.
///
/// | operation | round trips |
/// |---|---|
/// | get | 1 GET |
/// | get of several keys | 1 MGET |
/// | set | 1 script |
/// | remove | 1 script |
/// | fill, as the upper level of a composition | 2 scripts: a lease before the lower level is asked, then the store |
/// | invalidate tags, clear | 1 script, whatever the number of entries; 16 at once in a cluster |
///
/// Without a link (``coherence``), a get sends an HMGET beside its GET, and a set one before its script. Every ten
/// seconds one call also asks the server for its time. Encoding and decoding run in the caller's task, on its actor.
public final class RedisLevel<Key: KeyRepresentable, Value: Sendable>: CacheLevel {
    /// The server.
    public let redis: RedisClient
    /// The part of the database that belongs to this cache.
    public let keyspace: Keyspace
    /// How long values are fresh, and how long callers wait.
    ///
    /// You may change it at any time: later writes and waits follow the new policy. Values in Redis keep the lifetime
    /// that they were stored with.
    public var freshness: FreshnessPolicy {
        get { terms.value }
        set {
            longest.change { $0 = max($0, newValue.longestLifetime) }
            terms.change { $0 = newValue }
        }
    }
    /// How readers learn of changes that others make.
    public let coherence: Coherence
    /// What becomes of removals while Redis is away, unless their call says so itself.
    public let removals: RemovalMode
    let terms: Adjustable<FreshnessPolicy>
    /// The longest life of an entry by any policy so far.
    private let longest: Adjustable<Duration>
    let shared: KeyspaceCoherence
    private let listener: UInt64?
    let codec: Codec<Value>
    let clocks: ServerClocks
    let counters = RedisLevelCounters()
    /// Tells what happens here.
    let events: EventHub

    /// A level in a keyspace.
    ///
    /// - Parameters:
    ///   - redis: The server.
    ///   - keyspace: The part of the database that belongs to this cache; the same in all instances.
    ///   - codec: How values become bytes.
    ///   - freshness: How long values are fresh, and how long callers wait.
    ///   - coherence: How readers learn of changes that others make.
    ///   - schema: The schema number of the value type, if it differs from the codec's; envelopes with another number
    ///     are misses. Those with a lower number are replaced, those with a higher one stay.
    ///   - removals: What becomes of removals while Redis is away, unless their call says so itself.
    public init(
        _ redis: RedisClient,
        keyspace: Keyspace,
        codec: Codec<Value>,
        freshness: FreshnessPolicy = FreshnessPolicy(),
        coherence: Coherence = .tracking,
        schema: UInt32? = nil,
        removals: RemovalMode = .confirmed
    ) {
        self.redis = redis
        self.keyspace = keyspace
        self.codec = schema.map { codec.schema($0) } ?? codec
        let terms = Adjustable(freshness)
        self.terms = terms
        let longest = Adjustable(freshness.longestLifetime)
        self.longest = longest
        self.coherence = coherence
        self.removals = removals
        clocks = ServerClocks(redis)
        let events = EventHub()
        self.events = events
        shared = KeyspaceCoherence(
            keyspace: keyspace,
            clock: redis.clock,
            events: events,
            untrustedLifetime: coherence.untrustedLifetime(redis.configuration),
            isAwaited: coherence == .tracking,
            changes: redis.readsReplicas ? RecentChanges(margin: redis.configuration.longestChange) : nil,
            meter: coherence == .tracking ? redis.cache.meter : nil,
            longestWrite: redis.configuration.longestChange,
            look: redis.versionLook(),
            get: redis.valueLook(),
            parts: redis.parts,
            tagLookout: { redis.tagLookout(in: keyspace, $0, entriesLiving: longest.value) }
        )
        listener = coherence == .tracking ? redis.cache.tell(shared, of: keyspace) : nil
        for tags in shared.parts { redis.cache.tags.add(tags) }
    }

    /// A level in a keyspace, with values as JSON.
    ///
    /// - Parameters:
    ///   - redis: The server.
    ///   - keyspace: The part of the database that belongs to this cache; the same in all instances.
    ///   - freshness: How long values are fresh, and how long callers wait.
    ///   - coherence: How readers learn of changes that others make.
    ///   - schema: The schema number of the value type, if it differs from the codec's; envelopes with another number
    ///     are misses. Those with a lower number are replaced, those with a higher one stay.
    ///   - removals: What becomes of removals while Redis is away, unless their call says so itself.
    public convenience init(
        _ redis: RedisClient,
        keyspace: Keyspace,
        freshness: FreshnessPolicy = FreshnessPolicy(),
        coherence: Coherence = .tracking,
        schema: UInt32? = nil,
        removals: RemovalMode = .confirmed
    ) where Value: Codable {
        self.init(
            redis,
            keyspace: keyspace,
            codec: .json,
            freshness: freshness,
            coherence: coherence,
            schema: schema,
            removals: removals
        )
    }

    deinit {
        if let listener { redis.cache.tellNoMore(listener) }
        for tags in shared.parts { redis.cache.tags.remove(tags) }
    }

    /// How the level was used since it was made.
    public var statistics: RedisLevelStatistics {
        var statistics = counters.snapshot
        statistics.heardInvalidations = shared.heard
        return statistics
    }

    // MARK: Reading

    /// The entry of a key; `nil` when there is no usable one.
    ///
    /// - Throws: ``RedisError``; `CancellationError`.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        if let rights = request.rights {
            await claim(names(for: key), rights)
            return nil
        }
        if request.awaited != nil { return nil }
        guard !request.skipsReading(self) else {
            request.skipped(self)
            return nil
        }
        let finding: Finding
        do {
            finding = try await redis.budgeted { try await look(up: names(for: key), request) }
        } catch {
            tellFailure(error, key)
            throw error
        }
        tell(finding, key, request)
        return finding.entry
    }

    func look(up names: KeyNames, _ request: ReadRequest) async throws -> Finding {
        if shared.arrival.isPending { await linkArrives() }
        let ticket = shared.ticket(for: names.fingerprint)
        let pending = redis.outage.replay.reach(over: names, keyspace)
        let start = MonotonicInstant.now
        let finding: Finding
        do {
            let (bytes, asked) = try await counting { try await read(names) }
            finding = try await open(bytes, names, ticket, pending, asked)
            count([finding])
        } catch let error as RedisError {
            guard let spare = try await replicaFinding(names, request, after: error) else { throw error }
            request.recorder?.failed(error, at: .redis, from: start)
            finding = spare
        }
        forget(names, where: finding, request)
        note(finding, request.recorder, since: start)
        return finding
    }

    /// Voids what memory has of a key that Redis does not have any more, while nothing tells of removals.
    ///
    /// Else it would be served when the source fails. Only a read for which memory has something says so.
    func forget(_ names: KeyNames, where finding: Finding, _ request: ReadRequest) {
        guard request.basis != nil || request.bases != nil else { return }
        switch finding {
        case .nothing, .void: break
        case .entry, .unusable: return
        }
        let part = shared.gate.part(of: names.fingerprint)
        guard shared.gate.trustedUntil(ofPart: part) <= .now else { return }
        shared.gate.void(names.fingerprint, because: .changedElsewhere)
    }

    // MARK: Writing

    /// Writes an entry and ends a running fetch of the key.
    ///
    /// When that fails, the value under the key counts as void until it is removed.
    ///
    /// - Throws: ``RedisError``; ``/Strata/CacheError/Code/codec``; ``/Strata/CacheError/Code/tooLarge`` for an entry
    ///   that the client's ``ReplyLimits`` would refuse to read; `CancellationError`.
    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        _ = try await commit(entry, for: key)
    }

    /// Writes an entry and ends any fetch of the key that is under way.
    ///
    /// What a read has found below this level is stored only if the key has not changed since the read asked for it.
    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        if shared.arrival.isPending { await linkArrives() }
        let names = names(for: key)
        if let rights = entry.rights { return try await fill(entry, names, rights) }
        let before = fillGate.ticket(for: names.fingerprint)
        do {
            try await redis.keeping(.key(names, keyspace), .write, for: longestLifetime) { arrival in
                try await redis.budgeted { try await write(entry, names, &arrival) }
            }
        } catch {
            // The server may have written it all the same.
            void(names, because: .replaced)
            throw error
        }
        redis.cache.tags.void(names, in: keyspace, because: .replaced, but: shared.tags(of: names.part))
        return fillGate.renew(before, for: names.fingerprint) ?? .void
    }

    /// Removes a key, and ends a running fetch of it.
    ///
    /// When that fails, it is repeated as soon as Redis is back; until then this instance treats the value as void. The
    /// error is thrown nonetheless, because other instances may have the old value until then, unless the removal is
    /// ``/Strata/RemovalMode/deferred``.
    ///
    /// - Throws: ``RedisError``; `CancellationError`.
    public func remove(_ key: Key) async throws {
        let names = names(for: key)
        void(names)
        defer { void(names) }
        shared.changes?.begins(names.fingerprint)
        let isDone = try await removing([.key(names, keyspace)], for: longestLifetime) {
            _ = try await counting {
                try await redis.guarded(.remove, for: names.value) {
                    try await redis.invalidate(names, in: keyspace, timeout: $0)
                }
            }
        }
        if isDone { tellInvalidation("a key", key) }
    }

    // MARK: Coherence

    /// Voids what is kept of a key above this level, and above others of its keyspace on this client.
    func void(_ names: KeyNames, because cause: VoidCause = .removed) {
        fillGate.void(names.fingerprint, because: cause)
        redis.cache.tags.void(names, in: keyspace, because: cause, but: shared.tags(of: names.part))
    }

    public var gate: FillGate? { fillGate }

    private var fillGate: FillGate { shared.gate }

    /// The clock of the client.
    public var clock: CacheClock? { redis.clock }

    /// ``freshness``.
    public var policy: FreshnessPolicy? { freshness }

    /// The hash of the key's full name in Redis: the same in every process.
    public func fingerprint(of key: Key) -> UInt64 {
        let name = keyspace.valueName(of: key.keyBytes)
        return KeyNames.fingerprint(of: name, in: shared.isDivided ? KeyspacePart(ofName: name) : nil)
    }

    /// `redis`, with the keyspace, the server, the compression and the protection.
    public var label: LevelLabel {
        let counted = statistics
        return LevelLabel(
            (["redis", "keyspace \(keyspace) at \(redis.configuration.place)"]
                + [codec.compression, codec.protection].compactMap { $0?.description })
                .joined(separator: ", "),
            counters: [
                .init("hits", counted.hits),
                .init(detail: "replica_hits", counted.replicaHits),
                .init("misses", counted.misses),
                .init("unusable", counted.unusable),
                .init(detail: "voided", counted.voided),
                .init("failures", counted.failures),
                .init(detail: "stores", counted.stores),
                .init(detail: "refused_stores", counted.refusedStores),
                .init(detail: "sent_invalidations", counted.sentInvalidations),
                .init(detail: "heard_invalidations", counted.heardInvalidations),
            ] + redis.outageCounters,
            place: redis.configuration.telemetryPlace,
            durations: [redis.outage.durations],
            hubs: [events, redis.outage.events]
        )
    }

    public var origin: EntryOrigin? { .redis }

    /// Always `true`: Redis keeps values.
    public var isStorage: Bool { true }

    // MARK: Inside

    /// For how long what was stored may live: by any policy so far.
    var longestLifetime: Duration { longest.value }

    func names(for key: Key) -> KeyNames { keyspace.names(for: key.keyBytes, isDivided: shared.isDivided) }

    /// The clock of the server that a key lies at.
    func clock(of names: KeyNames) -> ServerClock { clocks.clock(for: names.value) }

    func counting<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as RedisError {
            counters.add(\.failures)
            throw error
        }
    }
}
