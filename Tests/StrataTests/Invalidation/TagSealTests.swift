import StrataTesting
import Testing

@testable import Strata

@Suite("Seals")
struct TagSealTests {
    @Test("a seal that is taken while one of its tags is invalidated has ended with the tag's next invalidation")
    func overlapping() async {
        let gate = FillGate()
        let fingerprints = (0..<1_000).map { TagName("tag \($0)").fingerprint() }
        for _ in 0..<300 {
            let other = Task.detached { gate.void(tagFingerprints: [fingerprints[0]]) }
            let seal = gate.seal(tagFingerprints: fingerprints)
            await other.value
            gate.void(tagFingerprints: [fingerprints[0]])
            #expect(!seal.isLive)
        }
    }

    @Test("a seal lives until one of its tags is invalidated")
    func life() throws {
        let gate = FillGate()
        let seal = try #require(gate.seal(["a", "b"]))
        #expect(gate.seal([]) == nil)
        #expect(seal.isLive)
        let other = try #require(
            (0...).lazy.map { "other \($0)" }
                .first {
                    gate.slots([TagName($0).fingerprint()])
                        .allSatisfy { !gate.slots(["a", "b"].map { TagName($0).fingerprint() }).contains($0) }
                }
        )
        gate.void(tags: [other])
        #expect(seal.isLive)
        gate.void(tags: [])
        #expect(gate.tagChanges == 1)
        gate.void(tags: ["b"])
        #expect(!seal.isLive)
        #expect(gate.tagChanges == 2)
        #expect(gate.seal(["a", "b"])?.isLive == true)
    }

    @Test("voiding everything, and a key that shares the counter, void seals as well")
    func collisions() throws {
        let gate = FillGate()
        let seal = try #require(gate.seal(["a"]))
        gate.void(TagName("a").fingerprint())
        #expect(!seal.isLive)
        let next = try #require(gate.seal(["a"]))
        gate.voidAll()
        #expect(!next.isLive)
    }

    @Test("a seal of several lives as long as all of them, whatever their gates")
    func joined() throws {
        let (one, other) = (FillGate(), FillGate())
        let seals = [one.seal(["a"]), nil, other.seal(["a"])]
        let joined = try #require(TagSeal.joining(seals))
        #expect(TagSeal.joining([]) == nil)
        #expect(TagSeal.joining([nil, seals[0]]) === seals[0])
        #expect(joined.isLive)
        one.void(tags: ["a"])
        #expect(!joined.isLive)
        #expect(seals[2]?.isLive == true)
    }

    @Test("the number of a gate is what its level has set last")
    func sequence() {
        let gate = FillGate()
        #expect(gate.sequence(for: 0) == 0)
        gate.setSequence(7)
        #expect(gate.sequence(for: 0) == 7)
        gate.setSequence(5)
        #expect(gate.sequence(for: 0) == 5)
    }
}
