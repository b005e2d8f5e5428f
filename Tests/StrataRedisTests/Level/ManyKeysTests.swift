import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Many keys of one call", .timeLimit(.minutes(5)))
struct ManyKeysTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    private func level(
        of server: RedisServer,
        _ adjust: (inout RedisConfiguration) -> Void = { _ in }
    ) throws -> RedisLevel<String, String> {
        RedisLevel(try TestServer.client(of: server, adjust), keyspace: keyspace, codec: .text)
    }

    @Test("one whose value is too large has failed by itself", arguments: [false, true])
    func large(isCluster: Bool) async throws {
        func check(_ redis: RedisClient, _ writer: RedisClient) async throws {
            let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
            for key in ["a", "b"] { try await level.set(key, for: key) }
            let name = keyspace.names(for: "big".keyBytes).value
            try await writer.set(name, [UInt8](repeating: 1, count: 20_000))
            #expect(try await level.batchGetSome(["a", "big", "b", "none"]) == ["a", "b"])
            await #expect(throws: RedisError.self) { try await level.get(["a", "big"]) }
            let asked = Locked<[String]>([])
            let cache = level.fetching { key in
                asked.withLock { $0.append(key) }
                return "of \(key)"
            }
            #expect(try await cache.get(["a", "big", "b"]) == ["a", "of big", "b"])
            #expect(asked.withLock { $0 } == ["big"])
            for client in [redis, writer] { await client.shutDown() }
        }
        let limits = ReplyLimits(bulkLength: 10_000)
        if isCluster {
            try await TestCluster.with { cluster in
                try await check(
                    TestCluster.client(of: cluster) { $0.replyLimits = limits },
                    TestCluster.client(of: cluster)
                )
            }
        } else {
            try await RedisServer.withServer { server in
                try await check(
                    TestServer.client(of: server) { $0.replyLimits = limits },
                    TestServer.client(of: server)
                )
            }
        }
    }

    @Test("more than a thousand are read in pieces, and all of them are found")
    func pieces() async throws {
        try await RedisServer.withServer { server in
            let level = try level(of: server)
            let keys = (0..<2_500).map { "\($0)" }
            for key in [keys[0], keys[1_000], keys[2_499]] { try await level.set(key, for: key) }
            let found = try await level.get(keys)
            #expect(found.count == 2_500)
            #expect(found.compactMap { $0 } == ["0", "1000", "2499"])
            let text = try await level.redis.info("commandstats")["cmdstat_mget"]
            #expect(text?.hasPrefix("calls=3,") == true)
        }
    }

    @Test("a key that is named twice above a level without leases of its own is stored, and no conflict is seen")
    func twice() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try level(of: server), try level(of: server))
            let cache = one.compose(ClosureFetcher { (key: String) in "of \(key)" }, fillWaitLimit: .seconds(60))
            var lost = one.statistics.refusedStores
            for key in (0..<50).map({ "key-\($0)" }) {
                let (begin, before) = (MonotonicInstant.now, one.statistics.refusedStores)
                #expect(try await cache.get([key, key]) == ["of \(key)", "of \(key)"])
                let refused = one.statistics.refusedStores - before
                if refused > 0, mayLoseFill(since: begin) {
                    lost += refused
                } else {
                    #expect(try await other.get(key) == "of \(key)")
                }
            }
            #expect(one.statistics.refusedStores == lost)
        }
    }
}
