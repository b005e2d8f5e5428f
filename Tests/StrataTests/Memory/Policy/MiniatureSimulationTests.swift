import Testing

@testable import Strata

@Suite("Miniature simulations of the strategies")
struct MiniatureSimulationTests {
    @Test("Every miniature hits what a cache of its strategy hits", arguments: EvictionStrategy.all.indices)
    func agreesWithTheRealThing(miniature: Int) {
        var random = TestRandom(seed: UInt64(miniature))
        let skew = Skew(400)
        // Small enough for the sample to be all keys, so that both see the same.
        var simulation = MiniatureSimulation(strategies: EvictionStrategy.all, population: 60)
        var cache = KeyedPolicy(EvictionPolicy(limit: 60, seed: 1, strategies: [EvictionStrategy.all[miniature]]))
        var hits = 0
        let requests = 8000
        for time in 0..<requests {
            let key = time % 3 == 0 ? 1000 + time / 6 : skew.next(&random)
            let seeded = cache.policy.seeded(UInt64(key))
            cache.request(key)
            let entry = cache.policy.entries[key + EvictionPolicy.heads]
            let row = simulation.find(seeded)
            if row != 0, simulation.rows[row].queues >> UInt64(8 * miniature) & 0xFF != 0 { hits += 1 }
            _ = simulation.replay(seeded, frequency: entry.frequency, epoch: cache.policy.epoch, current: 0)
            if time % 1000 == 0 { simulation.checkInvariants() }
        }
        #expect(abs(hits - cache.hits) < requests / 200)
    }

    @Test(
        "The sample gets thinner as the cache gets larger, the miniatures stay of one size",
        arguments: [8, 191, 192, 1000, 5000, 40_000, 1_000_000, 100_000_000]
    )
    func scales(population: Int) {
        let shift = MiniatureSimulation.shift(for: population)
        let size = population >> Int(shift)
        #expect(size <= 767)
        #expect(size >= min(96, population))
    }

    @Test("A cache that grows keeps its miniatures consistent")
    func grows() {
        var simulation = MiniatureSimulation(strategies: EvictionStrategy.all, population: 0)
        var random = TestRandom(seed: 3)
        for population in [10, 100, 150, 400, 1000, 3000, 2000, 900, 50, 5000] {
            simulation.setPopulation(population)
            simulation.checkInvariants()
            for _ in 0..<1500 {
                let hash = UInt32(truncatingIfNeeded: EvictionPolicy.mix(UInt64.random(in: 0..<8000, using: &random)))
                if simulation.samples(hash) { _ = simulation.replay(hash, frequency: 1, epoch: 0, current: 0) }
            }
            simulation.checkInvariants()
        }
    }

    @Test("Chance alone is seldom a reason to change, a lead is one soon")
    func scores() {
        var random = TestRandom(seed: 4)
        var changes = 0
        var scores = StrategyScores()
        scores.setMemory(requests: 2000)
        var current = 0
        for _ in 0..<50_000 {
            guard let better = scores.record(UInt32.random(in: 0..<4, using: &random), miniatures: 2, current: current)
            else { continue }
            current = better
            changes += 1
        }
        #expect(changes < 25)
        scores = StrategyScores()
        scores.setMemory(requests: 2000)
        var first: Int?
        for time in 0..<2000 where first == nil {
            let hits: UInt32 = time % 20 == 0 ? 2 : UInt32.random(in: 0..<2, using: &random) * 3
            if scores.record(hits, miniatures: 2, current: 0) == 1 { first = time }
        }
        #expect(first.map { $0 < 500 } ?? false)
    }

    @Test("Fading hits do not run out of numbers")
    func scoresForLong() {
        var scores = StrategyScores()
        scores.setMemory(requests: 100)
        for time in 0..<100_000 { _ = scores.record(time % 2 == 0 ? 1 : 2, miniatures: 2, current: 0) }
        var change: Int?
        for _ in 0..<300 where change == nil { change = scores.record(2, miniatures: 2, current: 0) }
        #expect(change == 1)
    }

    @Test("It rests when nothing changes, and wakes when the hit ratio moves")
    func rests() {
        var schedule = MiniatureSchedule()
        for _ in 0..<7 { schedule.endEpoch(misses: 300, requests: 1000) }
        #expect(schedule.isResting)
        schedule.endEpoch(misses: 310, requests: 1000)
        #expect(schedule.isResting)
        schedule.endEpoch(misses: 600, requests: 1000)
        #expect(!schedule.isResting && schedule.isSettling)
        schedule.endEpoch(misses: 600, requests: 1000)
        #expect(!schedule.isSettling)
    }

    @Test("Each rest is longer, up to a bound, and a change of strategy ends the calm")
    func restsLonger() {
        var schedule = MiniatureSchedule()
        var resting = 0
        for _ in 0..<1000 {
            schedule.endEpoch(misses: 300, requests: 1000)
            resting += schedule.isResting ? 1 : 0
        }
        #expect(resting > 700 && resting < 850)
        schedule.strategyChanged()
        while schedule.isResting { schedule.endEpoch(misses: 300, requests: 1000) }
        for _ in 0..<3 {
            schedule.endEpoch(misses: 300, requests: 1000)
            #expect(!schedule.isResting)
        }
    }
}
