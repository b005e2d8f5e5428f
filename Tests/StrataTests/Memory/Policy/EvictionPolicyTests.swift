import Testing

@testable import Strata

@Suite("Eviction policy: its operations")
struct EvictionPolicyTests {
    /// A weighted policy with one entry of each weight, in slots from 0.
    private func filled(_ limit: Int, weights: [Int]) -> EvictionPolicy {
        var policy = EvictionPolicy(limit: limit, isWeighted: true, seed: 1)
        var victims: [UInt32] = []
        for (slot, weight) in weights.enumerated() {
            policy.insert(UInt32(slot), hash: UInt64(slot), weight: weight, victims: &victims)
        }
        #expect(victims.isEmpty)
        return policy
    }

    @Test("Nothing is evicted before the cache is full")
    func fills() {
        var policy = EvictionPolicy(limit: 1000, seed: 1)
        var victims: [UInt32] = []
        for slot in 0..<1000 {
            #expect(policy.insert(UInt32(slot), hash: UInt64(slot), victims: &victims))
        }
        policy.checkInvariants()
        #expect(victims.isEmpty && policy.count == 1000 && policy.totalWeight == 1000)
        policy.insert(1000, hash: 1000, victims: &victims)
        #expect(victims.count == 1 && policy.count == 1000)
    }

    @Test("A137 An entry heavier than the limit is refused and evicts nothing")
    func refusesWhatIsTooHeavy() {
        var policy = filled(100, weights: [40, 40])
        var victims: [UInt32] = []
        let isInside = policy.insert(7, hash: 7, weight: 101, victims: &victims)
        #expect(!isInside && victims == [7] && policy.totalWeight == 80 && policy.count == 2)
        #expect(!policy.contains(7) && policy.contains(0) && policy.contains(1))
        policy.checkInvariants()
    }

    @Test("An entry as heavy as the limit, and no more, can get in")
    func acceptsWhatJustFits() {
        var policy = EvictionPolicy(limit: 100, isWeighted: true, seed: 1)
        var victims: [UInt32] = []
        #expect(policy.insert(0, hash: 0, weight: 100, victims: &victims))
        #expect(victims.isEmpty && policy.totalWeight == 100)
    }

    @Test("Weights beyond what is stored for an entry are refused, even where the limit would allow them")
    func refusesAbsurdWeights() {
        var policy = EvictionPolicy(limit: .max, isWeighted: true, seed: 1)
        var victims: [UInt32] = []
        #expect(!policy.insert(0, hash: 0, weight: .max, victims: &victims))
        #expect(policy.insert(1, hash: 1, weight: EvictionPolicy.maximumWeight, victims: &victims))
        #expect(victims == [0] && policy.totalWeight == EvictionPolicy.maximumWeight)
    }

    @Test("Weights below 1 count as 1", arguments: [0, -5, .min])
    func countsNothingAsOne(weight: Int) {
        let policy = filled(10, weights: [weight])
        #expect(policy.totalWeight == 1 && policy.weight(of: 0) == 1)
    }

    @Test("A limit of 0 or less holds nothing", arguments: [0, -1, .min])
    func holdsNothing(limit: Int) {
        var policy = EvictionPolicy(limit: limit, seed: 1)
        var victims: [UInt32] = []
        #expect(!policy.insert(3, hash: 3, victims: &victims))
        #expect(victims == [3] && policy.count == 0)
        policy.checkInvariants()
    }

    @Test("A140 A removed entry is gone; to remove what is not there does nothing")
    func removes() {
        var policy = filled(100, weights: [10, 20, 30])
        policy.remove(1)
        policy.remove(1)
        policy.remove(4_000_000)
        #expect(!policy.contains(1) && policy.count == 2 && policy.totalWeight == 40)
        policy.checkInvariants()
    }

    @Test("A slot that is taken anew holds the new entry alone")
    func replacesASlot() {
        var policy = filled(100, weights: [10, 20])
        var victims: [UInt32] = []
        policy.insert(0, hash: 99, weight: 5, victims: &victims)
        #expect(victims.isEmpty && policy.count == 2 && policy.totalWeight == 25)
        policy.checkInvariants()
    }

    @Test("A141 A new weight replaces the old one")
    func reweighs() {
        var policy = filled(100, weights: [10, 20, 30])
        var victims: [UInt32] = []
        policy.reweigh(0, to: 15, victims: &victims)
        #expect(victims.isEmpty && policy.totalWeight == 65 && policy.weight(of: 0) == 15)
        policy.checkInvariants()
    }

    @Test("An entry that grows evicts until the rest fits")
    func growsAtTheExpenseOfOthers() {
        var policy = filled(100, weights: [30, 30, 30])
        var victims: [UInt32] = []
        policy.reweigh(2, to: 60, victims: &victims)
        #expect(policy.totalWeight <= 100 && !victims.isEmpty)
        policy.checkInvariants()
    }

    @Test("An entry that outgrows the limit goes alone")
    func outgrowsTheLimit() {
        var policy = filled(100, weights: [30, 30, 30])
        var victims: [UInt32] = []
        policy.reweigh(1, to: 101, victims: &victims)
        #expect(victims == [1] && policy.totalWeight == 60)
        policy.checkInvariants()
    }

    @Test("A136 A smaller limit evicts until the total fits; a larger one evicts nothing")
    func changesTheLimit() {
        var policy = EvictionPolicy(limit: 500, seed: 1)
        var victims: [UInt32] = []
        for slot in 0..<500 { policy.insert(UInt32(slot), hash: UInt64(slot), victims: &victims) }
        policy.setLimit(120, victims: &victims)
        #expect(victims.count == 380 && policy.count == 120 && policy.limit == 120)
        #expect(Set(victims).count == 380 && victims.allSatisfy { !policy.contains($0) })
        policy.checkInvariants()
        victims = []
        policy.setLimit(1000, victims: &victims)
        for slot in 500..<1380 { policy.insert(UInt32(slot), hash: UInt64(slot), victims: &victims) }
        #expect(victims.isEmpty && policy.count == 1000)
        policy.setLimit(0, victims: &victims)
        #expect(policy.count == 0 && victims.count == 1000)
        policy.checkInvariants()
    }

    @Test("A139 Shedding takes the coldest first, and as much as was asked for")
    func sheds() {
        var policy = EvictionPolicy(limit: 1000, seed: 1)
        var victims: [UInt32] = []
        for slot in 0..<1000 { policy.insert(UInt32(slot), hash: UInt64(slot), victims: &victims) }
        for slot in 0..<200 { policy.recordHit(UInt32(slot)) }
        let order = policy.slots(.coldestFirst)
        policy.shed(0.25, victims: &victims)
        #expect(victims == Array(order.prefix(250)) && policy.count == 750)
        #expect(victims.allSatisfy { $0 >= 200 })
        policy.checkInvariants()
        victims = []
        policy.shed(1, victims: &victims)
        #expect(victims == Array(order.dropFirst(250)) && policy.count == 0)
    }

    @Test(
        "A share that makes no sense sheds nothing or everything",
        arguments: [(0, 0), (-1, 0), (.nan, 0), (7, 10), (.infinity, 10)]
    )
    func shedsStrangeShares(share: Double, expected: Int) {
        var policy = EvictionPolicy(limit: 10, seed: 1)
        var victims: [UInt32] = []
        for slot in 0..<10 { policy.insert(UInt32(slot), hash: UInt64(slot), victims: &victims) }
        policy.shed(share, victims: &victims)
        #expect(victims.count == expected)
    }

    @Test("The two orders are each other's reverse and name every entry once")
    func orders() {
        var policy = EvictionPolicy(limit: 300, seed: 1)
        var victims: [UInt32] = []
        for slot in 0..<300 { policy.insert(UInt32(slot), hash: UInt64(slot), victims: &victims) }
        for slot in stride(from: 0, to: 300, by: 7) { policy.recordHit(UInt32(slot)) }
        let coldest = policy.slots(.coldestFirst)
        #expect(Array(coldest.reversed()) == policy.slots(.hottestFirst))
        #expect(Set(coldest).count == 300)
        #expect(policy.slots(.hottestFirst, most: 5) == Array(coldest.reversed().prefix(5)))
        #expect(policy.slots(.hottestFirst, most: 0).isEmpty)
    }

    @Test("A hit that comes late, for a slot without an entry, is passed over")
    func ignoresLateHits() {
        var policy = filled(100, weights: [10, 20])
        policy.remove(0)
        policy.recordHits([0, 1, 77, .max])
        #expect(policy.count == 1 && policy.frequency(of: 1) == 2 && policy.frequency(of: 0) == 0)
        policy.checkInvariants()
    }

    @Test("A138 After removing all, nothing is inside and nothing is remembered")
    func removesAll() {
        var policy = EvictionPolicy(limit: 50, seed: 1)
        var victims: [UInt32] = []
        for slot in 0..<200 { policy.insert(UInt32(slot % 60), hash: UInt64(slot), victims: &victims) }
        policy.removeAll()
        policy.checkInvariants()
        #expect(policy.count == 0 && policy.totalWeight == 0)
        victims = []
        for slot in 0..<50 { policy.insert(UInt32(slot), hash: UInt64(slot), victims: &victims) }
        #expect(victims.isEmpty && policy.frequency(of: 10) == 1)
    }

    @Test("A key that was removed and comes back is remembered")
    func remembersWhatWasRemoved() {
        var policy = filled(100, weights: [10])
        var victims: [UInt32] = []
        for _ in 0..<4 { policy.recordHit(0) }
        policy.remove(0)
        policy.insert(5, hash: 0, weight: 10, victims: &victims)
        #expect(policy.frequency(of: 5) == 6)
    }
}
