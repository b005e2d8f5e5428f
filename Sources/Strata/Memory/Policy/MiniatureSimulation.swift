/// Miniatures of the cache, one for each strategy, that replay a sample of the requests and tell which strategy would
/// hit most.
///
/// A key is in the sample if the low bits of its seeded hash are zero, so all requests for it are or none is; a
/// miniature has room for the same share of the entries as the sample has of the keys. Its hit ratio then is close to
/// that of a full cache (Waldspurger, Saemundsson, Ahmad, Park, "Cache Modeling and Optimization using Miniature
/// Simulations", USENIX ATC 2017), and the difference between two miniatures is closer still, since both see the same
/// keys.
///
/// All miniatures share one table of sampled keys: a *row* is a key that at least one of them holds, with the links of
/// each miniature's queues. Entries count as 1 here, whatever they weigh.
///
/// Sizes: a miniature has room for 96 to 767 entries, or is as large as the cache where that is smaller than 192. Of
/// a cache of 1000 entries one key in 8 is followed, of a million one in 2048.
@usableFromInline
struct MiniatureSimulation: ~Copyable, Sendable {
    /// A key that is in at least one miniature.
    struct Row: BitwiseCopyable, Sendable {
        /// The queue in each miniature, one byte each.
        var queues: UInt64 = 0
        var hash: UInt32 = 0
        /// The next row with the same bucket, or the next free row.
        var chain: UInt16 = 0
        var frequency: UInt8 = 0
        var epoch: UInt8 = 0
    }

    /// The neighbours of a row in a queue of one miniature.
    struct Link: BitwiseCopyable, Sendable {
        var previous: UInt16
        var next: UInt16
    }

    /// The rules and bounds of one miniature.
    struct Miniature: BitwiseCopyable, Sendable {
        var strategy: EvictionStrategy
        /// Where a hit moves an entry, by the queue it stands in, one byte a queue; 0 if it stays.
        var destinations: UInt32 = 0
        var windowLimit = 1
        var protectedLimit = 0
    }

    @usableFromInline static var maximumMiniatures: Int { 8 }
    /// The rows before the first real one: the heads of the queues.
    ///
    /// Row 0 also means none in a chain.
    static var heads: Int { 4 }

    /// The bits of a hash that are zero for the keys in the sample; all bits during a rest.
    @usableFromInline var mask: UInt32 = .max
    var shift: UInt32 = 0
    var isSetUp = false
    var schedule = MiniatureSchedule()
    /// The number of entries that each miniature has room for.
    var miniatureLimit = 1
    var miniatures: FlatArray<Miniature>
    /// The number of entries in each queue of each miniature.
    var counts: FlatArray<Int>
    var rows: FlatArray<Row>
    var links: FlatArray<Link>
    var buckets: FlatArray<UInt16>
    var free: UInt16 = 0
    var used = MiniatureSimulation.heads
    var scores = StrategyScores()
    var dice: UInt32 = 0x9E37_79B9

    init(strategies: [EvictionStrategy], population: Int) {
        miniatures = FlatArray(repeating: Miniature(strategy: strategies[0]), count: strategies.count)
        for miniature in 0..<strategies.count { miniatures[miniature].strategy = strategies[miniature] }
        counts = FlatArray(repeating: 0, count: strategies.count * MiniatureSimulation.heads)
        rows = FlatArray(repeating: Row(), count: 64)
        links = FlatArray(repeating: Link(previous: 0, next: 0), count: 64 * MiniatureSimulation.maximumMiniatures)
        buckets = FlatArray(repeating: 0, count: 64)
        removeAll()
        setPopulation(population)
    }

    /// Whether requests for the key are replayed.
    ///
    /// With a single strategy there is nothing to compare.
    @inlinable
    @inline(__always)
    func samples(_ hash: UInt32) -> Bool { hash & mask == 0 }

    var sampleMask: UInt32 { (1 << shift) - 1 }

    /// Rests or wakes, by what happened in an epoch that is over.
    mutating func endEpoch(misses: Int, requests: Int) {
        guard isSetUp else { return }
        schedule.endEpoch(misses: misses, requests: requests)
        mask = schedule.isResting ? .max : sampleMask
    }

    /// The share of the keys to follow, as a power of two, if a full cache holds `population` entries.
    ///
    /// Miniatures have room for 96 entries or more; where the cache is smaller than twice that, they are as large as
    /// the cache. In small samples chance decides whether they hold too many or too few of the hot keys.
    static func shift(for population: Int) -> UInt32 {
        func halvings(downTo least: Int) -> UInt32 {
            let quotient = population / least
            return quotient > 1 ? UInt32(Int.bitWidth - 1 - quotient.leadingZeroBitCount) : 0
        }
        return max(min(halvings(downTo: 96), 8), halvings(downTo: 384))
    }

    /// Adapts the sample and the miniatures to the number of entries that a full cache holds.
    mutating func setPopulation(_ population: Int) {
        guard miniatures.count > 1 else { return }
        let wanted = MiniatureSimulation.shift(for: population)
        if wanted != shift || !isSetUp {
            let isThinner = wanted > shift && isSetUp
            shift = wanted
            isSetUp = true
            schedule.reset()
            mask = sampleMask
            if isThinner { dropUnsampled() } else { removeAll() }
        }
        miniatureLimit = min(max(1, population >> Int(shift)), 4095)
        for miniature in 0..<miniatures.count {
            let strategy = miniatures[miniature].strategy
            miniatures[miniature].windowLimit = strategy.windowLimit(of: miniatureLimit)
            miniatures[miniature].protectedLimit = strategy.protectedLimit(of: miniatureLimit)
            miniatures[miniature].destinations = destinations(miniature)
            shrink(miniature)
        }
        scores.setMemory(requests: 20 * max(miniatureLimit, 48))
    }

    /// Replays a request in every miniature.
    ///
    /// - Returns: The strategy to change to, if one is better than `current` beyond doubt.
    mutating func replay(_ hash: UInt32, frequency: UInt8, epoch: UInt8, current: Int) -> Int? {
        var hits: UInt32 = 0
        var row = find(hash)
        if row == 0 { row = insertRow(hash) }
        rows[row].frequency = frequency
        rows[row].epoch = epoch
        let queues = rows[row].queues
        for miniature in 0..<miniatures.count {
            let queue = Int(truncatingIfNeeded: queues &>> UInt64(8 &* miniature)) & 0xFF
            if queue == 0 {
                admit(row, miniature, epoch)
            } else {
                hits |= 1 &<< UInt32(truncatingIfNeeded: miniature)
                hit(row, miniature, from: queue)
            }
        }
        guard !schedule.isSettling else { return nil }
        guard let better = scores.record(hits, miniatures: miniatures.count, current: current) else { return nil }
        schedule.strategyChanged()
        return better
    }
}
