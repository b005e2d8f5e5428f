import StrataTesting
import Testing

@Suite("Several servers together", .timeLimit(.minutes(1)))
struct TopologyTests {
    @Test("Replicas follow the primary, and Sentinels replace it when it dies")
    func failover() async throws {
        var configuration = RedisReplication.Configuration()
        configuration.replicas = 2
        configuration.server.credentials = .init(password: "secret")
        let set = try await RedisReplication.start(configuration)
        #expect(set.servers.count == 3)
        #expect(set.sentinels.count == 3)
        #expect(try await set.currentPrimary() === set.primary)
        try await set.primary.command("SET", "k", "v")
        #expect(try await set.primary.command("WAIT", "2", "5000").integer == 2)
        await expect(code: .errorReply) { try await set.replicas[0].command("SET", "k", "v") }

        try await set.primary.kill()
        let promoted = try await set.waitForFailover(from: set.primary)
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
}
