import Strata
import StrataTesting
import Testing

@Suite("Reading through two levels")
struct ComposedReadTests {
    private let upper = ProbeLevel()
    private let lower = ProbeLevel()

    @Test("A015 a hit above asks nobody below and writes nothing")
    func hitAbove() async throws {
        upper.put(1, for: "k")
        #expect(try await upper.compose(lower).get("k") == 1)
        #expect(upper.calls == [.get("k")])
        #expect(lower.calls == [])
    }

    @Test("A016 A017 A018 A019 a miss above asks below once, returns its value and fills above only")
    func missAbove() async throws {
        lower.put(2, for: "k")
        #expect(try await upper.compose(lower).get("k") == 2)
        #expect(upper.calls == [.get("k"), .set("k", 2)])
        #expect(lower.calls == [.get("k")])
    }

    @Test("A020 when both miss there is no value, after one get each")
    func bothMiss() async throws {
        #expect(try await upper.compose(lower).get("k") == nil)
        #expect(upper.calls == [.get("k")])
        #expect(lower.calls == [.get("k")])
    }

    @Test("A021 when both fail the last level's error is the last of those that are thrown")
    func bothFail() async throws {
        upper.failGets("A")
        lower.failGets("B")
        let error = await #expect(throws: CacheError.self) { try await upper.compose(lower).get("k") }
        #expect(error?.code == .levelsFailed)
        #expect(error?.causes as? [ProbeLevel.Failure] == [.init(name: "A"), .init(name: "B")])
        upper.failGets(nil)
        await #expect(throws: ProbeLevel.Failure(name: "B")) { try await upper.compose(lower).get("k") }
    }

    @Test("A022 any failure above still asks below")
    func upperFails() async throws {
        upper.failGets("A")
        lower.put(2, for: "k")
        #expect(try await upper.compose(lower).get("k") == 2)
    }

    @Test("A023 what only the bottom has is afterwards in every level")
    func threeLevels() async throws {
        let bottom = ProbeLevel(["k": 3])
        let cache = upper.compose(lower).compose(bottom)
        #expect(try await cache.get("k") == 3)
        #expect(upper.values == ["k": 3])
        #expect(lower.values == ["k": 3])
        #expect(try await cache.get("k") == 3)
        #expect(bottom.gets == 1)
    }

    @Test("A024 composition is associative", arguments: [0, 1, 2, 3])
    func associative(present: Int) async throws {
        /// Runs the same operations on a composition; returns everything that can be seen of it.
        func run<Cache: CacheLevel<String, Int>>(
            _ levels: [ProbeLevel],
            _ cache: Cache
        ) async throws -> [String] {
            if present < 3 { levels[present].put(9, for: "k") }
            var seen: [String] = []
            seen.append("\(String(describing: try await cache.get("k")))")
            seen.append("\(levels.map(\.values))")
            try await cache.set(4, for: "k")
            seen.append("\(levels.map(\.values))")
            try await cache.remove("k")
            seen.append("\(String(describing: try await cache.get("k"))) \(levels.map(\.values))")
            levels[2].put(5, for: "k")
            seen.append("\(String(describing: try await cache.get("k"))) \(levels.map(\.values))")
            seen.append("\(levels.map(\.gets))")
            return seen
        }
        func three() -> [ProbeLevel] { [ProbeLevel(), ProbeLevel(), ProbeLevel()] }
        let right = three()
        let left = three()
        let chained = three()
        let expected = try await run(right, right[0].compose(right[1].compose(right[2])))
        // Erased, so that the left pair really stays a level of its own.
        #expect(try await run(left, left[0].compose(left[1]).normalized().compose(left[2])) == expected)
        #expect(try await run(chained, chained[0].compose(chained[1]).compose(chained[2])) == expected)
    }

    @Test("A025 cancelled while the upper level is pending: the lower is not asked, nothing is written")
    func cancelledAbove() async throws {
        let gate = AsyncGate()
        upper.holdGets(gate)
        lower.put(1, for: "k")
        let cache = upper.compose(lower)
        let task = Task { try await cache.get("k") }
        await gate.arrivals()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(lower.calls == [])
        #expect(upper.calls == [.get("k")])
    }

    @Test("A026 cancelled while the lower level is pending: the upper is not written")
    func cancelledBelow() async throws {
        let gate = AsyncGate()
        lower.put(1, for: "k")
        lower.holdGets(gate)
        let cache = upper.compose(lower)
        let task = Task { try await cache.get("k") }
        await gate.arrivals()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(upper.calls == [.get("k")])
    }

    @Test("A027 a failed fill is counted and the value returned")
    func failedFill() async throws {
        upper.failSets("A")
        lower.put(1, for: "k")
        let cache = upper.compose(lower)
        #expect(try await cache.get("k") == 1)
        #expect(cache.failedFills == 1)
    }

    @Test("A028 a get waits for the fill")
    func fillIsAwaited() async throws {
        let gate = AsyncGate()
        upper.holdSets(gate)
        lower.put(1, for: "k")
        let cache = upper.compose(lower)
        let task = Task { try await cache.get("k") }
        await gate.arrivals()
        #expect(upper.values == [:])
        gate.open()
        #expect(try await task.value == 1)
        #expect(upper.values == ["k": 1])
    }

    @Test("several keys ask below only for those that are missing, in one call, in the order of the keys")
    func batch() async throws {
        upper.put(1, for: "a")
        lower.put(2, for: "b")
        let cache = upper.compose(lower)
        #expect(try await cache.get(["b", "a", "c", "b"]) == [2, 1, nil, 2])
        #expect(upper.values == ["a": 1, "b": 2])
        #expect(try await cache.get([] as [String]) == [])
    }

    @Test("a stale entry above is served when the level below fails, and only then")
    func staleOnError() async throws {
        let memory = MemoryLevel<String, Int>(limit: .entries(4))
        let now = MonotonicInstant.now
        let stale = Entry(
            .value(1),
            freshUntil: now.advanced(by: .seconds(-1)),
            staleUntil: now.advanced(by: .seconds(60))
        )
        try await memory.store(stale, for: "k")
        let cache = memory.compose(lower)
        lower.failGets("B")
        let (value, receipt) = try await cache.getWithReceipt("k")
        #expect(value == 1)
        #expect(receipt.state == .stale)
        lower.failGets(nil)
        lower.put(2, for: "k")
        #expect(try await cache.get("k") == 2)
    }
}
