import StrataTesting
import Testing

@Suite("Several servers together", .timeLimit(.minutes(5)))
struct TopologyTests {
    @Test("Replicas follow the primary, and Sentinels replace it when it dies")
    func failover() async throws {
        var configuration = RedisReplication.Configuration()
        configuration.replicas = 2
        configuration.server.credentials = .init(password: "secret")
        // Longer than a busy machine keeps a server from answering.
        configuration.downAfter = .seconds(20)
        let set = try await RedisReplication.start(configuration)
        #expect(set.servers.count == 3)
        #expect(set.sentinels.count == 3)
        #expect(try await set.currentPrimary() === set.primary)
        try await set.primary.command("SET", "k", "v")
        try await arrival(of: "v", at: set.replicas)
        await expect(code: .errorReply) { try await set.replicas[0].command("SET", "k", "v") }

        try await primaries(of: set, areDownAfter: 2_000)
        try await set.primary.kill()
        let promoted = try await set.waitForFailover(from: set.primary, within: .seconds(50))
        try await primaries(of: set, areDownAfter: 60_000)
        #expect(promoted !== set.primary)
        #expect(try await promoted.command("GET", "k").text == "v")
        #expect(try await promoted.command("SET", "k", "w").text == "OK")
        #expect(try await set.currentPrimary() === promoted)
        let folders = (set.servers + set.sentinels).compactMap(\.folder)
        try await set.stop()
        #expect(folders.count == 6)
        #expect(!folders.contains(where: exists))
    }

    @Test("The nodes of a cluster share the slots and know their replicas")
    func cluster() async throws {
        var configuration = RedisCluster.Configuration()
        configuration.replicasPerPrimary = 1
        configuration.nodeTimeout = .seconds(20)
        let cluster = try await RedisCluster.start(configuration)
        #expect(cluster.primaries.count == 3)
        #expect(cluster.replicas.count == 3)
        for (index, primary) in cluster.primaries.enumerated() {
            let replicas = try await primary.command("INFO", "replication").text
            #expect(replicas.contains("connected_slaves:1"))
            #expect(replicas.contains("port=\(try #require(cluster.replicas[index].port)),"))
        }
        let slot = try #require(try await cluster.primaries[0].command("CLUSTER", "KEYSLOT", "foo").integer)
        #expect(slot == 12182)
        let error = await #expect(throws: HarnessError.self) {
            try await cluster.primaries[0].command("SET", "foo", "bar")
        }
        #expect(error?.message == "MOVED 12182 127.0.0.1:\(try #require(cluster.primaries[2].port))")
        #expect(try await cluster.primaries[2].command("SET", "foo", "bar").text == "OK")
        try await cluster.stop()
        #expect(cluster.nodes.filter(\.isRunning).isEmpty)
    }

    @Test("Each server of a replicated set can stand still, die, and come back with and without its data")
    func replicationFaults() async throws {
        var configuration = RedisReplication.Configuration()
        // Longer than a busy machine keeps a server from answering.
        configuration.downAfter = .seconds(20)
        let set = try await RedisReplication.start(configuration)
        let (primary, replica, sentinel) = (set.primary, set.replicas[0], set.sentinels[0])
        try await primary.command("SET", "k", "v")
        try await arrival(of: "v", at: [replica])

        // A Sentinel knows its primary and the others after each.
        try await sentinel.pause()
        try await sentinel.resume()
        try await sentinel.kill()
        #expect(try await set.currentPrimary() === primary)
        for keepingData in [true, false] {
            try await sentinel.restart(keepingData: keepingData)
            #expect(
                try await sentinel.command("SENTINEL", "MASTER", set.name).fields["num-other-sentinels"]?.integer == 2
            )
        }

        // A replica fetches what it has lost from its primary.
        try await replica.pause()
        try await replica.resume()
        for keepingData in [true, false] {
            try await replica.kill()
            try await replica.restart(keepingData: keepingData)
            try await until("the replica to follow") { try await replica.command("GET", "k").text == "v" }
            #expect(try await replica.command("ROLE").elements?.first?.text == "slave")
        }

        // The primary stands still for long enough to be replaced; when it goes on, it becomes a replica.
        try await primaries(of: set, areDownAfter: 500)
        try await primary.pause()
        let promoted = try await set.waitForFailover(from: primary, within: .seconds(50))
        try await primaries(of: set, areDownAfter: 60_000)
        try await primary.resume()
        try await until("the old primary to follow") {
            try await primary.command("ROLE").elements?.first?.text == "slave"
        }
        #expect(promoted === replica)

        // Restarted too fast for the Sentinels to notice: the same one is the primary, with its data or without.
        try await promoted.restart(keepingData: true)
        #expect(try await set.currentPrimary() === promoted)
        #expect(try await promoted.command("GET", "k").text == "v")
        try await promoted.restart(keepingData: false)
        #expect(try await promoted.command("DBSIZE").integer == 0)
        try await set.stop()
    }

    @Test("Each node of a cluster can stand still, die, and come back with and without its data, in its place")
    func clusterFaults() async throws {
        let cluster = try await RedisCluster.start()
        let node = cluster.primaries[2]
        let identity = try await node.command("CLUSTER", "MYID").text
        try await node.command("SET", "foo", "bar")
        try await node.pause()
        try await node.resume()
        #expect(try await node.command("GET", "foo").text == "bar")
        for keepingData in [true, false] {
            if !keepingData { try await node.kill() }
            try await node.restart(keepingData: keepingData)
            #expect(try await node.command("CLUSTER", "MYID").text == identity)
            // Its slots are its own as soon as it knows the others again.
            try await until("the cluster to be whole") {
                try await node.command("CLUSTER", "INFO").text.contains("cluster_state:ok")
            }
            #expect(try await node.command("GET", "foo").text == (keepingData ? "bar" : ""))
            #expect(try await cluster.owner(of: 12182) === node)
        }
        try await cluster.stop()
    }

    /// Has Sentinels take a primary for dead that has been silent for so many milliseconds.
    private func primaries(of set: RedisReplication, areDownAfter silence: Int) async throws {
        for sentinel in set.sentinels {
            try await sentinel.command("SENTINEL", "SET", set.name, "down-after-milliseconds", "\(silence)")
        }
    }

    /// Asks until it is so; a server that does not answer yet is asked again.
    private func until(_: String, _ isSo: () async throws -> Bool) async throws {
        while (try? await isSo()) != true { try await nextTurn() }
    }

    /// Waits until servers have a value under `k`.
    ///
    /// WAIT would not do: each command has a connection of its own, and WAIT tells of writes of the same connection.
    private func arrival(of value: String, at servers: [RedisServer]) async throws {
        for server in servers {
            while try await server.command("GET", "k").text != value { try await nextTurn() }
        }
    }
}
