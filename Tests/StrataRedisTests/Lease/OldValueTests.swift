import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Old values whose time ends while they are replaced", .timeLimit(.minutes(5)))
struct OldValueTests {
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()

    /// Long enough for a machine that stands still for some seconds.
    private let options = LeaseOptions(duration: .seconds(15), renewalLimit: .seconds(600))

    private var names: KeyNames { keyspace.names(for: "k".keyBytes) }

    private func level(_ server: RedisServer) throws -> RedisLevel<String, String> {
        RedisLevel(
            try TestServer.client(of: server),
            keyspace: keyspace,
            codec: .text,
            freshness: FreshnessPolicy(hardTimeout: nil)
        )
    }

    /// Begins to replace a value, and returns when no read may return it any more.
    private func outlive(_ cache: FetchingLevel<String, String>) async throws -> Task<String?, any Error> {
        let level = cache.level
        try await level.set("old", for: "k", lifetime: EntryLifetime(freshFor: .seconds(12)))
        let reload = Task { try await cache.get("k", .reload) }
        await source.gate.arrivals()
        // Longer than a lease that is renewed once.
        let end = try await level.redis.time() + options.duration * 1.4
        while try await level.get("k") != nil { try await nextTurn() }
        while try await level.redis.time() < end { try await nextTurn() }
        return reload
    }

    @Test("a value that has its time out while it is replaced has not been changed by others")
    func expires() async throws {
        try await RedisServer.withServer { server in
            let cache = try level(server).fetching(options) { [source] _ in try await source.fetch() }
            let reload = try await outlive(cache)
            #expect(try await cache.level.get("k") == nil)
            source.gate.open()
            #expect(try await reload.value == "value")
            #expect(cache.level.statistics.refusedStores == 0)
            #expect(cache.level.statistics.stores == 1)
            #expect(try await cache.level.get("k") == "value")
        }
    }

    @Test("one that another client deletes has been, also after its time")
    func deleted() async throws {
        try await RedisServer.withServer { server in
            let cache = try level(server).fetching(options) { [source] _ in try await source.fetch() }
            let reload = try await outlive(cache)
            #expect(try await server.command(bytes: [Array("DEL".utf8), names.value.bytes]).integer == 1)
            source.gate.open()
            #expect(try await reload.value == "value")
            #expect(cache.level.statistics.refusedStores == 1)
            #expect(try await cache.level.get("k") == nil)
        }
    }
}
