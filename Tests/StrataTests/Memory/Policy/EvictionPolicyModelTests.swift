import Testing

@testable import Strata

@Suite("Eviction policy: random operations against a plain model")
struct EvictionPolicyModelTests {
    @Test("Counted and weighted, small and larger", arguments: [1, 2, 3, 10, 100, 700], [false, true])
    func agreesWithTheModel(limit: Int, isWeighted: Bool) {
        let seed = UInt64.random(in: 0...(.max))
        print("seed of agreesWithTheModel(\(limit), \(isWeighted)): \(seed)")
        var run = ModelRun(limit: limit, isWeighted: isWeighted, seed: seed)
        for _ in 0..<(limit > 100 ? 600 : 1500) { run.step() }
    }
}

/// The policy and what must be true of it: which slots are taken, and what they weigh.
private struct ModelRun: ~Copyable {
    private var policy: EvictionPolicy
    private var model: [UInt32: Int] = [:]
    private var limit: Int
    private let isWeighted: Bool
    private let slots: UInt32
    private var random: TestRandom

    init(limit: Int, isWeighted: Bool, seed: UInt64) {
        policy = EvictionPolicy(limit: limit, isWeighted: isWeighted, seed: seed)
        self.limit = limit
        self.isWeighted = isWeighted
        slots = UInt32(limit + limit / 2 + 4)
        random = TestRandom(seed: seed)
    }

    mutating func step() {
        let slot = UInt32.random(in: 0..<slots, using: &random)
        let heaviest = isWeighted ? max(1, Int.random(in: 1...10, using: &random) == 1 ? 2 * limit : limit / 8) : 1
        let weight = Int.random(in: 1...heaviest, using: &random)
        var victims: [UInt32] = []
        switch Int.random(in: 0..<100, using: &random) {
        case ..<55: insert(slot, weight, &victims)
        case ..<85: policy.recordHit(slot)
        case ..<90:
            policy.remove(slot)
            model[slot] = nil
        case ..<96: reweigh(slot, weight, &victims)
        case ..<98:
            limit = max(0, limit + Int.random(in: -limit / 4 - 1...limit / 4 + 1, using: &random))
            policy.setLimit(limit, victims: &victims)
        case ..<99: shed(&victims)
        default: policy.recordHits((0..<20).map { _ in UInt32.random(in: 0..<slots, using: &random) })
        }
        settle(victims)
    }

    private mutating func insert(_ slot: UInt32, _ weight: Int, _ victims: inout [UInt32]) {
        let before = model.filter { $0.key != slot }
        let isInside = policy.insert(slot, hash: UInt64(slot), weight: weight, victims: &victims)
        model[slot] = weight
        #expect(isInside != victims.contains(slot))
        if weight > limit { #expect(victims == [slot]) }
        if before.values.reduce(0, +) + weight <= limit { #expect(victims.isEmpty, "evicted although all fits") }
    }

    private mutating func reweigh(_ slot: UInt32, _ weight: Int, _ victims: inout [UInt32]) {
        policy.reweigh(slot, to: weight, victims: &victims)
        if isWeighted, model[slot] != nil { model[slot] = weight }
    }

    private mutating func shed(_ victims: inout [UInt32]) {
        let before = model.values.reduce(0, +)
        policy.shed(0.3, victims: &victims)
        let gone = victims.compactMap { model[$0] }.reduce(0, +)
        #expect(Double(gone) >= Double(before) * 0.3)
        if let last = victims.last { #expect(Double(gone - (model[last] ?? 0)) < Double(before) * 0.3) }
    }

    /// Takes the victims out of the model and compares everything that can be seen.
    private mutating func settle(_ victims: [UInt32]) {
        #expect(Set(victims).count == victims.count, "a victim named twice")
        for victim in victims {
            #expect(model[victim] != nil, "a victim that was not inside")
            model[victim] = nil
        }
        let total = model.values.reduce(0, +)
        #expect(policy.totalWeight == total && policy.count == model.count && total <= limit)
        for slot in 0..<slots where policy.contains(slot) != (model[slot] != nil) {
            Issue.record("slot \(slot) differs")
        }
        for (slot, weight) in model where policy.weight(of: slot) != weight {
            Issue.record("slot \(slot) weighs \(policy.weight(of: slot)) and not \(weight)")
        }
        policy.checkInvariants()
    }
}
