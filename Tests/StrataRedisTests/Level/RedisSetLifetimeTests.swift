import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("How long memory above Redis keeps what was set", .timeLimit(.minutes(5)))
struct RedisSetLifetimeTests {
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let memory = MemoryLevel<String, String>(limit: .entries(10))

    /// How far the ends of both levels' entries lie apart.
    private func difference(
        _ level: RedisLevel<String, String>,
        _ end: (Entry<String>) -> MonotonicInstant
    ) async throws -> Duration {
        let above = try #require(try await memory.entry(for: "k", ReadRequest()))
        let below = try #require(try await level.entry(for: "k", ReadRequest()))
        return end(above).duration(to: end(below))
    }

    @Test("it ends there when it ends in Redis, whatever the set says of its lifetime")
    func ends() async throws {
        let policy = FreshnessPolicy(freshFor: .seconds(400), staleIfError: .seconds(4_000))
        let level = RedisLevel<String, String>(
            try await TestServer.client(),
            keyspace: keyspace,
            codec: .text,
            freshness: policy
        )
        let cache = memory.compose(level)
        let sets: [() async throws -> Void] = [
            { try await cache.set("v", for: "k") },
            { try await cache.set("v", for: "k", lifetime: .byPolicy, tags: ["t"]) },
            { try await cache.set("v", for: "k", lifetime: EntryLifetime(freshFor: .seconds(200))) },
            { try await cache.set("v", for: "k", lifetime: EntryLifetime(staleFor: .seconds(200))) },
            { _ = try await cache.update("k") { _ in "w" } },
            { _ = try await cache.update("k", lifetime: EntryLifetime(freshFor: .seconds(300))) { _ in "w" } },
        ]
        for (number, set) in sets.enumerated() {
            // Without a link that is trusted memory keeps nothing; a notice of the set before may void this one.
            try await memory.remove("k")
            repeat { try await set() } while try await memory.entry(for: "k", ReadRequest()) == nil
            // What a set takes, and the precision of the server's clock.
            for end in [\Entry<String>.freshUntil, \.staleUntil] {
                let apart = try await difference(level) { $0[keyPath: end] }
                #expect(apart > .seconds(-50) && apart < .seconds(50), "set \(number): \(apart)")
            }
        }
        try await cache.clear()
    }

    @Test("when its freshness is over, memory asks Redis, and then the source")
    func over() async throws {
        let level = RedisLevel<String, String>(
            try await TestServer.client(),
            keyspace: keyspace,
            codec: .text,
            freshness: FreshnessPolicy(freshFor: .milliseconds(50), staleIfError: .seconds(4_000), jitter: 0)
        )
        let cache = memory.compose(level.fetching { _ in "fetched" })
        try await cache.set("set", for: "k")
        while try await cache.get("k") == "set" { try await nextTurn() }
        #expect(try await cache.get("k") == "fetched")
        try await cache.clear()
    }
}
