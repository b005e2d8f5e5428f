import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("A fleet whose batches bring their sources", .timeLimit(.minutes(5)))
struct CallBatchFetchingTests {
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let library = BatchFetchingTests.Library()
    private let other = BatchFetchingTests.Library()

    private func cache(
        of server: RedisServer
    ) throws -> Composed<MemoryLevel<String, String>, FetchingLevel<String, String>> {
        MemoryLevel(limit: .entries(100))
            .compose(RedisLevel(try TestServer.client(of: server), keyspace: keyspace).fetchingPerCall(.lasting))
    }

    @Test("the source is asked once, for exactly what memory and Redis lack; a plain batch finds it and asks nothing")
    func mixed() async throws {
        try await RedisServer.withServer { server in
            library.gate.open()
            let cache = try cache(of: server)
            try await cache.lower.level.listens()
            try await cache.upper.set("in memory", for: "a")
            try await cache.lower.set("in Redis", for: "b")
            let found = try await cache.get(["c", "a", "none", "b", "d", "c"]) { try await library.fetch($1) }
            #expect(found == ["c!", "in memory", nil, "in Redis", "d!", "c!"])
            #expect(library.calls == [["c", "d", "none"]])
            #expect(cache.lower.level.statistics.fetches == 3)
            let plain = try self.cache(of: server)
            #expect(try await plain.get(["b", "c", "d", "none", "e"]) == ["in Redis", "c!", "d!", nil, nil])
            #expect(try await plain.get(["c", "d"]) { try await other.fetch($1) } == ["c!", "d!"])
            #expect(other.calls.isEmpty && library.calls.count == 1)
        }
    }

    @Test("two clients, batches that overlap, each with its source: no key is fetched twice, and nobody waits for ever")
    func overlapping() async throws {
        try await RedisServer.withServer { server in
            let (one, two) = (try cache(of: server), try cache(of: server))
            let first = Task { try await one.get(["a", "b"]) { try await library.fetch($1) } }
            await library.gate.arrivals()
            let second = Task { try await two.get(["c", "b", "d"]) { try await other.fetch($1) } }
            await other.gate.arrivals()
            #expect(other.calls == [["c", "d"]])
            let third = Task { try await one.get(["d", "a"]) { try await other.fetch($1) } }
            while one.lower.waiting < 4 { try await nextTurn() }
            other.gate.open()
            library.gate.open()
            #expect(try await first.value == ["a!", "b!"])
            #expect(try await second.value == ["c!", "b!", "d!"])
            #expect(try await third.value == ["d!", "a!"])
            #expect(library.calls == [["a", "b"]] && other.calls == [["c", "d"]])
        }
    }

    @Test("a bound source is replaced in the call, whether it takes one key or several", arguments: [false, true])
    func inPlaceOfTheBound(takesSeveral: Bool) async throws {
        try await RedisServer.withServer { server in
            library.gate.open()
            let level = RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace)
            let bound =
                takesSeveral
                ? level.fetchingSeveral(.lasting) { keys in Dictionary(keys.map { ($0, "bound") }) { first, _ in first }
                }
                : level.fetching(.lasting) { _ in "bound" }
            #expect(try await bound.get(["a", "b"]) { try await library.fetch($1) } == ["a!", "b!"])
            #expect(try await bound.get(["a", "c"]) == ["a!", "bound"])
            #expect(library.calls == [["a", "b"]])
        }
    }

    @Test("without Redis the source answers, once for the batch")
    func outage() async throws {
        library.gate.open()
        var configuration = try RedisConfiguration(url: "redis://127.0.0.1:1")
        configuration.linkPingTimeout = .seconds(60)
        let level = RedisLevel<String, String>(try RedisClient(configuration), keyspace: keyspace).fetchingPerCall()
        #expect(try await level.get(["a", "b", "none"]) { try await library.fetch($1) } == ["a!", "b!", nil])
        #expect(library.calls == [["a", "b", "none"]])
        #expect(try await level.get(["a", "b"]) == [nil, nil])
    }

    @Test("a stale value is served, and refreshed by a call of the source for that key alone")
    func refresh() async throws {
        try await RedisServer.withServer { server in
            library.gate.open()
            let policy = FreshnessPolicy(
                freshFor: .milliseconds(1),
                staleWhileRevalidate: .seconds(600),
                earlyRefresh: 0
            )
            let level = RedisLevel<String, String>(
                try TestServer.client(of: server),
                keyspace: keyspace,
                freshness: policy
            )
            .fetchingPerCall(.lasting)
            try await level.level.listens()
            for key in ["a", "b"] { try await level.set("old", for: key) }
            for key in ["a", "b"] {
                while try await level.level.entry(for: key, ReadRequest())?.isFresh(at: .now) == true {
                    try await nextTurn()
                }
            }
            let read = try await level.get(["a", "c", "b"]) { _, contexts in
                try await library.fetch(contexts)
                    .mapValues { outcome in
                        guard case .value(let value, _, _) = outcome else { return outcome }
                        return .value(value, lifetime: EntryLifetime(freshFor: .seconds(600)))
                    }
            }
            #expect(read == ["old", "c!", "old"])
            await level.drain(within: .seconds(30))
            #expect(library.calls.count == 3 && Set(library.calls) == [["a"], ["b"], ["c"]])
            #expect(try await level.get(["a", "b"]) == ["a!", "b!"])
        }
    }
}
