import Testing

@testable import Strata

@Suite("Eviction policy: what it does with workloads")
struct EvictionPolicyWorkloadTests {
    /// Hits in percent of the policy and of an LRU over the same keys.
    private func ratios(_ limit: Int, _ keys: some Sequence<Int>, seed: UInt64 = 1) -> (policy: Double, lru: Double) {
        var cache = KeyedPolicy(EvictionPolicy(limit: limit, seed: seed))
        var lru = PlainLRU(capacity: limit)
        var requests = 0
        for key in keys {
            cache.request(key)
            lru.request(key)
            requests += 1
        }
        cache.policy.checkInvariants()
        return (100 * Double(cache.hits) / Double(requests), 100 * Double(lru.hits) / Double(requests))
    }

    @Test("A loop larger than the cache: near the optimum, where an LRU hits nothing", arguments: [10, 50, 200])
    func loops(limit: Int) {
        let length = 250
        let (policy, lru) = ratios(limit, (0..<25_000).map { $0 % length })
        #expect(lru == 0)
        #expect(policy > 0.85 * 100 * Double(limit) / Double(length))
    }

    @Test("A scan of keys that never come back costs little")
    func survivesScans() {
        var random = TestRandom(seed: 5)
        let skew = Skew(2000)
        let calm = (0..<30_000).map { _ in skew.next(&random) }
        let scanned = calm.enumerated()
            .flatMap { time, key in
                time % 6000 == 3000 ? Array(1_000_000 + time..<1_000_000 + time + 600) + [key] : [key]
            }
        let (undisturbed, _) = ratios(200, calm)
        let (disturbed, lru) = ratios(200, scanned)
        let hits = disturbed * Double(scanned.count) / Double(calm.count)
        #expect(hits > undisturbed - 1.5)
        #expect(disturbed > lru + 6)
    }

    @Test("Where recency is all, it is as good as an LRU")
    func followsRecency() {
        var random = TestRandom(seed: 6)
        var stack = Array(0..<3000)
        let keys = (0..<30_000)
            .map { _ in
                let depth = Int(Double(3000) * pow4(Double.random(in: 0..<1, using: &random)))
                let key = stack.remove(at: stack.count - 1 - depth)
                stack.append(key)
                return key
            }
        let (policy, lru) = ratios(150, keys)
        #expect(policy > lru - 0.75)
    }

    private func pow4(_ value: Double) -> Double { value * value * value * value }

    @Test("Where popularity is fixed, it beats an LRU clearly")
    func followsFrequency() {
        var random = TestRandom(seed: 7)
        let skew = Skew(20_000)
        let (policy, lru) = ratios(100, (0..<30_000).map { _ in skew.next(&random) })
        #expect(policy > lru + 9)
    }

    @Test("It changes its strategy when the workload does, and back")
    func adapts() {
        var cache = KeyedPolicy(EvictionPolicy(limit: 100, seed: 1))
        var chosen: [Int] = []
        for round in 0..<2 {
            for time in 0..<40_000 { cache.request(1000 + time % 160) }
            chosen.append(cache.policy.strategyIndex)
            // Each key twice, 70 requests apart: a policy that does not keep new keys hits nothing.
            for time in 0..<40_000 {
                let key = time % 2 == 0 ? time / 2 : max(0, time / 2 - 35)
                cache.request(10_000 + round * 100_000 + key)
            }
            chosen.append(cache.policy.strategyIndex)
        }
        #expect(EvictionStrategy.all[chosen[0]].windowShare < 0.1 && EvictionStrategy.all[chosen[2]].windowShare < 0.1)
        #expect(
            EvictionStrategy.all[chosen[1]].windowShare >= 0.8 && EvictionStrategy.all[chosen[3]].windowShare >= 0.8
        )
    }

    @Test("The same seed makes the same decisions; another seed may not")
    func isDeterministic() {
        var random = TestRandom(seed: 8)
        let skew = Skew(5000)
        let keys = (0..<30_000).map { _ in skew.next(&random) }
        func victims(_ seed: UInt64) -> [UInt32] {
            var policy = EvictionPolicy(limit: 300, seed: seed)
            var victims: [UInt32] = []
            for key in keys {
                if policy.contains(UInt32(key)) {
                    policy.recordHit(UInt32(key))
                } else {
                    policy.insert(UInt32(key), hash: UInt64(key), victims: &victims)
                }
            }
            return victims
        }
        #expect(victims(1) == victims(1))
        #expect(victims(1) != victims(2))
    }

    @Test("Small caches work", arguments: [1, 2, 3, 5, 10])
    func worksWhenSmall(limit: Int) {
        var random = TestRandom(seed: 9)
        let skew = Skew(500)
        let (policy, lru) = ratios(limit, (0..<25_000).map { _ in skew.next(&random) })
        #expect(policy >= lru - 0.01)
        #expect(limit < 5 || policy > lru + 5)
    }

    @Test("Keys that an attacker made collide in the sketch do not freeze the cache")
    func outlivesInflatedVictims() {
        // The worst that collisions can do: everything inside looks as frequent as can be counted.
        var policy = EvictionPolicy(limit: 64, seed: 1, strategies: [EvictionStrategy.all[2]])
        var victims: [UInt32] = []
        for slot in 0..<64 { policy.insert(UInt32(slot), hash: UInt64(slot), victims: &victims) }
        for _ in 0..<20 { for slot in 0..<64 { policy.recordHit(UInt32(slot)) } }
        // New keys that are asked for often, but not as often as is counted for those inside.
        var replaced: Set<UInt32> = []
        for round in 0..<3000 {
            let slot = UInt32(100 + round % 30)
            if policy.contains(slot) {
                policy.recordHit(slot)
            } else {
                policy.insert(slot, hash: UInt64(slot), victims: &victims)
            }
            for slot in 0..<64 where !policy.contains(UInt32(slot)) { replaced.insert(UInt32(slot)) }
            if policy.contains(UInt32(round % 64)) { policy.recordHit(UInt32(round % 64)) }
        }
        #expect(replaced.count > 5)
    }

    @Test("A cache whose limit is in weights adapts like one that counts")
    func weighsAndAdapts() {
        var cache = EvictionPolicy(limit: 100 * 50, isWeighted: true, seed: 1)
        var victims: [UInt32] = []
        var hits = 0
        for time in 0..<40_000 {
            let slot = UInt32(time % 250)
            if cache.contains(slot) {
                cache.recordHit(slot)
                hits += 1
            } else {
                victims.removeAll(keepingCapacity: true)
                cache.insert(slot, hash: UInt64(slot), weight: 25 + Int(slot % 51), victims: &victims)
            }
        }
        cache.checkInvariants()
        #expect(Double(hits) / 40_000 > 0.33)
    }
}
