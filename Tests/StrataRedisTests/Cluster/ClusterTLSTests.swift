#if TLS
import Logging
import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("A cluster by TLS", .timeLimit(.minutes(5)))
struct ClusterTLSTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    @Test("certificates that are not trusted: one warning a node, and one for the cluster, however often it is tried")
    func untrusted() async throws {
        let authority = try await TestAuthority.make()
        let tls = RedisServer.TLS(try await authority.issue(), authorities: authority.certificate)
        let another = try await TestAuthority.make(name: "another")
        try await TestCluster.with(server: .init(tls: tls)) { cluster in
            let recorder = LogRecorder()
            var configuration = try TestCluster.configuration(of: cluster)
            configuration.tls?.authorities = another.certificate
            configuration.connectTimeout = .seconds(20)
            configuration.reconnectDelay = .milliseconds(1) ... .milliseconds(20)
            let redis = try RedisClient(configuration, logger: recorder.logger)
            for _ in 0..<4 {
                let error = await #expect(throws: RedisError.self) { try await redis.get("a") }
                #expect(error?.code == .tls && error?.tlsReason == .unknownAuthority)
                let ended = try #require(redis.cluster).rounds.ended
                while try #require(redis.cluster).rounds.ended == ended {
                    redis.cluster?.refresh()
                    try await nextTurn()
                }
            }
            let warnings = recorder.lines.filter { $0.level == .warning }
            let ofNodes = warnings.filter { $0.text.hasPrefix("no connection to Redis") }
            #expect(ofNodes.count == Set(ofNodes.map(\.text)).count && (1...3).contains(ofNodes.count), "\(warnings)")
            #expect(warnings.count { $0.text.hasPrefix("no node describes the cluster") } == 1, "\(warnings)")
            #expect(!recorder.lines.contains { $0.level == .info && $0.text.hasPrefix("no ") }, "\(recorder.lines)")
            await redis.shutDown()
        }
    }

    @Test("the files that were read for one node serve for all, also when another is found while they are replaced")
    func material() throws {
        let (one, other) = (RedisEndpoint.tcp(host: "a", port: 1), RedisEndpoint.tcp(host: "b", port: 1))
        var configuration = try RedisConfiguration(cluster: [one])
        let resources = LoopResources()
        #expect(resources.material(of: configuration, logger: nil) == nil)
        configuration.tls = TLSOptions()
        let first = try #require(resources.material(of: configuration.node(at: one), logger: nil))
        #expect(resources.material(of: configuration.node(at: other), logger: nil) === first)
        configuration.tls?.serverName = "c"
        #expect(resources.material(of: configuration.node(at: other), logger: nil) !== first)
    }

    @Test("values, links, slots that move: not one connection of ours is in plain text")
    func encrypted() async throws {
        let authority = try await TestAuthority.make()
        let tls = RedisServer.TLS(try await authority.issue(), authorities: authority.certificate)
        try await TestCluster.with(server: .init(tls: tls)) { cluster in
            let instances = try (0..<2)
                .map { _ in
                    try ClusterInstance(cluster, keyspace) { $0.tls?.authorities = authority.certificate }
                }
            let (one, other) = (instances[0], instances[1])
            for instance in instances { try await instance.level.ready(within: .seconds(60)) }
            let keys = TestCluster.keys("key", of: cluster)
            for key in keys { try await one.cache.set("1", for: key) }
            for key in keys { #expect(try await other.cache.get(key) == "1") }
            // MOVED and ASK name the ports for TLS, too.
            let slot = Int(HashSlot.of(keyspace.names(for: keys[0].keyBytes).value))
            let (source, target) = (cluster.primaries[0], cluster.primaries[1])
            try await cluster.beginMove(of: slot, from: source, to: target)
            try await cluster.moveKeys(of: slot, from: source, to: target)
            try await other.forgets(keys[0])
            #expect(try await other.cache.get(keys[0]) == "1")
            try await cluster.endMove(of: slot, from: source, to: target)
            try await one.cache.set("2", for: keys[0])
            while try await other.cache.get(keys[0]) != "2" { try await nextTurn() }
            for primary in cluster.primaries {
                let clients = try await primary.command("CLIENT", "LIST").text.split(whereSeparator: \.isNewline)
                let places = clients.filter { $0.contains(" name=strata@") }
                    .map { $0.split(separator: " ").first { $0.hasPrefix("laddr=") }.map(String.init) }
                #expect(places.count >= 4)
                #expect(Set(places) == ["laddr=127.0.0.1:\(primary.tlsPort ?? 0)"])
            }
        }
    }
}
#endif
