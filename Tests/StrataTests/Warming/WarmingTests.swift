import StrataTesting
import Testing

@testable import Strata

@Suite("Warming by a list of keys", .timeLimit(.minutes(5)))
struct WarmingTests {
    private let source = BatchProbe(["a": 1, "b": 2, "c": 3, "d": 4, "e": 5])

    private func cache(_ limit: Int = 100) -> Composed<MemoryLevel<String, Int>, BatchProbe> {
        MemoryLevel(limit: .entries(limit)).compose(source)
    }

    @Test("keys are read in batches, each once, and are in memory then")
    func batches() async throws {
        let cache = cache()
        let keys = ["a", "b", "a", "c", "d", "missing", "e", "b"]
        let report = try await cache.warm(from: keys, WarmingOptions(batchSize: 2, concurrentBatches: 1))
        #expect(source.batches == [["a", "b"], ["c", "d"], ["missing", "e"]])
        #expect(report.fetched == 5 && report.absent == 1 && report.failed == 0 && report.isComplete)
        #expect(report.warmed == 5)
        let gets = source.inner.gets
        for key in ["a", "b", "c", "d", "e"] { #expect(try await cache.get(key) != nil) }
        #expect(source.inner.gets == gets)
    }

    @Test("what memory has is not read again, and what a level below has is no fetch")
    func held() async throws {
        let (below, memory) = (
            MemoryLevel<String, Int>(limit: .entries(9)), MemoryLevel<String, Int>(limit: .entries(9))
        )
        let cache = memory.compose(FarLevel(below)).compose(source)
        try await memory.set(7, for: "a")
        try await below.set(8, for: "b")
        let report = try await cache.warm(from: ["a", "b", "c"])
        #expect(report.held == 1 && report.found == 1 && report.fetched == 1)
        #expect(try await cache.get(["a", "b", "c"]) == [7, 8, 3])
    }

    @Test("a source that must not be asked is not")
    func cached() async throws {
        let asked = Tally()
        let cache = MemoryLevel<String, Int>(limit: .entries(9))
            .compose(
                ClosureFetcher<String, Int> { _ in
                    asked.add()
                    return 1
                }
            )
        try await cache.upper.set(7, for: "a")
        let report = try await cache.warm(from: ["a", "b"], WarmingOptions(reads: .cached))
        #expect(report.held == 1 && report.absent == 1 && asked.count == 0)
        let alone = try await ClosureFetcher<String, Int> { _ in 1 }.warm(from: ["a"], WarmingOptions(reads: .cached))
        #expect(alone.absent == 1 && alone.warmed == 0)
    }

    @Test("a key that fails is counted, and the others are read")
    func failures() async throws {
        let cache = MemoryLevel<String, Int>(limit: .entries(9))
            .compose(
                ClosureFetcher<String, Int> { key in
                    if key == "bad" { throw ProbeLevel.Failure(name: "bad") }
                    return key == "none" ? nil : 1
                }
            )
        let report = try await cache.warm(from: ["a", "bad", "b", "none"])
        #expect(report.fetched == 2 && report.failed == 1 && report.absent == 1)
        #expect(report.failure as? ProbeLevel.Failure == ProbeLevel.Failure(name: "bad"))
        // A level that fails as a whole names no keys.
        source.inner.failGets("down")
        let whole = try await self.cache().warm(from: ["a", "b", "c"])
        #expect(whole.failed == 3 && whole.absent == 0 && whole.failure is ProbeLevel.Failure)
    }

    @Test("when the time is over, what is left is counted, and what was read stays")
    func limit() async throws {
        let gate = AsyncGate()
        let cache = cache()
        _ = try await cache.warm(from: ["a"])
        source.inner.holdGets(gate)
        let options = WarmingOptions(batchSize: 1, concurrentBatches: 2, limit: .milliseconds(20))
        let report = try await cache.warm(from: ["a", "b", "c", "d"], options)
        #expect(report.held == 1 && report.left == 3 && !report.isComplete && report.failed == 0)
        let none = try await cache.warm(from: ["a", "b"], WarmingOptions(limit: .zero))
        #expect(none.held + none.left == 2)
    }

    @Test("a caller that is cancelled leaves")
    func cancelled() async throws {
        let gate = AsyncGate()
        source.inner.holdGets(gate)
        let cache = cache()
        let task = Task { try await cache.warm(from: ["a", "b"]) }
        await gate.arrivals()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("no more batches run at once than is allowed")
    func concurrency() async throws {
        let (gate, running) = (AsyncGate(), Running())
        let cache = MemoryLevel<Int, Int>(limit: .entries(99))
            .compose(
                ClosureFetcher<Int, Int> { key in
                    running.add(1)
                    try await gate.pass()
                    running.add(-1)
                    return key
                }
            )
        async let report = cache.warm(from: 0..<20, WarmingOptions(batchSize: 1, concurrentBatches: 3))
        await gate.arrivals(3)
        gate.open()
        #expect(try await report.fetched == 20)
        #expect(running.most == 3)
    }
}

/// How many run, and did at the most.
private final class Running: Sendable {
    private let state = Locked((now: 0, most: 0))

    var most: Int { state.withLock { $0.most } }

    func add(_ step: Int) { state.withLock { $0 = ($0.now + step, max($0.most, $0.now + step)) } }
}

/// A level that another machine has: entries from it are not of this process's memory.
private struct FarLevel<Base: CacheLevel>: ForwardingLevel {
    typealias Key = Base.Key
    typealias Value = Base.Value

    let base: Base

    init(_ base: Base) { self.base = base }

    func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        var entry = try await base.entry(for: key, request)
        entry?.origin = "far"
        return entry
    }
}
