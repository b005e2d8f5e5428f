import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("A name with several addresses", .timeLimit(.minutes(5)))
struct AddressOrderTests {
    @Test("one that takes connections and never answers does not keep the others from being tried")
    func silent() async throws {
        let silent = try await ScriptedServer.start(script: [.hang])
        let server = try await RedisServer.start()
        let addresses = try [silent.endpoint.port, server.port]
            .map { Resolution.resolve(host: "127.0.0.1", port: try #require($0)) }
        var configuration = RedisConfiguration(endpoint: .tcp(host: "cache.strata.test", port: 6379))
        configuration.lookUp = { _, _ in
            addresses.reduce(.success([])) { all, one in all.flatMap { all in one.map { all + $0 } } }
        }
        configuration.connectTimeout = .milliseconds(300)
        configuration.reconnectDelay = .milliseconds(1) ... .milliseconds(10)
        let redis = try RedisClient(configuration)
        while (try? await redis.ping()) == nil { try await nextTurn() }
        await redis.shutDown()
        await silent.stop()
        try await server.stop()
    }
}
