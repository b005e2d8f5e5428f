import StrataTesting
import Testing

@testable import Strata

@Suite("Reads in the place of what is cached")
struct ReloadTests {
    struct Failure: Error {}

    private let memory = MemoryLevel<String, String>(limit: .entries(10))
    private let policy = FreshnessPolicy(freshFor: .seconds(60), staleIfError: .seconds(600), jitter: 0)

    @Test("A210 others get the old value until the loader answers")
    func meanwhile() async throws {
        let gate = AsyncGate()
        let source = Source<String, String>(freshness: policy) { _ in
            try await gate.pass()
            return "new"
        }
        let cache = memory.compose(source)
        try await cache.set("old", for: "k")
        async let reload = cache.get("k", .reload)
        async let replaced = cache.reloadOrRemove("k")
        await gate.arrivals(1)
        #expect(try await cache.get("k") == "old")
        #expect(try await cache.get(["k"]) == ["old"])
        gate.open()
        #expect(try await reload == "new")
        #expect(try await replaced == "new")
        #expect(try await cache.get("k") == "new")
    }

    @Test(
        "A211 when the loader fails the record is gone afterwards, also from the level below; nothing stale is served"
    )
    func failure() async throws {
        let below = MemoryLevel<String, String>(limit: .entries(10))
        let fails = Locked(true)
        let cache = memory.compose(below)
            .compose(
                Source(freshness: policy, failureBackOff: nil) { _ in
                    if fails.withLock({ $0 }) { throw Failure() }
                    return "new"
                }
            )
        let lifetime = EntryLifetime(freshFor: .seconds(60), staleFor: .seconds(600))
        try await cache.set("old", for: "k", lifetime: lifetime)
        // A plain reload leaves it, and serves it.
        #expect(try await cache.get("k", .reload) == "old")
        await #expect(throws: Failure.self) { try await cache.reloadOrRemove("k") }
        #expect(try await cache.get("k", .cached) == nil)
        #expect(try await memory.get("k") == nil)
        #expect(try await below.get("k") == nil)
        await #expect(throws: Failure.self) { try await cache.get("k") }
        fails.withLock { $0 = false }
        #expect(try await cache.reloadOrRemove("k") == "new")
        #expect(try await cache.get("k", .cached) == "new")
    }

    @Test("a loader that throws CancellationError without a cancellation has failed")
    func ownCancellation() async throws {
        let cache = memory.compose(Source(freshness: policy) { (_: String) -> String? in throw CancellationError() })
        try await cache.set("old", for: "k")
        await #expect(throws: CancellationError.self) { try await cache.reloadOrRemove("k") }
        #expect(try await memory.get("k") == nil)
    }

    @Test("a reload that is cancelled removes nothing")
    func cancelled() async throws {
        let gate = AsyncGate()
        let cache = memory.compose(
            Source<String, String>(freshness: policy) { _ in
                try await gate.pass()
                return "new"
            }
        )
        try await cache.set("old", for: "k")
        let task = Task { try await cache.reloadOrRemove("k") }
        await gate.arrivals(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await cache.get("k") == "old")
        gate.open()
    }
}
