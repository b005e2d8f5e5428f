public import Synchronization

/// A level in this process's memory: bounded, safe for any number of tasks, and answering without suspending.
///
/// ```swift
/// let products = MemoryLevel<Int, Product>(limit: .entries(10_000), lifetime: .seconds(30))
/// ```
///
/// **Limit.** It holds after every operation. What has to go is decided by a policy that adapts to the workload
/// (`docs/internals/eviction-policy.md`): neither plain recency nor plain frequency, and a new entry may be the one
/// that goes. An entry that alone exceeds the limit is refused and displaces nothing.
///
/// **Expiry.** An entry that nobody may be given any more leaves memory by itself, some tenths of a second later, also
/// when nobody uses the level: writes and misses look at what is due, and one background thread of the process, which
/// all levels share and which sleeps while nothing is due, does so for levels at rest.
///
/// **Concurrency.** A read takes no lock that others take, does not allocate, and does not wait for writers of other
/// parts of the level. Writers take turns. Comparing keys and copying values happens inside, so neither `==` of the key
/// nor the closure that tells a value's cost may call the level.
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
    /// Whether the housekeeper comes: it does where time is the system's.
    @usableFromInline
    let isTended: Bool
    /// Before this instant the wheel has nothing to do.
    @usableFromInline
    let nextLook = Atomic<Int64>(.max)
    @usableFromInline
    let writer: Locked<Writer>
    @usableFromInline
    let lifetime: Duration?
    @usableFromInline
    let clock: (@Sendable () -> MonotonicInstant)?
    @usableFromInline
    let onRemoval: (@Sendable (MemoryRemoval<Key, Value>) -> Void)?
    /// How much the level may hold.
    public let limit: MemoryLimit<Value>

    /// An empty level.
    ///
    /// - Parameters:
    ///   - limit: How much it may hold.
    ///   - lifetime: The longest an entry stays fresh here, whatever its own lifetime; `nil` leaves it as it is. An
    ///     entry that has no end of its own leaves then.
    ///   - idleLifetime: How long an entry is kept that nobody asks for; `nil` is for ever. A read counts if it comes a
    ///     64th of that time or more after the last one that did.
    ///   - onRemoval: Told of every entry that has left, on the thread that made it leave (the shared background
    ///     thread, if time did), after the operation and outside of every lock. It must not take long.
    public convenience init(
        limit: MemoryLimit<Value>,
        lifetime: Duration? = nil,
        idleLifetime: Duration? = nil,
        onRemoval: (@Sendable (MemoryRemoval<Key, Value>) -> Void)? = nil
    ) {
        self.init(limit: limit, lifetime: lifetime, idleLifetime: idleLifetime, clock: nil, onRemoval: onRemoval)
    }

    /// The same on a clock of the caller's, for tests.
    package init(
        limit: MemoryLimit<Value>,
        lifetime: Duration? = nil,
        idleLifetime: Duration? = nil,
        seed: UInt64 = .random(in: .min ... .max),
        clock: (@Sendable () -> MonotonicInstant)?,
        onRemoval: (@Sendable (MemoryRemoval<Key, Value>) -> Void)? = nil
    ) {
        self.limit = limit
        self.lifetime = lifetime
        self.clock = clock
        self.onRemoval = onRemoval
        self.seed = seed
        idleNanoseconds = idleLifetime.map { max($0.saturatedNanoseconds, 1) } ?? 0
        let partitionCount = Self.partitionCount(limit: limit.total)
        partitionShift = UInt64(64 - partitionCount.trailingZeroBitCount)
        isTended = clock == nil
        readers = ReaderRows(threads: 4 * ProcessorCount.online)
        let isWeighted = limit.weigh != nil
        let allowance = limit.budget == nil ? limit.total : 0
        let policy = EvictionPolicy(limit: allowance, isWeighted: isWeighted, seed: seed)
        start = clock?() ?? .coarse
        let state = MemoryState(
            policy: policy,
            expected: isWeighted ? .max : limit.total,
            now: start,
            rows: readers.rowCount
        )
        // A tenth more than an equal share, because keys do not spread evenly.
        let share = min(limit.total, 1 << 31) / partitionCount
        let writer = Writer(
            state,
            partitionCount: partitionCount,
            partitionLimit: isWeighted ? 1 << 31 : share + share / 10,
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

    @inlinable
    @inline(__always)
    var now: MonotonicInstant { clock?() ?? .coarse }

    // MARK: Hashes

    /// The hash by which everything here knows a key.
    ///
    /// The library's own hashes have a seed that is secret to the process. What a type of the user's returns as
    /// `hashValue` may be as plain as a number, hence the mixing.
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

    /// ``EntryOrigin/memory``.
    public var origin: EntryOrigin? { .memory }

    /// They come back with their tickets.
    public var keepsTickets: Bool { true }

    /// `memory`, with its limit and what was counted.
    public var label: LevelLabel {
        let statistics = statistics
        return LevelLabel(
            "memory, at most \(limit.total) \(limit.weigh == nil ? "entries" : "of cost")",
            counters: [
                .init("hits", statistics.hits), .init("misses", statistics.misses),
                .init("entries", statistics.entries),
                .init("evictions", statistics.evictions),
            ]
        )
    }
}

extension MemoryLevel: CountedLevel {
    /// No entry weighs less than 1.
    var entryLimit: Int { limit.total }
}
