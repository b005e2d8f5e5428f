import Strata
import StrataTesting
import Testing

@Suite("Writing through two levels")
struct ComposedWriteTests {
    private let upper = ProbeLevel()
    private let lower = ProbeLevel()

    @Test("A029 A030 A034 a set reaches both levels once, and then succeeds once")
    func set() async throws {
        try await upper.compose(lower).set(1, for: "k")
        #expect(upper.calls == [.set("k", 1)])
        #expect(lower.calls == [.set("k", 1)])
    }

    @Test("A031 A032 the error of the level that failed; the other was written all the same")
    func setFails() async throws {
        upper.failSets("A")
        await #expect(throws: ProbeLevel.Failure(name: "A")) { try await upper.compose(lower).set(1, for: "k") }
        #expect(lower.values == ["k": 1])

        upper.failSets(nil)
        lower.failSets("B")
        await #expect(throws: ProbeLevel.Failure(name: "B")) { try await upper.compose(lower).set(2, for: "k") }
        #expect(upper.values == ["k": 2])

        upper.failSets("A")
        let error = await #expect(throws: CacheError.self) { try await upper.compose(lower).set(3, for: "k") }
        #expect(error?.causes as? [ProbeLevel.Failure] == [.init(name: "A"), .init(name: "B")])
    }

    @Test("A033 a cancelled set ends as cancelled")
    func setCancelled() async throws {
        let gate = AsyncGate()
        lower.holdSets(gate)
        let cache = upper.compose(lower)
        let task = Task { try await cache.set(1, for: "k") }
        await gate.arrivals()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("A035 clear and memory pressure reach both levels once")
    func clear() async throws {
        let cache = upper.compose(lower)
        try await cache.clear()
        cache.relieve(.critical)
        #expect(upper.calls == [.removeAll, .relieve(.critical)])
        #expect(lower.calls == [.removeAll, .relieve(.critical)])
    }

    @Test("A036 a remove asks both levels and needs both")
    func remove() async throws {
        upper.put(1, for: "k")
        lower.put(1, for: "k")
        try await upper.compose(lower).remove("k")
        #expect(upper.values == [:] && lower.values == [:])
        upper.failRemoves("A")
        await #expect(throws: ProbeLevel.Failure(name: "A")) { try await upper.compose(lower).remove("k") }
        #expect(lower.calls.last == .remove("k"))
        upper.failRemoves(nil)
        lower.failRemoves("B")
        await #expect(throws: ProbeLevel.Failure(name: "B")) { try await upper.compose(lower).remove("k") }
    }

    @Test("A037 removing a key that only one level has succeeds")
    func removeOnlyAbove() async throws {
        let memory = MemoryLevel<String, Int>(limit: .entries(4))
        try await memory.set(1, for: "k")
        let cache = memory.compose(MemoryLevel<String, Int>(limit: .entries(4)))
        try await cache.remove("k")
        #expect(try await cache.get("k") == nil)
    }

    @Test("A038 over a fetcher, set and remove work on the writable level and succeed")
    func overFetcher() async throws {
        let cache = upper.compose(ClosureFetcher<String, Int> { _ in 9 })
        try await cache.set(1, for: "k")
        #expect(upper.values == ["k": 1])
        try await cache.remove("k")
        #expect(upper.values == [:])
        #expect(try await cache.get("k") == 9)
    }

    @Test("A039 a composition that holds the only references to its parts works")
    func nobodyHolds() async throws {
        func make() -> some CacheLevel<String, Int> {
            MemoryLevel<String, Int>(limit: .entries(4)).compose(ProbeLevel(["k": 1])).pooled()
        }
        let cache = make()
        #expect(try await cache.get("k") == 1)
        try await cache.set(2, for: "k")
        #expect(try await cache.get("k") == 2)
    }

    @Test("A040 a value that was set is there, an unknown key is not")
    func setThenGet() async throws {
        let cache = MemoryLevel<String, Int>(limit: .entries(4)).compose(MemoryLevel(limit: .entries(8)))
        try await cache.set(1, for: "k")
        #expect(try await cache.get("k") == 1)
        #expect(try await cache.get("unknown") == nil)
    }

    @Test("a composition prints what it is made of")
    func label() {
        let cache = MemoryLevel<String, Int>(limit: .entries(4)).compose(ClosureFetcher { _ in 1 })
        #expect(
            cache.label.description == """
                composed (failed_reads 0, failed_fills 0, late_fills 0, refreshes_under_way 0)
                  memory, at most 4 entries (hits 0, misses 0, entries 0, evictions 0)
                  fetcher
                """
        )
    }
}
