import StrataTesting
import Testing

@testable import Strata

@Suite("Reads while a level that is not memory is filled", .timeLimit(.minutes(5)))
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

    @Test(
        "callers that have joined one read store what it has found once, and try once where that fails",
        arguments: [false, true]
    )
    func herd(isFailing: Bool) async throws {
        if isFailing { above.failSets("full") }
        let fetch = AsyncGate()
        let calls = Locked(0)
        let source = Source<String, Int> { _ in
            calls.withLock { $0 += 1 }
            try await fetch.pass()
            return 1
        }
        let cache = above.compose(source)
        let callers = (0..<200).map { _ in Task { try await cache.get("k") } }
        while source.waiting < 200 { try await nextTurn() }
        fetch.open()
        for caller in callers { #expect(try await caller.value == 1) }
        // The caller that led the read knows nothing of those that have joined it.
        #expect(above.calls.count { $0 == .set("k", 1) } <= 2)
        #expect(calls.withLock { $0 } == 1 && cache.failedFills <= 2)
        #expect(above.values == (isFailing ? [:] : ["k": 1]))
    }

    @Test("what is stored while everything is cleared does not outlive that in a level that outlives its process")
    func cleared() async throws {
        let cache = above.compose(below, fillWaitLimit: .zero)
        let gate = AsyncGate()
        above.holdSets(gate)
        #expect(try await cache.get("k") == 1)
        await gate.arrivals()
        try await cache.clear()
        gate.open()
        await cache.drain(within: .seconds(30))
        #expect(above.values == [:])
    }

    @Test("a drain waits also for what it has been waiting for begins")
    func drained() async throws {
        let (fetch, store) = (AsyncGate(), AsyncGate())
        let source = Source<String, Int> { _ in
            try await fetch.pass()
            return 1
        }
        let cache = above.compose(source, fillWaitLimit: .zero)
        above.holdSets(store)
        await #expect(throws: CacheError.self) { try await cache.get("k", ReadOptions(hardTimeout: .milliseconds(1))) }
        async let drained: Void = cache.drain(within: .seconds(60))
        fetch.open()
        await store.arrivals()
        for _ in 0..<100 { try await nextTurn() }
        store.open()
        await drained
        #expect(above.values == ["k": 1])
    }

    @Test("a batch fills the level with its keys side by side, and waits for them together", arguments: [3, 200])
    func batch(count: Int) async throws {
        let values = Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", $0) })
        let cache = above.compose(GatedLevel(values), fillWaitLimit: .seconds(600))
        let gate = AsyncGate()
        above.holdSets(gate)
        let keys = values.keys.sorted()
        let batch = Task { try await cache.get(keys) }
        await gate.arrivals(min(count, 64))
        gate.open()
        #expect(try await batch.value == keys.map { values[$0] })
        #expect(above.values == values)
    }

    @Test("a level that is not memory keeps more keys than a process remembers the fills of", arguments: [false, true])
    func many(isFed: Bool) async throws {
        let keys = (0..<500).map(String.init)
        let values = Dictionary(uniqueKeysWithValues: keys.map { ($0, 1) })
        let gate = FillGate(untrustedLifetime: isFed ? .zero : nil)
        gate.setTrustedUntil(.distantFuture)
        let below = GatedLevel(values, gate: gate)
        let cache = Composed(
            upper: above,
            lower: below,
            fillWaitLimit: .seconds(600),
            logger: nil,
            rememberedFills: 100
        )
        #expect(try await cache.get(keys).count == keys.count)
        await cache.drain(within: .seconds(30))
        #expect(above.values.count == keys.count)
        guard isFed else { return }
        // What a process does not remember is not served without a question.
        for key in keys { below.changeElsewhere(2, for: key) }
        let found = try await cache.get(keys)
        #expect(found.allSatisfy { $0 == 2 })
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
