import Strata
import StrataTesting
import Testing

@Suite("A limit of fetches that changes", .timeLimit(.minutes(5)))
struct FetchLimiterLimitTests {
    @Test("a larger limit lets those begin that wait, and no more than it says")
    func larger() async throws {
        let limiter = FetchLimiter(limit: 1)
        let gate = AsyncGate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<5 { group.addTask { try await limiter.run { try await gate.pass() } } }
            await gate.arrivals()
            while limiter.waiting < 4 { try await nextTurn() }
            #expect(limiter.running == 1)
            limiter.limit = 3
            #expect(limiter.running == 3 && limiter.waiting == 2)
            gate.open()
            try await group.waitForAll()
        }
        #expect(limiter.running == 0 && limiter.limit == 3)
    }

    @Test("a smaller limit lets those end that run, and none begin until there are fewer")
    func smaller() async throws {
        let limiter = FetchLimiter(limit: 3)
        let first = AsyncGate()
        let second = AsyncGate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 { group.addTask { try await limiter.run { try await first.pass() } } }
            await first.arrivals(3)
            limiter.limit = 0
            #expect(limiter.limit == 1)
            for _ in 0..<2 { group.addTask { try await limiter.run { try await second.pass() } } }
            while limiter.waiting < 2 { try await nextTurn() }
            #expect(limiter.running == 3)
            first.open()
            await second.arrivals()
            while limiter.running > 1 { try await nextTurn() }
            #expect(limiter.running == 1 && limiter.waiting == 1)
            second.open()
            try await group.waitForAll()
        }
        #expect(limiter.running == 0 && limiter.waiting == 0)
    }

    @Test("a source takes a new policy and a new limit for what it fetches from then on")
    func source() async throws {
        let source = Source<Int, Int>(freshness: FreshnessPolicy(freshFor: .seconds(100), jitter: 0), limit: 2) { $0 }
        let cache = MemoryLevel<Int, Int>(limit: .entries(10)).compose(source)
        let before = try #require(try await cache.entry(for: 1, ReadRequest()))
        source.freshness = FreshnessPolicy(freshFor: .seconds(1_000), jitter: 0)
        source.limit = 5
        let after = try #require(try await cache.entry(for: 2, ReadRequest()))
        #expect(before.storedAt.duration(to: before.freshUntil) == .seconds(100))
        #expect(after.storedAt.duration(to: after.freshUntil) == .seconds(1_000))
        #expect(source.limit == 5 && cache.policy?.freshFor == .seconds(1_000))
        // What is kept keeps its lifetime.
        let kept = try #require(try await cache.entry(for: 1, ReadRequest()))
        #expect(abs(kept.freshUntil.duration(to: before.freshUntil) / .seconds(1)) < 1)
    }
}
