public import Logging
public import Strata

/// The named caches of a service over one Redis: set up in one place, handed out by name and type, and ended together.
///
/// ```swift
/// var plan = CachePlan()
/// plan.defaults.freshness = .resilient
/// plan.override("sessions") { $0.memory = .entries(100_000) }
/// let caches = RedisCaches(try RedisClient("redis://localhost"), plan)
///
/// let products = try caches.cache("products", Int.self, Product.self)
/// let product = try await products.get(42) { try await database.product(42) }
/// ```
///
/// Each name has a keyspace, a memory level and settings of its own. The first request for a name makes the cache;
/// later ones get the same one. Give the caches to a `ServiceGroup` in the client's place: they run the client, and end
/// it after their own work.
public final class RedisCaches: Sendable {
    /// The server.
    public let redis: RedisClient
    /// The caches by name; you may add others than those over Redis.
    public let registry = CacheRegistry()
    let logger: Logger?
    private let state: Locked<CacheMembers>

    /// Caches that are made on first use.
    ///
    /// - Parameters:
    ///   - redis: The client, which ends with the caches if they are run.
    ///   - plan: The settings.
    ///   - logger: Gets a line when the caches are ready, and when a level fails while a read goes on below.
    public init(_ redis: RedisClient, _ plan: CachePlan = CachePlan(), logger: Logger? = nil) {
        self.redis = redis
        self.logger = logger
        state = Locked(CacheMembers(plan: plan))
    }

    // MARK: Caches

    /// The cache of a name, whose sources come with the calls.
    ///
    /// - Parameters:
    ///   - name: Its name; any text that is not empty.
    ///   - key: The type of its keys.
    ///   - value: The type of its values.
    /// - Returns: The cache, made at the first request.
    /// - Throws: ``/Strata/CacheError/Code/otherTypes`` when there is one with other types;
    ///   ``/Strata/CacheError/Code/invalidKeyspaces`` when another name has its keyspace; what the plan throws.
    public func cache<Key: KeyRepresentable, Value: Codable & Sendable>(
        _ name: String,
        _ key: Key.Type = Key.self,
        _ value: Value.Type = Value.self
    ) throws -> NamedCache<Key, Value> {
        try obtain(name) { $0.standardCodec(of: Value.self) }
    }

    /// The cache of a name, whose sources come with the calls, with a codec of its own.
    ///
    /// - Parameters:
    ///   - name: Its name; any text that is not empty.
    ///   - key: The type of its keys.
    ///   - codec: How values become bytes. The codec of the first request counts.
    /// - Returns: The cache, made at the first request.
    /// - Throws: As `cache(_:_:_:)`.
    public func cache<Key: KeyRepresentable, Value: Sendable>(
        _ name: String,
        _ key: Key.Type = Key.self,
        codec: Codec<Value>
    ) throws -> NamedCache<Key, Value> {
        try obtain(name) { _ in codec }
    }

    private func obtain<Key: KeyRepresentable, Value: Sendable>(
        _ name: String,
        _ codec: (CacheSettings) -> Codec<Value>
    ) throws -> NamedCache<Key, Value> {
        try registry.found(name) ?? make(name, codec, isNew: false) { $0.fetchingPerCall($1) }
    }

    /// Forgets a cache: its name and its keyspace are free, and it is freed with its last reference.
    ///
    /// Its entries in Redis stay until they expire; call `clear()` on the cache before, if they have to go.
    ///
    /// - Parameter name: Its name.
    /// - Returns: Whether there was one.
    @discardableResult
    public func remove(_ name: String) -> Bool {
        let (member, entry) = state.withLock { ($0.all.removeValue(forKey: name), registry.take(name)) }
        // They may go here, outside the lock.
        return withExtendedLifetime((member, entry)) { entry != nil }
    }

    /// The caches over Redis and their states, in the order of their names.
    public var statuses: [CacheStatus] { members.map { $0.member.status($0.name) } }

    /// The caches over Redis, in the order of their names.
    var members: [(name: String, member: CacheMember)] {
        forgetRemoved()
        return state.withLock { $0.all.map { (name: $0.key, member: $0.value) } }.sorted { $0.name < $1.name }
    }

    /// Forgets the caches that were removed from ``registry``.
    private func forgetRemoved() {
        let removed = state.withLock { $0.takeRemoved(from: registry) }
        // They may go here, outside the lock.
        withExtendedLifetime(removed) {}
    }

    // MARK: Settings

    /// The plan by which caches are made now.
    package var plan: CachePlan { state.withLock { $0.plan } }

    /// Changes the settings of all caches, including those that are made later.
    ///
    /// These change at once: ``CacheSettings/freshness``, ``CacheSettings/leases`` and the number of
    /// ``CacheSettings/memory``. The rest stays as it is until the service restarts.
    ///
    /// - Parameter plan: The new settings.
    /// - Returns: The settings that wait for the next start, by the names of caches; empty if there are none.
    /// - Throws: The errors of the plan, and then nothing is changed.
    @discardableResult
    public func apply(_ plan: CachePlan) throws -> [String: [String]] {
        forgetRemoved()
        var settings: [String: CacheSettings] = [:]
        repeat {
            // A cache that comes meanwhile has the old plan: begin anew with it.
            for name in state.withLock({ Array($0.all.keys) }) { settings[name] = try plan.settings(for: name) }
        } while !state.withLock { $0.take(plan, settings) }
        adopt()
        return members.reduce(into: [:]) { waiting, found in
            let fixed = settings[found.name].map { $0.fixed(unlike: found.member.origin) } ?? []
            if !fixed.isEmpty { waiting[found.name] = fixed }
        }
    }

    /// Gives the caches the settings of the newest plan, which may have come from another task.
    private func adopt() {
        var adopted: UInt64?
        while true {
            let (number, due) = state.withLock { state in (state.generation, state.due(after: adopted)) }
            guard number != adopted else { return }
            for (member, settings) in due { member.adopt(settings) }
            adopted = number
        }
    }

    // MARK: Life

    /// Waits until the server answers and all caches hear of changes: for the start of a service, and for tests.
    ///
    /// Caches work without this call.
    ///
    /// - Parameter limit: How long to wait.
    /// - Throws: ``RedisError/Code/timeout`` with the reason, if there is one; `CancellationError`.
    public func ready(within limit: Duration = .seconds(10)) async throws {
        try await withThrowingTaskGroup { group in
            // Also before the first cache is made.
            group.addTask { [redis] in try await redis.answers(within: limit) }
            for (_, member) in members { group.addTask { try await member.ready(limit) } }
            try await group.waitForAll()
        }
    }

    /// Waits for the background work of all caches, for at most `limit`, then cancels the rest.
    public func drain(within limit: Duration) async { await registry.drain(within: limit) }

    // MARK: Inside

    /// Makes a cache and enters it under its name.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - codec: Its codec, by its settings.
    ///   - isNew: Whether it is an error that there is one already; otherwise that one is returned.
    ///   - source: Puts the place for sources below the level.
    /// - Returns: The cache of the name.
    /// - Throws: What the plan throws; ``/Strata/CacheError``.
    func make<Key: KeyRepresentable, Value: Sendable>(
        _ name: String,
        _ codec: (CacheSettings) -> Codec<Value>,
        isNew: Bool,
        source: (RedisLevel<Key, Value>, LeaseOptions) -> FetchingLevel<Key, Value>
    ) throws -> NamedCache<Key, Value> {
        while true {
            forgetRemoved()
            let (plan, generation) = state.withLock { ($0.plan, $0.generation) }
            let settings = try plan.settings(for: name)
            let codec = codec(settings)
            let level = RedisLevel<Key, Value>(
                redis,
                keyspace: settings.keyspace(of: name),
                codec: codec,
                freshness: settings.freshness,
                coherence: settings.coherence,
                schema: settings.schema,
                removals: settings.removals
            )
            let memory = MemoryLevel<Key, Value>(
                limit: settings.memory.limit(of: codec),
                lifetime: settings.memoryLifetime,
                idleLifetime: settings.idleLifetime
            )
            let cache = memory.compose(source(level, settings.leases), logger: logger)
            var member = CacheMember(cache, settings)
            // One that was removed from the registry meanwhile; it may go outside the lock.
            var replaced: CacheMember?
            defer { withExtendedLifetime(replaced) {} }
            let isEntered = try state.withLock { state throws(CacheError) in
                guard state.generation == generation else { return false }
                if !isNew, registry.has(name) { return false }
                try state.check(member.keyspace, of: name)
                member.number = try registry.register(cache, as: name)
                replaced = state.all.updateValue(member, forKey: name)
                return true
            }
            if isEntered { return cache }
            // Another task was faster, or has changed the plan.
            if !isNew, let found: NamedCache<Key, Value> = try registry.found(name) { return found }
        }
    }
}
