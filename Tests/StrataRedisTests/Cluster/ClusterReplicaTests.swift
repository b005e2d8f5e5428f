import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// Reads from replicas while a primary stands still, and is not replaced.
@Suite("Replicas of a cluster that are read", .serialized, .timeLimit(.minutes(5)))
struct ClusterReplicaTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    /// Replication has a user of its own, so that it can be cut off.
    private static let directives: [RedisServer.Directive] = [
        "user follower on >secret ~* &* +psync +replconf +ping", "masteruser follower", "masterauth secret",
        "cluster-require-full-coverage no",
    ]

    private func with(
        _ more: [RedisServer.Directive] = [],
        _ body: (RedisCluster) async throws -> Void
    ) async throws {
        try await TestCluster.with(
            replicas: 1,
            nodeTimeout: .seconds(60),
            server: .init(directives: Self.directives + more),
            body
        )
    }

    /// A server that a busy machine makes slow is not given up.
    private static func bePatient(_ configuration: inout RedisConfiguration) {
        configuration.redisBudget = .seconds(4)
        configuration.commandTimeout = .seconds(4)
        configuration.breaker.slowAfter = .seconds(10)
    }

    private func instance(
        _ cluster: RedisCluster,
        limit: Duration = .seconds(60),
        user: String? = nil
    ) async throws -> ClusterInstance {
        let instance = try ClusterInstance(cluster, keyspace) {
            $0.username = user
            $0.password = user.map { _ in Secret("pw") }
            $0.replicaLagLimit = limit
            Self.bePatient(&$0)
        }
        try await instance.level.ready(within: .seconds(60))
        return instance
    }

    /// A level that is told of no change.
    private func unlinked(_ instance: ClusterInstance) -> RedisLevel<String, String> {
        RedisLevel(instance.redis, keyspace: keyspace, codec: .text, coherence: .none)
    }

    private func slot(_ key: String) -> UInt16 { HashSlot.of(keyspace.names(for: key.keyBytes).value) }

    /// The primary of a key, and its replica.
    private func servers(_ key: String, _ cluster: RedisCluster) async throws -> (RedisServer, RedisServer) {
        let primary = try #require(try await cluster.owner(of: Int(slot(key))))
        let index = try #require(cluster.primaries.firstIndex { $0 === primary })
        return (primary, cluster.replicas[index])
    }

    /// When a key was changed last, as far as an instance knows.
    private func change(_ key: String, _ instance: ClusterInstance) throws -> MonotonicInstant {
        try #require(instance.level.shared.changes).last(of: instance.level.fingerprint(of: key))
    }

    /// Returns when a replica may be read that has everything from before an instant, or none.
    private func follows(
        _ key: String,
        _ instance: ClusterInstance,
        since change: MonotonicInstant,
        _ follows: Bool = true
    ) async throws {
        let cluster = try #require(instance.redis.cluster)
        while cluster.replicas(of: slot(key), since: change).isEmpty == follows { try await nextTurn() }
    }

    /// Returns when calls about a key do not wait for its primary any more.
    ///
    /// Meanwhile the first call that fails is enough for that, and it waits for a shorter time.
    private func givesUp(_ key: String, _ instance: ClusterInstance) async throws {
        let (budget, breaker) = (instance.redis.redisBudget, instance.redis.breaker)
        var impatient = breaker
        impatient.minimumCalls = 1
        try instance.redis.adjust(redisBudget: .seconds(2), breaker: impatient)
        while instance.redis.responsible(for: RedisKey(keyspace.names(for: key.keyBytes).value.bytes))
            .outageStatistics.breakers[.read]?
            .state != .open
        {
            _ = try? await instance.level.get(key)
        }
        try instance.redis.adjust(redisBudget: budget, breaker: breaker)
    }

    /// Returns when a replica has told a value: its connection may be made anew for a moment.
    private func tells(_ value: String, for key: String, _ level: RedisLevel<String, String>) async throws {
        while (try? await level.get(key)) != value { try await nextTurn() }
    }

    /// Ends the replication from a server.
    private func cutOff(_ primary: RedisServer) async throws {
        try await primary.command("ACL", "SETUSER", "follower", "off")
        try await primary.command("CLIENT", "KILL", "TYPE", "replica")
    }

    @Test(
        "while the primary stands still callers get a replica's value, the source is not asked, and memory keeps nothing"
    )
    func standsStill() async throws {
        try await with { cluster in
            let (writer, reader) = (try await instance(cluster), try await instance(cluster))
            let asked = Shared(0)
            let cache = MemoryLevel<String, String>(limit: .entries(10))
                .compose(reader.level.fetching { _ in "source \(asked.next())" })
            try await writer.level.set("value", for: "key")
            #expect(try await reader.level.get("key") == "value")
            try await follows("key", reader, since: change("key", reader))
            let (primary, _) = try await servers("key", cluster)
            try await primary.pause()
            try await givesUp("key", reader)
            try await tells("value", for: "key", reader.level)
            let hits = reader.level.statistics.replicaHits
            for read in 1...5 {
                #expect(try await cache.get("key") == "value")
                #expect(cache.resident("key", at: .coarse) == nil)
                #expect(reader.level.statistics.replicaHits == hits + read)
            }
            // Not to who wants nothing but what is fresh.
            await #expect(throws: RedisError.self) { try await reader.level.get("key", .fresh) }
            // What a replica does not have comes from the source.
            let other = TestCluster.key("other", in: Int(slot("key")), in: keyspace)
            #expect(try await cache.get(other) == "source 1")
            try await primary.resume()
            while reader.level.statistics.hits == 0 || cache.resident("key", at: .coarse) == nil {
                #expect(try await cache.get("key") == "value")
            }
            #expect(asked.withLock { $0 } == 1)
        }
    }

    @Test("all of that works under the rules for it, and no node refuses anything")
    func leastRights() async throws {
        let rules = AccessRules(for: [.replicas], keyspaces: [keyspace], topology: .cluster)
        try await with([.init(stringLiteral: "user cache on >pw \(rules)")]) { cluster in
            let reader = try await instance(cluster, user: "cache")
            try await reader.level.set("value", for: "key")
            try await follows("key", reader, since: change("key", reader))
            let (primary, _) = try await servers("key", cluster)
            try await primary.pause()
            try await givesUp("key", reader)
            try await tells("value", for: "key", reader.level)
            #expect(reader.level.statistics.replicaHits > 0)
            try await primary.resume()
            for server in cluster.primaries + cluster.replicas {
                let refused = try await server.command("ACL", "LOG").elements?.map { "\($0)" }
                #expect(refused == [])
            }
        }
    }

    @Test("a batch: only the keys of the primary that stands still come from a replica")
    func batch() async throws {
        try await with { cluster in
            let reader = try await instance(cluster)
            let keys = TestCluster.keys("key", of: cluster)
            for key in keys { try await reader.level.set(key, for: key) }
            for key in keys { try await follows(key, reader, since: change(key, reader)) }
            try await cluster.primaries[1].pause()
            try await givesUp(keys[1], reader)
            try await tells(keys[1], for: keys[1], reader.level)
            let before = reader.level.statistics
            #expect(try await reader.level.get(keys) == keys)
            #expect(reader.level.statistics.replicaHits == before.replicaHits + 1)
            #expect(reader.level.statistics.hits == before.hits + 2)
            try await cluster.primaries[1].resume()
        }
    }

    @Test(
        "a replica that follows no more is not read when the limit has passed, and before that by no instance that knows better"
    )
    func cutOff() async throws {
        try await with { cluster in
            let (writer, reader) = (try await instance(cluster), try await instance(cluster))
            let brief = try await instance(cluster, limit: .seconds(5))
            // Two that are told of nothing.
            let (unlinked, briefUnlinked) = (unlinked(reader), unlinked(brief))
            try await writer.level.set("old", for: "key")
            for level in [reader.level, unlinked, briefUnlinked] { #expect(try await level.get("key") == "old") }
            try await follows("key", reader, since: change("key", reader))
            let (primary, _) = try await servers("key", cluster)
            try await cutOff(primary)
            try await writer.level.set("new", for: "key")
            // The reader is told, and from then on no replica has what it knows.
            while try await reader.level.get("key") != "new" { try await nextTurn() }
            try await follows("key", reader, since: change("key", reader), false)
            try await primary.pause()
            try await givesUp("key", reader)
            await #expect(throws: RedisError.self) { try await reader.level.get("key") }
            // Without such knowledge the limit decides.
            try await tells("old", for: "key", unlinked)
            try await follows("key", brief, since: .distantPast, false)
            try await givesUp("key", brief)
            await #expect(throws: RedisError.self) { try await briefUnlinked.get("key") }
            #expect(reader.level.statistics.replicaHits == 0)
            #expect(unlinked.statistics.replicaHits == 1 && briefUnlinked.statistics.replicaHits == 0)
            try await primary.resume()
        }
    }

    @Test(
        "what this instance has removed, or invalidated by tag, does not come back from a replica that has not heard of it"
    )
    func ownChanges() async throws {
        try await with { cluster in
            let reader = try await instance(cluster)
            // Instants of changes are kept by hash: those of others must not count as one of these keys.
            func key(_ base: String) -> String {
                let row = { (key: String) in (reader.level.fingerprint(of: key) >> 16) % UInt64(RecentChanges.rows) }
                return (0...).lazy.map { TestCluster.key("\(base)\($0) ", in: Int(slot("key")), in: keyspace) }
                    .first { row($0) != row("key") } ?? base
            }
            let (tagged, untouched) = (key("tagged"), key("untouched"))
            for key in ["key", untouched] { try await reader.level.set("old", for: key) }
            try await reader.level.set("old", for: tagged, tags: ["t"])
            for key in ["key", tagged, untouched] { try await follows(key, reader, since: change(key, reader)) }
            let (primary, _) = try await servers("key", cluster)
            try await cutOff(primary)
            try await reader.level.remove("key")
            try await primary.pause()
            try await givesUp("key", reader)
            await #expect(throws: RedisError.self) { try await reader.level.get("key") }
            for key in [untouched, tagged] { try await tells("old", for: key, reader.level) }
            try await primary.resume()
            while (try? await reader.level.invalidate(tags: ["t"])) == nil { try await nextTurn() }
            try await primary.pause()
            try await givesUp("key", reader)
            let hits = reader.level.statistics.replicaHits
            await #expect(throws: RedisError.self) { try await reader.level.get(tagged) }
            #expect(reader.level.statistics.replicaHits == hits)
            try await primary.resume()
        }
    }

    @Test("a replica that has gone to another primary is not read")
    func leaves() async throws {
        try await with { cluster in
            let (writer, reader) = (try await instance(cluster), try await instance(cluster))
            try await writer.level.set("value", for: "key")
            #expect(try await reader.level.get("key") == "value")
            try await follows("key", reader, since: change("key", reader))
            let (primary, replica) = try await servers("key", cluster)
            let other = try #require(cluster.primaries.first { $0 !== primary })
            let identity = try await other.command("CLUSTER", "MYID").text
            try await replica.command("CLUSTER", "REPLICATE", identity)
            try await primary.pause()
            try await givesUp("key", reader)
            await #expect(throws: RedisError.self) { try await reader.level.get("key") }
            #expect(reader.level.statistics.replicaHits == 0)
            try await primary.resume()
        }
    }

    @Test("without the option no replica is talked to, and a primary's failure is an error as ever")
    func off() async throws {
        try await with { cluster in
            let reader = try ClusterInstance(cluster, keyspace, Self.bePatient)
            try await reader.level.ready(within: .seconds(60))
            try await reader.level.set("value", for: "key")
            let (primary, replica) = try await servers("key", cluster)
            try await primary.pause()
            try await givesUp("key", reader)
            await #expect(throws: RedisError.self) { try await reader.level.get("key") }
            #expect(try await replica.command("CLIENT", "LIST").text.contains("name=strata") == false)
            try await primary.resume()
        }
    }
}

extension TestCluster {
    /// A key whose value lies in a slot, whose name begins so.
    static func key(_ base: String, in slot: Int, in keyspace: Keyspace) -> String {
        var number = 0
        while Int(HashSlot.of(keyspace.names(for: "\(base)\(number)".keyBytes).value)) != slot { number += 1 }
        return "\(base)\(number)"
    }
}
