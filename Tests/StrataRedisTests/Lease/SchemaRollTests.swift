import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Values that other releases have written", .timeLimit(.minutes(5)))
struct SchemaRollTests {
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()

    private func level(_ server: RedisServer, schema: UInt32 = 0) throws -> RedisLevel<String, String> {
        RedisLevel(try TestServer.client(of: server), keyspace: keyspace, codec: .text, schema: schema)
    }

    @Test("an older schema's value is replaced under a lease; so the fleet fetches it once")
    func olderSchema() async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            try await level(server, schema: 1).set("old", for: "k")
            let fleet = try (0..<2)
                .map { _ in try level(server, schema: 2).fetching(.lasting) { [source] _ in try await source.fetch() } }
            for _ in 0..<3 { for instance in fleet { #expect(try await instance.get("k") == "value") } }
            #expect(source.calls == 1)
            #expect(fleet.reduce(0) { $0 + $1.level.statistics.stores } == 1)
        }
    }

    @Test("an absence under an older schema as well")
    func olderAbsence() async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            source.set(nil)
            let older = try level(server, schema: 1).fetching(.lasting) { [source] _ in try await source.fetch() }
            #expect(try await older.get("k") == nil)
            source.set("value")
            let cache = try level(server, schema: 2).fetching(.lasting) { [source] _ in try await source.fetch() }
            for _ in 0..<3 { #expect(try await cache.get("k") == "value") }
            #expect(source.calls == 2)
        }
    }

    @Test("a newer schema's value is left alone, until it is invalidated", arguments: [true, false])
    func newerSchema(byTag: Bool) async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            let newer = try level(server, schema: 2)
            try await newer.set("new", for: "k", tags: ["t"])
            let older = try level(server, schema: 1).fetching(.lasting) { [source] _ in try await source.fetch() }
            for _ in 0..<3 { #expect(try await older.get("k") == "value") }
            #expect(source.calls == 3)
            #expect(try await newer.get("k") == "new")
            if byTag { try await newer.invalidate(tag: "t") } else { try await newer.clear() }
            for _ in 0..<3 { #expect(try await older.get("k") == "value") }
            #expect(source.calls == 4)
            #expect(older.level.statistics.stores == 1)
        }
    }

    /// The ways in which the bytes under a key become useless to every instance.
    enum End: CaseIterable {
        case tag, clear, time, damage
    }

    private func end(
        _ way: End,
        _ newer: RedisLevel<String, String>,
        for older: RedisLevel<String, String>
    ) async throws {
        let name = keyspace.names(for: "k".keyBytes).value
        switch way {
        case .tag: try await newer.invalidate(tag: "t")
        case .clear: try await newer.clear()
        case .time:
            // Redis keeps it on, as it does for the lease of whoever replaces it.
            repeat {
                let lifetime = EntryLifetime(freshFor: .milliseconds(100), staleFor: .zero)
                try await newer.set("new", for: "k", lifetime: lifetime)
            } while try await !newer.redis.expire(name, in: .seconds(600))
            // Until it is over by the older one's reading of the server's clock.
            while (try? await older.touch("k", lifetime: EntryLifetime(freshFor: .seconds(60)))) == nil {
                try await nextTurn()
            }
        case .damage:
            var bytes = try #require(try await newer.redis.get(name))
            bytes[bytes.count - 1] ^= 1
            try await newer.redis.set(name, bytes)
        }
    }

    @Test(
        "one that no instance can use is replaced by what is found below, or without a look at Redis, and holds up no change",
        arguments: End.allCases
    )
    func replaced(_ way: End) async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            let newer = try level(server, schema: 2)
            for filling in [true, false] {
                try await newer.set("new", for: "k", tags: ["t"])
                let older = try level(server, schema: 1)
                let cache: AnyLevel<String, String> =
                    filling
                    ? older.compose(ClosureFetcher { [source] _ in try await source.fetch() }).normalized()
                    : older.fetching(.lasting) { [source] _ in try await source.fetch() }.normalized()
                let options = filling ? ReadOptions() : ReadOptions(skipsReading: [.redis])
                #expect(try await cache.get("k", options) == "value")
                await cache.drain(within: .seconds(60))
                #expect(older.statistics.stores == 0, "\(way): a value of a newer release was replaced")
                try await end(way, newer, for: older)
                #expect(try await older.touch("k", lifetime: EntryLifetime(freshFor: .seconds(60))) == false)
                try await untilStored(in: older) {
                    let found = try await cache.get("k", options)
                    #expect(found == "value")
                    await cache.drain(within: .seconds(60))
                }
                #expect(older.statistics.stores == 1, "\(way), \(filling)")
                #expect(try await older.get("k") == "value")
            }
        }
    }

    @Test("a newer schema's value in another codec is left alone, too")
    func newerSchemaInAnotherCodec() async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            let redis = try TestServer.client(of: server)
            let newer = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .json, schema: 2)
            try await newer.set("new", for: "k")
            let older = try level(server, schema: 1).fetching(.lasting) { [source] _ in try await source.fetch() }
            #expect(try await older.get("k") == "value")
            #expect(older.level.statistics.stores == 0)
            #expect(try await newer.get("k") == "new")
        }
    }

    @Test("a sweep removes what is void of its own schema and of older ones")
    func sweep() async throws {
        try await RedisServer.withServer { server in
            for schema in 1...3 {
                try await level(server, schema: UInt32(schema)).set("v", for: "\(schema)")
            }
            let level = try level(server, schema: 2)
            try await level.clear()
            #expect(try await level.sweep(rate: 1_000_000).removed == 2)
            #expect(try await level.redis.exists(keyspace.names(for: "3".keyBytes).value) == 1)
        }
    }
}
