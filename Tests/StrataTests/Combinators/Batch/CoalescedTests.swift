import StrataTesting
import Testing

@testable import Strata

@Suite("Single reads that go down together", .timeLimit(.minutes(5)))
struct CoalescedTests {
    private let below = BatchProbe(["a": 1, "b": 2, "c": 3])

    @Test("reads of one moment are one read of several keys, each key once; a later one is another")
    func together() async throws {
        let clock = ManualClock()
        // Windows end by themselves, too: this one does not while reads are still coming.
        let cache = clock.driving { below.collecting(within: .seconds(600)) }
        func get(_ keys: [String]) async throws -> [Int?] {
            let reads = keys.map { key in Task { () async throws -> Int? in try await cache.get(key) } }
            while cache.waiting < keys.count { try await nextTurn() }
            // A waiting read may not have begun to wait for the window's end.
            while clock.sleeping == 0 { try await nextTurn() }
            try clock.advance(by: .seconds(600))
            var values: [Int?] = []
            for read in reads { values.append(try await read.value) }
            return values
        }
        #expect(try await get(["a", "b", "a", "x"]) == [1, 2, 1, nil])
        #expect(below.batches.count == 1)
        #expect(below.batches.first.map(Set.init) == ["a", "b", "x"])
        #expect(try await get(["c"]) == [3])
        #expect(below.batches.count == 2)
    }

    @Test("a read above which an old value is waits for its source as long as it would alone")
    func withOld() async throws {
        let memory = MemoryLevel<String, String>(limit: .entries(4))
        try await memory.store(.aged("old", fresh: -1, stale: 60), for: "k")
        let gate = AsyncGate()
        let policy = FreshnessPolicy(softTimeout: .milliseconds(5))
        let source = Source<String, String>(freshness: policy) { _, context in
            #expect(context.old == "old")
            try await gate.pass()
            return .value("new")
        }
        let cache = memory.compose(source.collecting())
        #expect(try await cache.get("k") == "old")
        gate.open()
        // What comes late is kept.
        while try await cache.get("k", .cached) != "new" { try await nextTurn() }
    }

    @Test("what a fetch brings that the common read has left is kept")
    func left() async throws {
        let (memory, source, gate) = (MemoryLevel<String, String>(limit: .entries(16)), ToldSource(), AsyncGate())
        source.hold(gate)
        let level = source.level(FreshnessPolicy(hardTimeout: .milliseconds(1)))
        let cache = memory.compose(level.collecting(within: .zero))
        await #expect(throws: CacheError.self) { try await cache.get("k") }
        gate.open()
        await cache.drain(within: .seconds(30))
        #expect(memory.resident("k", at: .now)?.value == "value")
        #expect(source.calls == 1)
    }

    @Test("a window that is full takes no more keys; the next one opens another")
    func full() async throws {
        let cache = below.collecting(within: .milliseconds(20), upTo: 2)
        let reads = ["a", "b", "c"].map { key in Task { () async throws -> Int? in try await cache.get(key) } }
        for read in reads { #expect(try await read.value != nil) }
        #expect(below.batches.count >= 2 && below.batches.allSatisfy { $0.count <= 2 })
        #expect(below.batches.flatMap { $0 }.sorted() == ["a", "b", "c"])
    }

    @Test("a full window does not wait")
    func fullAtOnce() async throws {
        let cache = below.collecting(within: .seconds(3_600), upTo: 2)
        let reads = ["a", "b", "c", "x"].map { key in Task { () async throws -> Int? in try await cache.get(key) } }
        var values: [Int?] = []
        for read in reads { values.append(try await read.value) }
        #expect(values == [1, 2, 3, nil] && below.batches.map(\.count) == [2, 2])
    }

    @Test("a window whose callers have all left is closed")
    func abandoned() async throws {
        let cache = below.collecting(within: .seconds(3_600), upTo: 2)
        let first = Task { try await cache.get("a") }
        while cache.collected == 0 { try await nextTurn() }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        while cache.collected > 0 { try await nextTurn() }
        async let second = cache.get("b")
        #expect(try await cache.get("c") == 3)
        #expect(try await second == 2)
        #expect(below.batches.map { Set($0) } == [["b", "c"]])
    }

    @Test("a caller that was cancelled before it asks leaves no window open")
    func cancelledBefore() async throws {
        let cache = below.collecting(within: .seconds(3_600), upTo: 3)
        let first = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await cache.get("a")
        }
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(cache.collected == 0)
    }

    @Test("when the common read fails each key is asked for by itself")
    func failing() async throws {
        let cache = ClosureFetcher<String, Int> { key in
            if key == "bad" { throw ProbeLevel.Failure(name: key) }
            return 7
        }
        .collecting(within: .milliseconds(20))
        let good = Task { try await cache.get("good") }
        let bad = Task { try await cache.get("bad") }
        #expect(try await good.value == 7)
        await #expect(throws: ProbeLevel.Failure(name: "bad")) { try await bad.value }
    }

    @Test("a caller who is cancelled leaves alone")
    func cancelled() async throws {
        let cache = below.collecting(within: .seconds(3_600), upTo: 3)
        let first = Task { try await cache.get("a") }
        let second = Task { try await cache.get("b") }
        while cache.waiting < 2 { try await nextTurn() }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        // The third key fills the window.
        #expect(try await cache.get("c") == 3)
        #expect(try await second.value == 2)
    }

    @Test("a read with options goes down alone, and at once")
    func alone() async throws {
        let cache = below.collecting(within: .seconds(3600))
        #expect(try await cache.get("a", .fresh) == 1)
        #expect(below.batches.isEmpty)
    }
}
