/// Decides which entries of a bounded cache stay: admission and eviction that adapt to the workload.
///
/// The policy is separate from the map. It knows entries by their slot (an index into the map's storage), a hash of
/// their key and a weight; it never sees keys or values. It is not thread-safe: its owner calls it from one thread at a
/// time.
///
/// Every entry stands in one of three queues: the *window* for new entries, and the *probation* and *protected* parts
/// of the main region. How these are used is an ``EvictionStrategy``. Which strategy is best depends on the workload,
/// and no fixed one is good everywhere; so a ``MiniatureSimulation`` replays a sample of the keys through a miniature
/// of each strategy, and the policy follows the one that would hit most. How it was chosen, with the figures, stands in
/// `docs/internals/eviction-policy.md`.
///
/// After every operation the total weight is within the limit, exactly.
///
/// Memory: 16 bytes a slot (20 where entries have weights), at most 16 bytes an entry for the sketch of past
/// frequencies, and up to some 100 KB for the simulation. An operation allocates only when the number of slots or
/// entries exceeds all that was seen before.
@usableFromInline
package struct EvictionPolicy: ~Copyable, Sendable {
    /// Entries by slot, after the heads of the queues.
    @usableFromInline var entries: FlatArray<PolicyEntry>
    /// Weights by slot; not used if every entry weighs 1.
    @usableFromInline var weights: FlatArray<UInt32>
    @usableFromInline let isWeighted: Bool
    @usableFromInline var queues = PolicyQueues()

    /// The largest total weight.
    @usableFromInline package internal(set) var limit: Int
    /// The number of entries inside.
    @usableFromInline package internal(set) var count = 0
    /// The sum of the weights of the entries inside.
    @usableFromInline package internal(set) var totalWeight = 0

    /// The strategy that is followed at present, as an index into ``EvictionStrategy/all``.
    @usableFromInline package internal(set) var strategyIndex = 0
    @usableFromInline let strategies: [EvictionStrategy]
    @usableFromInline var strategy: EvictionStrategy
    @usableFromInline var windowLimit = 0
    @usableFromInline var protectedLimit = 0
    /// The window is larger than it should be since the strategy or the limit changed.
    @usableFromInline var isRebalancing = false

    @usableFromInline var sketch: FrequencySketch
    @usableFromInline var epoch: UInt8 = 0
    /// How many more requests pass until all counts are halved.
    @usableFromInline var requestsLeftInEpoch: Int

    var missesInEpoch = 0

    @usableFromInline var simulation: MiniatureSimulation
    /// How many entries the cache holds when it is full, as far as is known.
    @usableFromInline var population: Int

    /// The number of entries at which the sketch and the clock of moves are looked at again.
    @usableFromInline var growthCount = 1

    @usableFromInline var moves: UInt32 = 0
    @usableFromInline var moveShift: UInt32 = 0
    /// Takes what is read ahead of its use, so that the reading is not left out as useless.
    @usableFromInline var touched: UInt32 = 0
    @usableFromInline let seed: UInt64
    @usableFromInline var randomState: UInt64

    /// The number of entries that stand before slot 0: the heads of the queues.
    @usableFromInline static var heads: Int { 4 }
    /// The largest weight of one entry; a heavier one is refused.
    @usableFromInline package static var maximumWeight: Int { Int(UInt32.max) }

    /// A policy for a cache that is empty.
    ///
    /// - Parameters:
    ///   - limit: The largest total weight. Below 0 counts as 0, which refuses everything.
    ///   - isWeighted: Whether entries have weights; if not, each weighs 1 and `limit` is a number of entries.
    ///   - seed: Makes every decision reproducible. Random by default, so that outsiders cannot foresee which keys
    ///     share counters.
    ///   - strategies: The strategies to choose from, at most eight; a single one is followed without a simulation.
    @usableFromInline
    package init(
        limit: Int,
        isWeighted: Bool = false,
        seed: UInt64 = .random(in: .min ... .max),
        strategies: [EvictionStrategy] = EvictionStrategy.all
    ) {
        precondition(!strategies.isEmpty && strategies.count <= MiniatureSimulation.maximumMiniatures)
        let limit = EvictionPolicy.bounded(limit)
        let foreseen = isWeighted ? 0 : limit
        self.limit = limit
        self.isWeighted = isWeighted
        self.strategies = strategies
        self.seed = seed
        randomState = EvictionPolicy.mix(seed) | 1
        strategy = strategies[0]
        population = min(foreseen, Int(Int32.max))
        entries = FlatArray(repeating: PolicyEntry(linkedToItself: 0), count: EvictionPolicy.heads)
        weights = FlatArray(repeating: 1, count: 1)
        sketch = FrequencySketch(blockCount: EvictionPolicy.initialBlocks(for: population))
        requestsLeftInEpoch = EvictionPolicy.epochLength(population: population)
        simulation = MiniatureSimulation(strategies: strategies, population: population)
        for head in 0..<EvictionPolicy.heads {
            entries[head] = PolicyEntry(linkedToItself: UInt32(head))
        }
        follow(strategyAt: 0)
    }

    /// Makes room for slots below `count`, so that no operation on them allocates for their sake.
    ///
    /// Complexity: O(`count`).
    @usableFromInline
    package mutating func reserveSlots(_ count: Int) {
        let needed = count + EvictionPolicy.heads
        if needed > entries.count {
            entries.grow(to: needed, filling: PolicyEntry(linkedToItself: 0))
        }
        if isWeighted, needed > weights.count {
            weights.grow(to: needed, filling: 0)
        }
    }

    /// Whether the slot holds an entry.
    @inlinable
    package func contains(_ slot: UInt32) -> Bool {
        let index = Int(slot) &+ EvictionPolicy.heads
        return index < entries.count && entries[index].queue != .none
    }

    /// The weight of the entry in the slot; 0 if it holds none.
    @usableFromInline
    package func weight(of slot: UInt32) -> Int {
        contains(slot) ? weight(at: Int(slot) + EvictionPolicy.heads) : 0
    }
}

extension EvictionPolicy {
    @inlinable
    @inline(__always)
    func weight(at index: Int) -> Int {
        isWeighted ? Int(weights[index]) : 1
    }

    /// A limit that is not negative and so far from overflow that a weight can be added to it.
    static func bounded(_ limit: Int) -> Int {
        min(max(limit, 0), 1 << 62)
    }

    /// The finalizer of MurmurHash3 (Appleby), a bijection of 64-bit numbers.
    @inlinable
    static func mix(_ value: UInt64) -> UInt64 {
        var mixed = (value ^ (value &>> 33)) &* 0xFF51_AFD7_ED55_8CCD
        mixed = (mixed ^ (mixed &>> 33)) &* 0xC4CE_B9FE_1A85_EC53
        return mixed ^ (mixed &>> 33)
    }

    /// A key's hash in the policy: without the seed, colliding keys cannot be found.
    @inlinable
    func seeded(_ hash: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: EvictionPolicy.mix(hash ^ seed) &>> 32)
    }

    /// The next number of a xorshift generator (Marsaglia, 2003).
    @inlinable
    mutating func nextRandom() -> UInt32 {
        randomState ^= randomState &<< 13
        randomState ^= randomState &>> 7
        randomState ^= randomState &<< 17
        return UInt32(truncatingIfNeeded: randomState &>> 32)
    }

    /// Counts are halved each time that a full cache was asked eight times its number of entries.
    @usableFromInline
    static func epochLength(population: Int) -> Int {
        8 * max(population, 64)
    }

    /// The sketch starts small and doubles as entries come, up to twelve bytes an entry of a full cache if their
    /// number is known, and up to sixteen otherwise.
    static func initialBlocks(for population: Int) -> Int {
        var blocks = max(64, (population * 12 + 63) / 64)
        while blocks >= 512 { blocks = (blocks + 1) / 2 }
        return blocks
    }
}
