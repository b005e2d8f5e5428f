import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("What a user of a cluster has to be allowed", .timeLimit(.minutes(5)))
struct ClusterAccessTests {
    private static let keyspace: Keyspace = "products"
    private static let rules = AccessRules(for: [.sweep], keyspaces: [keyspace], topology: .cluster)

    private func logIn(_ configuration: inout RedisConfiguration) {
        configuration.username = "cache"
        configuration.password = Secret("pw")
    }

    private func withUser(_ body: (RedisCluster) async throws -> Void) async throws {
        let user = RedisServer.Directive(stringLiteral: "user cache on >pw \(Self.rules)")
        try await TestCluster.with(server: .init(directives: [user]), body)
    }

    @Test("all that a cache does works under the rules, also while a slot moves, and no node refuses anything")
    func flows() async throws {
        try await withUser { cluster in
            let one = try ClusterInstance(cluster, Self.keyspace, logIn)
            let other = try ClusterInstance(cluster, Self.keyspace, logIn)
            for instance in [one, other] { try await instance.level.ready(within: .seconds(60)) }
            let keys = (0..<40).map { "key-\($0)" }
            for key in keys { try await one.cache.set("1", for: key, tags: ["red"]) }
            #expect(try await other.cache.get(keys) == keys.map { _ in "1" })
            try await one.cache.remove(keys[0])
            try await other.forgets(keys[0])
            try await one.cache.invalidate(tags: ["red"])
            for key in keys { try await other.forgets(key) }
            let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))
            let fetching = other.level.fetching(options) { "fetched \($0)" }
            #expect(try await fetching.get("key-1") == "fetched key-1")
            // ASKING is sent while a slot is on its way.
            let slot = Int(HashSlot.of(Self.keyspace.names(for: "key-1".keyBytes).value))
            let source = try #require(try await cluster.owner(of: slot))
            let target = try #require(cluster.primaries.first { $0 !== source })
            try await cluster.beginMove(of: slot, from: source, to: target)
            try await cluster.moveKeys(of: slot, from: source, to: target)
            #expect(try await one.level.get("key-1") == "fetched key-1")
            try await cluster.endMove(of: slot, from: source, to: target)
            _ = try await one.level.sweep(rate: 100_000)
            try await one.cache.removeAll()
            while try await other.level.get("key-1") != nil { try await nextTurn() }
            for primary in cluster.primaries {
                let refused = try await primary.command("ACL", "LOG").elements?.map { "\($0)" }
                #expect(refused == [])
            }
        }
    }

    @Test("a client that finds out what it meets logs in by a source of credentials that was not asked before")
    func auto() async throws {
        var server = RedisServer.Configuration()
        server.credentials = .init(password: "pw")
        try await TestCluster.with(server: server) { cluster in
            var configuration = try TestCluster.configuration(of: cluster)
            configuration.topology = .auto
            configuration.furtherEndpoints = []
            configuration.connectTimeout = .seconds(20)
            configuration.sentinels = SentinelOptions(
                endpoints: cluster.primaries.map { TestCluster.endpoint(of: $0) },
                primary: ""
            )
            configuration.sentinels?.timeout = .seconds(20)
            // More at once than there are threads of the pool: each waits on its own for what it asks.
            try await withThrowingTaskGroup(of: RedisClient.self) { group in
                for _ in 0..<(2 * ProcessInfo.processInfo.activeProcessorCount) {
                    group.addTask { [configuration] in
                        var own = configuration
                        own.credentials = CredentialSource {
                            await Task.yield()
                            return RedisCredentials(username: nil, password: Secret("pw"))
                        }
                        return try RedisClient(own)
                    }
                }
                for try await redis in group {
                    #expect(redis.isCluster)
                    try await redis.set("k", [1])
                    #expect(try await redis.get("k") == [1])
                    await redis.shutDown()
                }
            }
        }
    }

    private func allow(_ rules: [String], _ server: RedisServer) async throws {
        try await server.command(bytes: (["ACL", "SETUSER", "cache"] + rules).map { Array($0.utf8) })
    }

    @Test("each rule that a cluster takes is named when a single node lacks it, and no other")
    func missing() async throws {
        try await withUser { cluster in
            for rule in ["+cluster|info", "+cluster|shards", "+cluster|slots", "+asking", "&strata:products:ev:*"] {
                try await allow(["reset", "on", ">pw"] + Self.rules.rules.filter { $0 != rule }, cluster.primaries[1])
                let redis = try TestCluster.client(of: cluster, logIn)
                let found = try await redis.missingRules(of: Self.rules)
                #expect(found == [rule])
                await redis.shutDown()
            }
            // The user may not look for nodes: the known ones are asked.
            for primary in cluster.primaries { try await allow(["-cluster"], primary) }
            let redis = try TestCluster.client(of: cluster, logIn)
            let found = try await redis.missingRules(of: Self.rules)
            #expect(found.filter { $0.hasPrefix("+") } == ["+cluster|info", "+cluster|shards", "+cluster|slots"])
            await redis.shutDown()
        }
    }
}
