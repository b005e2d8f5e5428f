import StrataTesting
import Testing

@testable import Strata

@Suite("Reads while a level that is not memory is filled", .timeLimit(.minutes(1)))
struct SlowFillTests {
    private let above = ProbeLevel()
    private let below = GatedLevel(["k": 1])

    @Test("the value from before is not taken for the one that is being stored")
    func overlapping() async throws {
        let cache = above.compose(below, fillWaitLimit: .zero)
        #expect(try await cache.get("k") == 1)
        await cache.drain(within: .seconds(30))
        #expect(above.values == ["k": 1])
        below.changeElsewhere(2, for: "k")
        let gate = AsyncGate()
        above.holdSets(gate)
        #expect(try await cache.get("k") == 2)
        await gate.arrivals()
        #expect(try await cache.get("k") == 2)
        #expect(try await cache.get(["k"]) == [2])
        gate.open()
        await cache.drain(within: .seconds(30))
        #expect(above.values == ["k": 2])
        #expect(try await cache.get("k") == 2)
    }

    @Test("a fill that fails does not make the value from before good again")
    func failing() async throws {
        let cache = above.compose(below)
        #expect(try await cache.get("k") == 1)
        await cache.drain(within: .seconds(30))
        below.changeElsewhere(2, for: "k")
        above.failSets("full")
        #expect(try await cache.get("k") == 2)
        #expect(try await cache.get("k") == 2)
        #expect(above.values == ["k": 1])
    }

    @Test("a read that began before a fill does not take what it finds for that")
    func reading() async throws {
        let cache = above.compose(below)
        #expect(try await cache.get("k") == 1)
        await cache.drain(within: .seconds(30))
        let gate = AsyncGate()
        above.holdGets(gate)
        // It has the old value in hand, and is held.
        let late = Task { try await cache.get("k") }
        await gate.arrivals()
        above.holdGets(nil)
        below.changeElsewhere(2, for: "k")
        #expect(try await cache.get("k") == 2)
        gate.open()
        #expect(try await late.value == 2)
    }
}
