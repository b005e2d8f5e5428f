public import Logging
public import Strata

#if ServiceLifecycle
public import ServiceLifecycle
#endif

/// A level some of whose keys are fetched anew on a schedule, by one instance of the fleet.
///
/// ```swift
/// let products = memory.compose(level.fetching { id in try await database.product(id) })
///     .refreshAll([1, 2, 3], every: .seconds(30), as: "products", over: redis)
///
/// let group = ServiceGroup(services: [redis, products], gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// For a small set of keys that must be fresh before a caller asks. The instance that holds a lease makes the rounds;
/// each round asks the source for every key, as a read with ``/Strata/ReadOptions/reload`` does, and so stores the
/// values for all instances. When the instance ends, another one begins a round within ``RefreshOptions/lookInterval``;
/// when it dies, within that and ``RefreshOptions/leaseDuration``. The lease saves work, and is no lock: two instances
/// that refresh at once do no harm.
///
/// Reads and writes are those of the level inside. A key that fails keeps its old value, and is tried again in the next
/// round.
public struct Refreshed<Base: CacheLevel>: TransparentLevel {
    public typealias Key = Base.Key
    public typealias Value = Base.Value

    /// The level whose keys are refreshed.
    public let base: Base
    private let schedule: RefreshSchedule<Base>

    init(_ base: Base, _ schedule: RefreshSchedule<Base>) {
        self.base = base
        self.schedule = schedule
    }

    /// What this instance has refreshed.
    public var statistics: RefreshStatistics { schedule.statistics }

    /// Refreshes while this instance holds the lease, until the task is cancelled or, in a `ServiceGroup`, until
    /// graceful shutdown begins.
    ///
    /// Returns without an error in both cases, and lets another instance begin. While Redis does not answer, nothing is
    /// refreshed.
    public func run() async {
        await withTaskGroup { group in
            group.addTask { [schedule] in await schedule.run() }
            _ = await Lifetime.end()
            group.cancelAll()
        }
    }

    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        try await base.entry(for: key, request)
    }

    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        try await base.entries(for: keys, request)
    }

    public func join(_ key: Key, if isSought: () -> Bool) async throws -> Joined<Value>? {
        try await base.join(key, if: isSought)
    }

    public func lacks(_ key: Key, isRead: Bool) -> Bool { base.lacks(key, isRead: isRead) }

    /// `refreshed`, with what this instance has refreshed, and the level inside.
    public var label: LevelLabel {
        let counted = statistics
        return LevelLabel(
            "refreshed",
            counters: [
                .init("refresh_leader", counted.isLeading ? 1 : 0), .init("refresh_rounds", counted.rounds),
                .init("failed_refresh_rounds", counted.failedRounds), .init("refreshed_keys", counted.refreshed),
                .init("failed_refreshes", counted.failed),
            ],
            parts: [base.label]
        )
    }
}

extension Refreshed: AtomicLevel where Base: AtomicLevel {}

extension Refreshed: ConfirmationRelay {}

extension Refreshed: SourcedLevel where Base: SourcedLevel {}

#if ServiceLifecycle
extension Refreshed: Service {}
#endif

extension CacheLevel {
    /// This level with some of its keys fetched anew on a schedule, by one instance of the fleet; run it.
    ///
    /// A cache whose calls bring their sources has none for a round to ask: each round then fails with
    /// ``/Strata/CacheError/Code/miss``.
    ///
    /// One round trip to Redis for each third of ``RefreshOptions/leaseDuration``, in the instance that refreshes; one
    /// for each ``RefreshOptions/lookInterval`` in the others.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - interval: The time from the beginning of a round to that of the next; after a round that takes longer, the
    ///     next begins at once. Make it shorter than the lifetime of the values.
    ///   - name: The name of the schedule; the same in all instances, and another one for each cache.
    ///   - redis: Where the instances meet; usually the server of the level.
    ///   - keyspace: The keyspace of the lease.
    ///   - options: How many keys at once, and how instances take turns.
    ///   - logger: Gets a line for a round in which something has failed.
    ///   - failed: Gets each key whose fetch has failed. It must not take long.
    /// - Returns: The level, and the service that refreshes.
    public func refreshAll(
        _ keys: [Key],
        every interval: Duration,
        as name: String,
        over redis: RedisClient,
        in keyspace: Keyspace = "leases",
        _ options: RefreshOptions = RefreshOptions(),
        logger: Logger? = nil,
        failed: @escaping @Sendable (Key?, any Error) -> Void = { _, _ in }
    ) -> Refreshed<Self> {
        refreshAll(every: interval, as: name, over: redis, in: keyspace, options, logger: logger, failed: failed) {
            keys
        }
    }

    /// This level with some of its keys fetched anew on a schedule, by one instance of the fleet; run it.
    ///
    /// A cache whose calls bring their sources has none for a round to ask: each round then fails with
    /// ``/Strata/CacheError/Code/miss``.
    ///
    /// - Parameters:
    ///   - interval: The time from the beginning of a round to that of the next; after a round that takes longer, the
    ///     next begins at once. Make it shorter than the lifetime of the values.
    ///   - name: The name of the schedule; the same in all instances, and another one for each cache.
    ///   - redis: Where the instances meet; usually the server of the level.
    ///   - keyspace: The keyspace of the lease.
    ///   - options: How many keys at once, and how instances take turns.
    ///   - logger: Gets a line for a round in which something has failed.
    ///   - failed: Gets each key whose fetch has failed, and `nil` when the keys are not known. It must not take long.
    ///   - keys: Returns the keys, at the beginning of each round.
    /// - Returns: The level, and the service that refreshes.
    public func refreshAll(
        every interval: Duration,
        as name: String,
        over redis: RedisClient,
        in keyspace: Keyspace = "leases",
        _ options: RefreshOptions = RefreshOptions(),
        logger: Logger? = nil,
        failed: @escaping @Sendable (Key?, any Error) -> Void = { _, _ in },
        keys: @escaping @Sendable () async throws -> [Key]
    ) -> Refreshed<Self> {
        Refreshed(
            self,
            RefreshSchedule(self, redis, keyspace, name, interval, options, logger, onFailure: failed, keys: keys)
        )
    }
}
