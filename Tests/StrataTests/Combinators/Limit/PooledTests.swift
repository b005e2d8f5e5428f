import Strata
import StrataTesting
import Testing

@Suite("Pooled reads")
struct PooledTests {
    private let probe = ProbeLevel(["k": 1, "j": 2])
    private let gate = AsyncGate()

    /// Returns when so many callers wait for the pool.
    private func arrivals(_ count: Int, at cache: Pooled<some CacheLevel>) async throws {
        while cache.waiting < count { try await nextTurn() }
    }

    @Test("A049 A051 callers of a key that is on its way join, and all get its value")
    func join() async throws {
        probe.holdGets(gate)
        let cache = probe.pooled()
        let first = Task { try await cache.get("k") }
        await gate.arrivals()
        let others = (0..<20).map { _ in Task { try await cache.get("k") } }
        try await arrivals(21, at: cache)
        gate.open()
        for task in [first] + others { #expect(try await task.value == 1) }
        // A caller that came too late to join may have asked again; those who were there have not.
        #expect(probe.gets <= 2)
    }

    @Test("A050 another key is asked for by itself")
    func otherKey() async throws {
        probe.holdGets(gate)
        let cache = probe.pooled()
        let first = Task { try await cache.get("k") }
        let second = Task { try await cache.get("j") }
        await gate.arrivals(2)
        gate.open()
        #expect(try await first.value == 1)
        #expect(try await second.value == 2)
    }

    @Test("A051 a failure is everybody's")
    func failure() async throws {
        probe.holdGets(gate)
        probe.failGets("A")
        let cache = probe.pooled()
        let first = Task { try await cache.get("k") }
        await gate.arrivals()
        let second = Task { try await cache.get("k") }
        try await arrivals(2, at: cache)
        gate.open()
        await #expect(throws: ProbeLevel.Failure(name: "A")) { try await first.value }
        await #expect(throws: ProbeLevel.Failure(name: "A")) { try await second.value }
    }

    @Test("A052 after a flight has landed the level is asked anew")
    func notACache() async throws {
        let cache = probe.pooled()
        _ = try await cache.get("k")
        _ = try await cache.get("k")
        probe.failGets("A")
        await #expect(throws: ProbeLevel.Failure.self) { try await cache.get("k") }
        probe.failGets(nil)
        #expect(try await cache.get("k") == 1)
        #expect(probe.gets == 4)
    }

    @Test("A053 sets, clears and pressure are not pooled")
    func writes() async throws {
        let cache = probe.pooled()
        for _ in 0..<3 {
            try await cache.set(5, for: "k")
            try await cache.clear()
            cache.relieve(.moderate)
        }
        #expect(probe.calls.count == 9)
        probe.failSets("A")
        await #expect(throws: ProbeLevel.Failure(name: "A")) { try await cache.set(1, for: "k") }
    }

    @Test("A054 A055 a thousand tasks at one instant cause one read")
    func thousand() async throws {
        probe.holdGets(gate)
        let cache = probe.pooled()
        let tasks = (0..<1000).map { _ in Task { try await cache.getWithTrace("k") } }
        await gate.arrivals()
        try await arrivals(1000, at: cache)
        gate.open()
        var joined = 0
        for task in tasks {
            let (value, trace) = try await task.value
            #expect(value == 1)
            joined += trace.hasWaited ? 1 : 0
        }
        #expect(joined + probe.gets == 1000)
        #expect(probe.gets == 1)
    }

    @Test("A056 a caller's cancellation is its own")
    func oneCancels() async throws {
        probe.holdGets(gate)
        let cache = probe.pooled()
        let first = Task { try await cache.get("k") }
        await gate.arrivals()
        let second = Task { try await cache.get("k") }
        try await arrivals(2, at: cache)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        gate.open()
        #expect(try await second.value == 1)
        #expect(probe.gets == 1)
    }

    @Test("A057 the last caller who leaves cancels the work, and the flight is gone")
    func allCancel() async throws {
        let cancelled = AsyncGate()
        let level = ClosureLevel<String, Int>(
            get: { [gate] _ in
                do {
                    try await gate.pass()
                } catch {
                    cancelled.open()
                    throw error
                }
                return 1
            },
            set: { _, _ in }
        )
        let cache = level.pooled()
        let first = Task { try await cache.get("k") }
        await gate.arrivals()
        let second = Task { try await cache.get("k") }
        try await arrivals(2, at: cache)
        first.cancel()
        second.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        await #expect(throws: CancellationError.self) { try await second.value }
        try await cancelled.pass()
        gate.open()
        #expect(try await cache.get("k") == 1)
    }

    @Test("A058 a set or remove ends the flight for later callers, and its late result is kept nowhere")
    func voided() async throws {
        probe.holdGets(gate)
        let memory = MemoryLevel<String, Int>(limit: .entries(4))
        let cache = memory.compose(probe.pooled())
        let early = Task { try await cache.get("k") }
        await gate.arrivals()
        try await cache.remove("k")
        probe.put(7, for: "k")
        let late = Task { try await cache.get("k") }
        await gate.arrivals(2)
        gate.open()
        #expect(try await early.value == 1)
        #expect(try await late.value == 7)
        #expect(try await cache.get("k") == 7)
    }

    @Test("keys that are one key below: what was read before one of them was removed is not shared with the other")
    func mergedKeys() async throws {
        let gate = AsyncGate()
        let value = Locked("old")
        let fetcher = ClosureFetcher<String, String> { _ in
            let read = value.withLock { $0 }
            try await gate.pass()
            return read
        }
        let cache = MemoryLevel<String, String>(limit: .entries(10))
            .compose(fetcher.transformKeys { (key: String) in key.lowercased() }.pooled())
        let first = Task { try await cache.get("A") }
        await gate.arrivals()
        value.withLock { $0 = "new" }
        try await cache.remove("a")
        let second = Task { try await cache.get("A") }
        await gate.arrivals(2)
        gate.open()
        _ = try await (first.value, second.value)
        #expect(try await second.value == "new")
        #expect(try await cache.get("A") == "new")
    }

    @Test("one who has nothing to fall back on does not get the shorter time of one who has")
    func sparing() async throws {
        let gate = AsyncGate()
        let isFirst = Locked(true)
        let policy = FreshnessPolicy(
            freshFor: .milliseconds(1),
            staleIfError: .seconds(600),
            jitter: 0,
            softTimeout: .milliseconds(20),
            hardTimeout: .seconds(60)
        )
        let pooled = Source<String, String>(freshness: policy) { _ in
            if isFirst.withLock({ exchange(&$0, with: false) }) { return "old" }
            try await gate.pass()
            return "new"
        }
        .pooled()
        let having = MemoryLevel<String, String>(limit: .entries(10)).compose(pooled)
        let lacking = MemoryLevel<String, String>(limit: .entries(10)).compose(pooled)
        #expect(try await having.get("k") == "old")
        while having.resident("k", at: .coarse) != nil { await Task.yield() }
        let first = Task { try await having.get("k") }
        await gate.arrivals()
        let second = Task { try await lacking.get("k") }
        #expect(try await first.value == "old")
        gate.open()
        #expect(try await second.value == "new")
    }

    @Test("a caller that is cancelled before it asks does not ask")
    func cancelledBefore() async throws {
        let cache = probe.pooled()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await cache.get("k")
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
