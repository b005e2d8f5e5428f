import Testing

@testable import Strata

@Suite("Eviction policy: entries that come back with their places")
struct EvictionPolicySettleTests {
    @Test("those that are settled from the hottest on stand in that order, and the coldest goes first")
    func order() {
        var policy = EvictionPolicy(limit: 100, seed: 1)
        var victims: [UInt32] = []
        for slot in 0..<60 as Range<UInt32> {
            policy.insert(slot, hash: UInt64(slot), victims: &victims)
            policy.settle(slot, frequency: slot < 30 ? 9 : 1)
            policy.checkInvariants()
        }
        #expect(policy.slots(.hottestFirst) == Array(0..<60))
        #expect(policy.frequency(of: 3) == 9 && policy.frequency(of: 59) == 1)
        policy.shed(1.0 / 60, victims: &victims)
        #expect(victims == [59])
    }

    @Test("what the protected part has no room for goes to probation; an empty slot is ignored, and counts are held")
    func bounds() {
        var policy = EvictionPolicy(limit: 10, seed: 1)
        var victims: [UInt32] = []
        for slot in 0..<10 as Range<UInt32> {
            policy.insert(slot, hash: UInt64(slot), victims: &victims)
            policy.settle(slot, frequency: .max)
            policy.checkInvariants()
        }
        #expect(victims.isEmpty && policy.count == 10)
        #expect(policy.frequency(of: 0) == 15)
        policy.settle(77, frequency: 3)
        policy.settle(0, frequency: -3)
        #expect(policy.frequency(of: 0) == 1)
        policy.checkInvariants()
        // A newcomer may displace one of them as ever.
        policy.insert(20, hash: 20, victims: &victims)
        #expect(policy.count == 10)
        policy.checkInvariants()
    }
}
