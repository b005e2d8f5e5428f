import FleetSimulation
import Strata

/// A memory level and a bare dictionary with the same entries, timed in turns.
struct MemoryTrial<Key: LoadKey> {
    /// What a round has measured, in nanoseconds an operation.
    struct Round {
        var bareHit = 0.0
        var hit = 0.0
        var bareMiss = 0.0
        var miss = 0.0
        var bareInsert = 0.0
        var insert = 0.0
    }

    let level: MemoryLevel<Key, Product>
    let bare = StripedDictionary<Key, Product>()
    /// Keys that are inside, in a random order.
    let asked: [Key]
    /// Keys that never are.
    let strangers: [Key]
    let entries: Int

    init(entries: Int, operations: Int) async throws {
        self.entries = entries
        level = MemoryLevel(limit: .entries(entries))
        for number in 0..<entries {
            let key = Key(number: number)
            bare[key] = Product(number)
            try await level.set(Product(number), for: key)
        }
        var generator = SplitMix(seed: 42)
        asked = (0..<operations).map { _ in Key(number: .random(in: 0..<entries, using: &generator)) }
        strangers = (0..<operations).map { Key(number: 1 << 40 + $0) }
    }

    /// Reads, side by side.
    func reads() async throws -> Round {
        var round = Round()
        round.bareHit = LevelTiming.reads(bare: bare, asked)
        round.hit = try await LevelTiming.reads(level, asked)
        round.bareMiss = LevelTiming.reads(bare: bare, strangers, found: false)
        round.miss = try await LevelTiming.reads(level, strangers, found: false)
        return round
    }

    /// Inserts of keys that are new, each of which makes another entry leave; a hit beside it, at the same level.
    func inserts() async throws -> Round {
        var round = Round()
        let full = MemoryLevel<Key, Product>(limit: .entries(entries))
        for number in 0..<entries { try await full.set(Product(number), for: Key(number: number)) }
        round.hit = try await LevelTiming.reads(full, asked)
        round.insert = try await LevelTiming.writes(full, strangers, Product(-1))
        let evictions = full.statistics.evictions
        precondition(evictions == strangers.count, "\(evictions) evictions of \(strangers.count)")
        return round
    }
}
