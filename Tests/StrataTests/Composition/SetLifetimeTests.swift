import Strata
import StrataTesting
import Testing

@Suite("How long memory keeps what was set")
struct SetLifetimeTests {
    private static let policy = FreshnessPolicy(freshFor: .seconds(10), staleIfError: .seconds(50), jitter: 0)

    private let memory = MemoryLevel<String, Int>(limit: .entries(10))

    private func source(_ policy: FreshnessPolicy = Self.policy) -> Source<String, Int> {
        Source(freshness: policy) { _ in nil }
    }

    /// How long the entry is fresh, and is kept after that, in whole seconds from when it was made.
    private func seconds(_ key: String) async throws -> [Int64] {
        let entry = try #require(try await memory.entry(for: key, ReadRequest()))
        // Memory keeps short spans, which are not exact.
        return [entry.storedAt.duration(to: entry.freshUntil), entry.freshUntil.duration(to: entry.staleUntil)]
            .map { Int64(($0 / .seconds(1)).rounded()) }
    }

    @Test("a set without a lifetime: as long as the policy of the level below says")
    func byPolicy() async throws {
        let cache = memory.compose(source())
        try await cache.set(1, for: "plain")
        try await cache.set(1, for: "tagged", lifetime: .byPolicy, tags: ["t"])
        #expect(try await seconds("plain") == [10, 50])
        #expect(try await seconds("tagged") == [10, 50])
    }

    @Test("a set with half a lifetime: the policy says the other half")
    func half() async throws {
        let cache = memory.compose(source())
        try await cache.set(1, for: "fresh", lifetime: EntryLifetime(freshFor: .seconds(30)))
        try await cache.set(1, for: "stale", lifetime: EntryLifetime(staleFor: .seconds(40)))
        try await cache.set(1, for: "both", lifetime: EntryLifetime(freshFor: .seconds(30), staleFor: .seconds(40)))
        #expect(try await seconds("fresh") == [30, 50])
        #expect(try await seconds("stale") == [10, 40])
        #expect(try await seconds("both") == [30, 40])
    }

    @Test(
        "what was fetched without a lifetime: memory keeps it for as long as the level that dates it",
        arguments: [false, true]
    )
    func fetched(isBatch: Bool) async throws {
        let dating = PolicyLevel(Self.policy)
        let fetcher = ClosureFetcher<String, Int> { $0.count }
        let caches: [AnyLevel<String, Int>] = [
            AnyLevel(memory.compose(dating.compose(fetcher))), AnyLevel(memory.compose(dating).compose(fetcher)),
        ]
        for cache in caches {
            try await memory.removeAll()
            try await dating.removeAll()
            if isBatch {
                #expect(try await cache.get(["k", "kk"]) == [1, 2])
            } else {
                #expect(try await cache.get("k") == 1)
            }
            #expect(try await seconds("k") == [10, 50])
        }
    }

    @Test("an update of a key that no level had: as a set")
    func update() async throws {
        let cache = memory.compose(source())
        _ = try await cache.update("k") { ($0 ?? 0) + 1 }
        #expect(try await seconds("k") == [10, 50])
        _ = try await cache.update("half", lifetime: EntryLifetime(freshFor: .seconds(30))) { ($0 ?? 0) + 1 }
        #expect(try await seconds("half") == [30, 50])
    }

    @Test("the policy is found through whatever stands around the level below")
    func wrapped() async throws {
        let long = source(FreshnessPolicy(freshFor: .seconds(90), jitter: 0))
        let levels: [AnyLevel<String, Int>] = [
            AnyLevel(memory.compose(AnyLevel(source()))),
            AnyLevel(memory.compose(source().transformKeys { $0 })),
            AnyLevel(memory.compose(MemoryLevel<String, Int>(limit: .entries(10)).compose(source()))),
            // The key decides which of the two it is: the shorter time holds for all.
            AnyLevel(memory.compose(switchLevels(long, source()) { _ in .first })),
        ]
        for level in levels {
            #expect(level.policy == Self.policy)
            try await level.set(1, for: "k")
            #expect(try await seconds("k") == [10, 50])
        }
    }

    @Test("without a policy below, what was set has no end")
    func unlimited() async throws {
        let cache = memory.compose(MemoryLevel<String, Int>(limit: .entries(10)))
        try await cache.set(1, for: "k")
        let entry = try #require(try await memory.entry(for: "k", ReadRequest()))
        #expect(entry.freshUntil == .distantFuture && cache.policy == nil)
        try await cache.set(1, for: "l", lifetime: EntryLifetime(freshFor: .seconds(30)))
        #expect(try await seconds("l") == [30, 0])
    }
}

/// A level that keeps what it is given for as long as its policy says.
private struct PolicyLevel: CacheLevel {
    let policy: FreshnessPolicy?
    let base = MemoryLevel<String, Int>(limit: .entries(10))

    init(_ policy: FreshnessPolicy) {
        self.policy = policy
    }

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<Int>? {
        try await base.entry(for: key, request)
    }

    func store(_ entry: Entry<Int>, for key: String) async throws { try await base.store(entry, for: key) }

    func remove(_ key: String) async throws { try await base.remove(key) }

    func removeAll() async throws { try await base.removeAll() }
}
