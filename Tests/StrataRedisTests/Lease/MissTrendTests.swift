import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Fetching where looks in Redis are in vain", .timeLimit(.minutes(2)))
struct MissTrendTests {
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()

    private func instance(
        of server: RedisServer,
        freshness: FreshnessPolicy = FreshnessPolicy()
    ) throws -> FetchingLevel<String, String> {
        RedisLevel(try TestServer.client(of: server), keyspace: keyspace, freshness: freshness)
            .fetching { [source] _ in try await source.fetch() }
    }

    /// An instance that has found nothing eight times.
    private func discouraged(
        of server: RedisServer,
        freshness: FreshnessPolicy = FreshnessPolicy()
    ) throws -> FetchingLevel<String, String> {
        let instance = try instance(of: server, freshness: freshness)
        for _ in 0..<8 { instance.missTrend.looked(found: false) }
        #expect(instance.missTrend.expectsNothing)
        return instance
    }

    @Test("eight looks in vain in a row make it, and a look that finds something counts as much as four")
    func rule() {
        let trend = MissTrend()
        for _ in 0..<7 { trend.looked(found: false) }
        #expect(!trend.expectsNothing)
        trend.looked(found: true)
        for _ in 0..<4 { trend.looked(found: false) }
        #expect(!trend.expectsNothing)
        trend.looked(found: false)
        #expect(trend.expectsNothing)
        for _ in 0..<100 { trend.looked(found: false) }
        for _ in 0..<3 { trend.looked(found: true) }
        #expect(!trend.expectsNothing)
    }

    @Test("a fetched value costs three commands, and two after eight in a row")
    func roundTrips() async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            let cache = try instance(of: server)
            var gets: [Int] = []
            for number in 0..<10 {
                try await server.command("CONFIG", "RESETSTAT")
                #expect(try await cache.get("k\(number)") == "value")
                let calls = try await cache.level.redis.info("commandstats")["cmdstat_get"] ?? ""
                gets.append(Int(calls.prefix { $0 != "," }.drop { $0 != "=" }.dropFirst()) ?? 0)
            }
            // Two are the first script's, one is the second's.
            #expect(gets == [4, 4, 4, 4, 4, 4, 4, 4, 3, 3])
            #expect(source.calls == 10)
            #expect(cache.level.statistics.misses == 10)
        }
    }

    @Test("a value that is there after all is found by the script, and then GET is first again")
    func found() async throws {
        try await RedisServer.withServer { server in
            let writer = try instance(of: server)
            for number in 0..<3 { try await writer.set("mine", for: "k\(number)") }
            let cache = try discouraged(of: server)
            for number in 0..<3 {
                let (value, receipt) = try await cache.getWithReceipt("k\(number)")
                #expect(value == "mine" && receipt.origin == .redis)
                #expect(receipt.steps.contains { $0.event == .hit && $0.origin == .redis })
            }
            #expect(source.calls == 0 && !cache.missTrend.expectsNothing)
        }
    }

    @Test("a stale value that is there after all is served at once while it is fetched anew")
    func stale() async throws {
        try await RedisServer.withServer { server in
            let policy = FreshnessPolicy(
                freshFor: .milliseconds(1),
                staleWhileRevalidate: .seconds(600),
                earlyRefresh: 0
            )
            let cache = try discouraged(of: server, freshness: policy)
            try await cache.set("old", for: "k")
            while try await cache.level.entry(for: "k", ReadRequest())?.isFresh(at: .now) == true { await Task.yield() }
            let (value, receipt) = try await cache.getWithReceipt("k")
            #expect(value == "old" && receipt.state == .stale)
            await source.gate.arrivals()
            source.gate.open()
            await cache.drain(within: .seconds(30))
            #expect(source.calls == 1)
        }
    }

    @Test("one missing key, four such instances of 32 tasks, one fetch; the value reaches who waits")
    func oneFetch() async throws {
        try await RedisServer.withServer { server in
            let instances = try (0..<4).map { _ in try discouraged(of: server) }
            let tasks = instances.flatMap { instance in (0..<32).map { _ in Task { try await instance.get("k") } } }
            await source.gate.arrivals()
            source.gate.open()
            for task in tasks { #expect(try await task.value == "value") }
            #expect(source.calls == 1)
        }
    }

    @Test("who joins a competition that was begun without a look, and an old value was there, competes again")
    func joined() async throws {
        try await RedisServer.withServer { server in
            let policy = FreshnessPolicy(freshFor: .milliseconds(1), staleIfError: .seconds(600), earlyRefresh: 0)
            let cache = try discouraged(of: server, freshness: policy)
            try await cache.set("old", for: "k")
            while try await cache.level.entry(for: "k", ReadRequest())?.isFresh(at: .now) == true { await Task.yield() }
            // Reads of different demands do not share a flight; the fetch they share.
            let reads: [Task<String?, any Error>] = (0..<32)
                .map { number in
                    Task { try await cache.get("k", number.isMultiple(of: 2) ? .ordinary : .fresh) }
                }
            await source.gate.arrivals()
            source.gate.open()
            for read in reads { #expect(try await read.value == "value") }
        }
    }
}
