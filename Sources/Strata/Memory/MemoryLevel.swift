public import Synchronization

/// A level in this process's memory: bounded, safe for any number of tasks, and answering without suspending.
///
/// ```swift
/// let products = MemoryLevel<Int, Product>(limit: .entries(10_000), lifetime: .seconds(30))
/// ```
///
/// **Limit.** It holds after every operation. A policy that adapts to the workload decides what to evict
/// (`docs/internals/eviction-policy.md`): neither plain recency nor plain frequency, and it may be the new entry. An
/// entry that alone exceeds the limit is refused and evicts nothing.
///
/// **Expiry.** An entry past its end leaves memory by itself, some tenths of a second later, also in a level at rest:
/// writes and misses remove due entries, and one background thread of the process does so for levels at rest. All
/// levels share that thread, which sleeps while nothing is due.
///
/// **Concurrency.** A read takes no lock that others take, does not allocate, and does not wait for writers of other
/// parts of the level. Writers take turns. The level compares keys and copies values inside, so neither `==` of the key
/// nor the closure for a value's cost may call the level.
///
/// Complexity: reading, storing and removing are O(1), clearing is O(entries).
@safe
public final class MemoryLevel<Key: Hashable & Sendable, Value: Sendable>: CacheLevel {
    @usableFromInline
    typealias Writer = MemoryWriter<Key, Value>
    @usableFromInline
    typealias Departures = MemoryDepartures<Key, Value>

    // The writer's, which lives as long as the level.
    @usableFromInline
    let partitions: MemoryPartitions<Key, Value>
    @usableFromInline
    let partitionShift: UInt64
    @usableFromInline
    let readers: ReaderRows
    @usableFromInline
    let seed: UInt64
    @usableFromInline
    let idleNanoseconds: Int64
    /// When the level was made.
    @usableFromInline
    let start: MonotonicInstant
    /// Whether the housekeeper comes.
    @usableFromInline
    let isTended: Bool
    /// Nothing is due before this instant.
    @usableFromInline
    let nextLook = Atomic<Int64>(.max)
    @usableFromInline
    let writer: Locked<Writer>
    @usableFromInline
    let events = EventHub()
    @usableFromInline
    let lifetime: Duration?
    @usableFromInline
    let time: CacheClock
    @usableFromInline
    let onRemoval: (@Sendable (MemoryRemoval<Key, Value>) -> Void)?
    /// What the level was made with: how values weigh, and the budget that it shares.
    @usableFromInline
    let measure: MemoryLimit<Value>
    /// The most that entries may weigh together.
    @usableFromInline
    let total: Atomic<Int>
    @usableFromInline
    let operations: MemoryOperations<Key, Value>
    /// The gate of the composition that the level belongs to.
    let composition = Locked(WeakGate())
    /// Hits that a composition has found to be none, and those of them that were misses.
    let withdrawn = (hits: Tally(), misses: Tally())
    /// How much the level may hold; see ``resize(to:)``.
    public var limit: MemoryLimit<Value> { measure.resized(to: total.load(ordering: .relaxed)) }

    /// An empty level.
    ///
    /// - Parameters:
    ///   - limit: How much it may hold.
    ///   - lifetime: The longest time that an entry stays fresh here, whatever its own lifetime; `nil`, the default,
    ///     leaves that as it is. An entry without an end of its own leaves then.
    ///   - idleLifetime: How long an entry is kept without being read; `nil`, the default, is for ever. A read counts
    ///     if it comes a 64th of that time or more after the last one that did.
    ///   - onRemoval: Called for every entry that has left, on the thread that removed it (the shared background thread
    ///     for expired entries), after the operation and outside of every lock. It must not take long.
    @inlinable
    public convenience init(
        limit: MemoryLimit<Value>,
        lifetime: Duration? = nil,
        idleLifetime: Duration? = nil,
        onRemoval: (@Sendable (MemoryRemoval<Key, Value>) -> Void)? = nil
    ) {
        self.init(
            limit: limit,
            lifetime: lifetime,
            idleLifetime: idleLifetime,
            time: .current,
            onRemoval: onRemoval,
            operations: MemoryOperations()
        )
    }

    /// The same with a clock of the caller's choice, and perhaps without the housekeeper, for tests.
    @usableFromInline
    package init(
        limit: MemoryLimit<Value>,
        lifetime: Duration? = nil,
        idleLifetime: Duration? = nil,
        seed: UInt64 = .random(in: .min ... .max),
        time: CacheClock,
        isTended: Bool = true,
        onRemoval: (@Sendable (MemoryRemoval<Key, Value>) -> Void)? = nil,
        operations: MemoryOperations<Key, Value> = MemoryOperations()
    ) {
        self.operations = operations
        measure = limit
        total = Atomic(limit.total)
        self.lifetime = lifetime
        self.time = time
        self.onRemoval = onRemoval
        self.seed = seed
        idleNanoseconds = idleLifetime.map { max($0.saturatedNanoseconds, 1) } ?? 0
        let partitionCount = Self.partitionCount(limit: limit.total)
        partitionShift = UInt64(64 - partitionCount.trailingZeroBitCount)
        self.isTended = isTended
        readers = ReaderRows(threads: 4 * ProcessorCount.online)
        let isWeighted = limit.weigh != nil
        let allowance = limit.budget == nil ? limit.total : 0
        let policy = EvictionPolicy(limit: allowance, isWeighted: isWeighted, seed: seed)
        start = time.coarse
        let state = MemoryState(
            policy: policy,
            expected: isWeighted ? .max : limit.total,
            now: start,
            rows: readers.rowCount
        )
        let writer = Writer(
            state,
            partitionCount: partitionCount,
            partitionLimit: Self.partitionLimit(limit, partitionCount),
            idleNanoseconds: idleNanoseconds
        )
        partitions = writer.partitions
        self.writer = Locked(writer)
        if let budget = limit.budget {
            let allowance = budget.join(self, atLeast: limit.atLeast, atMost: limit.total)
            _ = setAllowance(allowance)
        }
    }

    /// Partitions keep readers and the writer apart; a small level needs few.
    private static func partitionCount(limit: Int) -> Int {
        var count = 1
        while count < ReaderRows.maximumPartitions, count * 32 <= limit { count *= 2 }
        return count
    }

    /// The most keys that a partition is expected to hold.
    ///
    /// A tenth more than an equal share, because keys do not spread evenly.
    static func partitionLimit(_ limit: MemoryLimit<Value>, _ partitionCount: Int) -> Int {
        guard limit.weigh == nil else { return 1 << 31 }
        let share = min(limit.total, 1 << 31) / partitionCount
        return share + share / 10
    }

    @inlinable
    @inline(__always)
    var now: MonotonicInstant { time.coarse }

    // MARK: Hashes

    /// The hash of a key in this level.
    ///
    /// Swift's own hashes have a seed that is secret to the process. The `hashValue` of a user's type may be as plain
    /// as a number, hence the mixing.
    @inlinable
    @inline(__always)
    func hash(of key: Key) -> UInt64 {
        EvictionPolicy.mix(UInt64(truncatingIfNeeded: key.hashValue) ^ seed)
    }

    @inlinable
    @inline(__always)
    func partition(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> partitionShift) }

    @inlinable
    @inline(__always)
    func tag(of hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash) }

    // MARK: Facts

    /// The one that was there when the level was made.
    public var clock: CacheClock? { time }

    /// ``EntryOrigin/memory``.
    public var origin: EntryOrigin? { .memory }

    /// True.
    public var isStorage: Bool { true }

    /// True: entries come back with their tickets.
    public var keepsTickets: Bool { true }

    /// `memory`, with its limit and its counters.
    public var label: LevelLabel {
        let statistics = statistics
        let limit = limit
        return LevelLabel(
            "memory, at most \(limit.total) \(limit.weigh == nil ? "entries" : "of cost")",
            counters: [
                .init("hits", statistics.hits), .init("misses", statistics.misses),
                .init("entries", statistics.entries), .init("evictions", statistics.evictions),
                .init(detail: "weight", statistics.weight), .init(detail: "limit", limit.total),
                .init(detail: "insertions", statistics.insertions),
                .init(detail: "expirations", statistics.expirations),
                .init(detail: "idle_expirations", statistics.idleExpirations),
                .init(detail: "sheddings", statistics.sheddings),
                .init(detail: "replacements", statistics.replacements),
                .init(detail: "removals", statistics.removals), .init(detail: "clearings", statistics.clearings),
                .init(detail: "refusals", statistics.refusals),
            ],
            durations: [],
            hubs: [events]
        )
    }
}
