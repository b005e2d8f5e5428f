import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("A client of a cluster", .timeLimit(.minutes(5)))
struct ClusterClientTests {
    private let base = TestServer.uniqueName()

    /// A configuration that is patient enough for a busy machine.
    private func patient(_ url: String) throws -> RedisConfiguration {
        var configuration = try RedisConfiguration(url: url)
        configuration.connectTimeout = .seconds(20)
        configuration.commandTimeout = .seconds(20)
        configuration.sentinels?.timeout = .seconds(5)
        return configuration
    }

    @Test("strings of all slots are written, read by one call, counted and removed")
    func strings() async throws {
        let cluster = try await TestCluster.shared()
        let redis = try TestCluster.client(of: cluster)
        let keys = (0..<300).map { RedisKey("\(base)-\($0)") }
        for (number, key) in keys.enumerated() { try await redis.set(key, Array("\(number)".utf8)) }
        let found = try await redis.get(keys + [RedisKey("\(base)-none"), keys[7]])
        let expected: [[UInt8]?] = (0..<300).map { Array("\($0)".utf8) }
        #expect(found == expected + [nil, expected[7]])
        #expect(try await redis.get(keys[3]) == Array("3".utf8))
        #expect(try await redis.unlink(Array(keys.dropFirst(10)) + [RedisKey("\(base)-none")]) == 290)
        #expect(try await redis.exists(keys[0], keys[1], keys[200], keys[0]) == 3)
        #expect(try await redis.delete(keys[0], keys[1]) == 2)
        #expect(try await redis.length(of: keys[2]) == 1)
        // Each node has had its share.
        for primary in cluster.primaries {
            let statistics = try await primary.command("INFO", "commandstats").text
            #expect(statistics.contains("cmdstat_set:") && statistics.contains("cmdstat_mget:"))
        }
    }

    @Test("calls about more keys than a connection takes replies for go out in parts")
    func many() async throws {
        let cluster = try await TestCluster.shared()
        var configuration = try TestCluster.configuration(of: cluster)
        configuration.inFlightLimit = 100
        let redis = try RedisClient(configuration)
        let keys = (0..<3_000).map { RedisKey("\(base)-many-\($0)") }
        async let one = redis.get(keys)
        async let other = redis.unlink(keys)
        #expect(try await one.allSatisfy { $0 == nil })
        #expect(try await other == 0)
        await redis.shutDown()
    }

    @Test("raw commands go by their keys; keys in different slots and cursors are refused")
    func raw() async throws {
        let redis = try TestCluster.client(of: try await TestCluster.shared())
        for number in 0..<50 {
            #expect(try await redis.send("SET", "\(base)\(number)", "v") == .status("OK"))
            #expect(try await redis.send("STRLEN", "\(base)\(number)") == .integer(1))
        }
        #expect(try await redis.send("MSET", "{\(base)}a", "1", "{\(base)}b", "2") == .status("OK"))
        #expect(try await redis.send("EVAL", "return #KEYS", "2", "{\(base)}a", "{\(base)}b") == .integer(2))
        #expect(try await redis.send("PING") == .status("PONG"))
        let crossed = await #expect(throws: RedisError.self) { try await redis.send("MGET", "\(base)1", "\(base)2") }
        #expect(crossed?.code == .crossSlot && crossed?.effect == .notApplied)
        let cursor = await #expect(throws: RedisError.self) { try await redis.scan() }
        #expect(cursor?.code == .unsupportedByCluster)
    }

    @Test("the keys of all nodes are walked over, and nodes learn scripts one by one")
    func walk() async throws {
        let redis = try TestCluster.client(of: try await TestCluster.shared())
        let keys = Set((0..<200).map { RedisKey("\(base):\($0)") })
        let script = RedisScript(
            name: "test",
            digest: "d8f2fad9f8e86a53d2a6ebd960b33c4972cacc37",
            source: "return redis.call('SET', KEYS[1], ARGV[1])"
        )
        for key in keys {
            _ = try await redis.run(script, keys: [key], arguments: [[1]], repetition: .repeatable)
        }
        var found: Set<RedisKey> = []
        for try await batch in redis.keys(beginningWith: Array("\(base):".utf8)) { found.formUnion(batch) }
        #expect(found == keys)
        #expect(try await redis.databaseSize() >= 200)
    }

    @Test("one seed that answers is enough, in any place")
    func deadSeed() async throws {
        let cluster = try await TestCluster.shared()
        let dead = RedisEndpoint.tcp(host: "127.0.0.1", port: 1)
        let nowhere = RedisEndpoint.tcp(host: "no-such-host.invalid", port: 6379)
        let many = (2...40).map { RedisEndpoint.tcp(host: "127.0.0.1", port: $0) }
        for seeds in [[dead, nowhere], [nowhere, dead, dead], many] {
            var configuration = try RedisConfiguration(
                cluster: seeds + [TestCluster.endpoint(of: cluster.primaries[1])]
            )
            configuration.commandTimeout = .seconds(20)
            configuration.connectTimeout = .seconds(20)
            let redis = try RedisClient(configuration)
            try await redis.set(RedisKey(base), [1])
            #expect(try await redis.get(RedisKey(base)) == [1])
        }
    }

    @Test("seeds that are all dead, one that is no cluster, and a database that a cluster has not: each a clear error")
    func wrong() async throws {
        let dead = try RedisClient(patient("redis-cluster://127.0.0.1:1,127.0.0.1:2"))
        let silent = await #expect(throws: RedisError.self) { try await dead.get("a") }
        #expect(silent?.code == .connectionFailed)
        try await RedisServer.withServer { server in
            var configuration = try patient(server.url)
            configuration.topology = .cluster
            let single = try RedisClient(configuration)
            let error = await #expect(throws: RedisError.self) { try await single.get("a") }
            #expect(error?.code == .wrongServer)
            #expect(error?.message == "a single server answers there, not a node of a cluster")
        }
        for url in ["redis-cluster://h/1", "redis://h:1,i:2?topology=cluster&db=3"] {
            let error = #expect(throws: RedisError.self) { try RedisClient(url) }
            #expect(error?.code == .invalidConfiguration && error?.message == "a cluster has only database 0")
        }
        let several = #expect(throws: RedisError.self) { try RedisClient("redis://h:1,i:2") }
        #expect(several?.code == .invalidConfiguration)
    }

    @Test("of servers of which nothing is known, nodes of a cluster are used as one, with dead addresses beside them")
    func auto() async throws {
        let cluster = try await TestCluster.shared()
        let node = cluster.primaries[2]
        for url in ["\(node.url)?topology=auto", "redis://127.0.0.1:1,127.0.0.1:\(node.port ?? 0)?topology=auto"] {
            let redis = try RedisClient(patient(url))
            #expect(redis.configuration.topology == .cluster && redis.configuration.sentinels == nil)
            let keys = (0..<60).map { RedisKey("\(base)-auto-\($0)") }
            for key in keys { try await redis.set(key, [1]) }
            #expect(try await redis.get(keys) == Array(repeating: [1], count: 60))
            await redis.shutDown()
        }
        let other = try patient("\(node.url)/1?topology=auto")
        let database = #expect(throws: RedisError.self) { try RedisClient(other) }
        #expect(database?.code == .invalidConfiguration)
    }

    @Test("URLs of clusters")
    func urls() throws {
        let expected = [RedisEndpoint.tcp(host: "a", port: 1), .tcp(host: "b", port: 6379), .tcp(host: "::1", port: 2)]
        for url in ["redis-cluster://u:p@a:1,b,[::1]:2", "redis://u:p@a:1,b,[::1]:2/0?topology=cluster"] {
            let configuration = try RedisConfiguration(url: url)
            #expect(configuration.seeds == expected && configuration.topology == .cluster)
            #expect(configuration.username == "u" && configuration.password == Secret("p"))
        }
        for url in [
            "redis-cluster://a:1,", "redis-cluster://", "redis://a?topology=ring",
            "redis://a?topology=cluster&topology=cluster",
        ] {
            #expect(throws: RedisError.self) { try RedisConfiguration(url: url) }
        }
    }

    @Test("calls after the end are refused, also those to nodes that were not needed until then")
    func end() async throws {
        let cluster = try await TestCluster.shared()
        let redis = try TestCluster.client(of: cluster)
        // The other nodes were not needed until now.
        let keys = TestCluster.keys(base, of: cluster)
        try await redis.set(RedisKey(keys[0]), [1])
        await redis.shutDown()
        for key in keys {
            let error = await #expect(throws: RedisError.self) { try await redis.get(RedisKey(key)) }
            #expect(error?.code == .shutDown)
        }
    }
}
