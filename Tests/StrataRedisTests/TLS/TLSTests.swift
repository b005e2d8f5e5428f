#if TLS
import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Redis over TLS", .timeLimit(.minutes(5)))
struct TLSTests {
    @Test(
        "values of all sizes go both ways, by name and by address, with TLS 1.2 and 1.3",
        arguments: [
            ("localhost", "TLSv1.2"), ("localhost", "TLSv1.3"), ("127.0.0.1", "TLSv1.2 TLSv1.3"),
        ]
    )
    func values(host: String, versions: String) async throws {
        try await TLSFixture.with(versions: versions) { fixture in
            let port = try #require(fixture.server.tlsPort)
            let redis = try fixture.client { $0.endpoint = .tcp(host: host, port: port) }
            try await redis.ping()
            // Around the size of a record, of the rings, and far beyond.
            for size in [0, 1, 16_383, 16_384, 16_385, 65_535, 65_536, 70_000, 5 << 20] {
                let value = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ size) }
                try await redis.set(RedisKey("k\(size)"), value)
                #expect(try await redis.get(RedisKey("k\(size)")) == value, "\(size)")
            }
            await redis.shutDown()
        }
    }

    @Test("many calls at once get their own replies, also when the wire delivers pieces of any size")
    func pieces() async throws {
        try await TLSFixture.with { fixture in
            let upstream = try #require(fixture.server.tlsEndpoint)
            let proxy = try await FaultProxy.start(to: upstream, seed: 7)
            proxy.set(.pieces(of: 1...700))
            let redis = try fixture.client(port: proxy.port)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<64 {
                    group.addTask {
                        let value = [UInt8](repeating: UInt8(number), count: 1 + number * 50)
                        try await redis.set(RedisKey("k\(number)"), value)
                        let read = try await redis.get(RedisKey("k\(number)"))
                        #expect(read == value)
                    }
                }
                try await group.waitForAll()
            }
            await redis.shutDown()
            await proxy.stop()
        }
    }

    @Test("another instance's change reaches memory over an encrypted link")
    func link() async throws {
        try await TLSFixture.with { fixture in
            let url = try #require(fixture.server.tlsURL) + "?ca=\(fixture.authority.certificate)"
            let one = try Instance(url, "products") { $0.linkPingTimeout = .seconds(20) }
            let other = try Instance(url, "products") { $0.linkPingTimeout = .seconds(20) }
            try await one.listen()
            try await other.cache.set("1", for: "a")
            await one.hears("a")
            #expect(try await one.cache.get("a") == "1")
            try await other.cache.set("2", for: "a")
            await one.hears("a", times: 2)
            #expect(one.remembers("a") == nil)
            #expect(try await one.cache.get("a") == "2")
        }
    }

    @Test("a second connection resumes the session of the first", arguments: ["TLSv1.2", "TLSv1.3"])
    func resumption(version: String) async throws {
        try await TLSFixture.with(versions: version) { fixture in
            let proxy = try await FaultProxy.start(to: try #require(fixture.server.tlsEndpoint))
            let redis = try fixture.client(port: proxy.port)
            try await redis.ping()
            let whole = proxy.snapshot.counts.toClient.received
            var accepted = proxy.snapshot.counts.accepted
            for _ in 0..<3 {
                let before = proxy.snapshot.counts.toClient.received
                proxy.resetConnections()
                while (try? await redis.ping()) == nil { try await nextTurn() }
                #expect(proxy.snapshot.counts.accepted == accepted + 1)
                accepted += 1
                // Without the certificate of the server and its proof.
                #expect(proxy.snapshot.counts.toClient.received - before < whole - 300)
            }
            await redis.shutDown()
            await proxy.stop()
        }
    }

    @Test("connections that come and go leave no descriptor behind, and take their turn without a pause")
    func churn() async throws {
        try await TLSFixture.with { fixture in
            let proxy = try await FaultProxy.start(to: try #require(fixture.server.tlsEndpoint))
            for _ in 0..<20 {
                let redis = try fixture.client(port: proxy.port)
                try await redis.ping()
                await redis.shutDown()
            }
            try await proxy.wait { $0.connections.isEmpty && $0.counts.accepted == 20 }
            await proxy.stop()
        }
    }
}
#endif
