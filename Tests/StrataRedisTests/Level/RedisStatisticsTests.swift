import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("What a Redis level counts", .timeLimit(.minutes(5)))
struct RedisStatisticsTests {
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()

    private func count(_ level: RedisLevel<String, String>) -> [Int] {
        let counted = level.statistics
        return [counted.hits, counted.misses, counted.voided]
    }

    @Test("an entry that is found counts as a hit where it is served, and as a miss where the source is asked")
    func served() async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            let level = RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace, codec: .text)
            let cache = level.fetching(.lasting) { [source] _ in try await source.fetch() }
            #expect(try await cache.get("k") == "value")
            #expect(count(level) == [0, 1, 0])
            #expect(try await cache.get("k") == "value")
            #expect(count(level) == [1, 1, 0])
            #expect(try await cache.get("k", .reload) == "value")
            #expect(source.calls == 2)
            #expect(count(level) == [1, 2, 0])
            // In a batch as well.
            #expect(try await cache.get(["k", "l"]).count == 2)
            #expect(count(level) == [2, 3, 0])
            #expect(try await cache.get(["k", "l"], .reload).count == 2)
            #expect(count(level) == [2, 5, 0])
        }
    }

    @Test("a read that waits for another instance counts once: it was a miss")
    func waited() async throws {
        try await RedisServer.withServer { server in
            let (one, two) = try (Instance(server.url, keyspace), Instance(server.url, keyspace))
            try await one.listen()
            try await two.listen()
            let cache = one.level.fetching(.lasting) { [source] _ in try await source.fetch() }
            let first = Task { try await cache.get("k") }
            await source.gate.arrivals()
            let level = two.level
            let second = Task { try await level.fetching(.lasting) { _ in "other" }.get("k") }
            while level.statistics.waits == 0 { try await nextTurn() }
            source.gate.open()
            #expect(try await first.value == "value")
            #expect(try await second.value == "value")
            #expect(count(level) == [0, 1, 0])
        }
    }

    @Test("removals, invalidations and clears count where they are sent, and where they are heard")
    func invalidations() async throws {
        try await RedisServer.withServer { server in
            let (one, two) = try (Instance(server.url, keyspace), Instance(server.url, keyspace))
            try await one.listen()
            try await two.listen()
            let (sender, hearer) = (one.level, two.level)
            try await one.cache.set("value", for: "k", lifetime: EntryLifetime(), tags: ["red"])
            while hearer.statistics.heardInvalidations < 1 { try await nextTurn() }
            #expect(sender.statistics.sentInvalidations == 0)
            try await one.cache.remove("k")
            try await one.cache.invalidate(tag: "red")
            try await one.cache.clear()
            #expect(sender.statistics.sentInvalidations == 3)
            while hearer.statistics.heardInvalidations < 4 { try await nextTurn() }
            let label = hearer.label.counters
            #expect(label.contains { $0.name == "heard_invalidations" && $0.value >= 4 })
            #expect(label.contains { $0.name == "sent_invalidations" && $0.value == 0 })
        }
    }
}
