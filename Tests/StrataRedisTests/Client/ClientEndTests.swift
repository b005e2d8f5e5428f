import StrataRedis
import StrataTesting
import Testing

@Suite("The end of a client, and what a refused login gives away", .timeLimit(.minutes(5)))
struct ClientEndTests {
    @Test("shutting down returns, whether or not a connection was made")
    func shutDown() async throws {
        try await RedisServer.withServer { server in
            for connections in [1, 3] {
                var configuration = try RedisConfiguration.patient(server.url)
                configuration.connections = connections
                let used = try RedisClient(configuration)
                try await used.ping()
                await used.shutDown()
                let error = await #expect(throws: RedisError.self) { try await used.ping() }
                #expect(error?.code == .shutDown)
                await (try RedisClient(configuration)).shutDown()
            }
        }
    }

    @Test("a server that quotes the arguments of AUTH does not bring the password into an error")
    func secrecy() async throws {
        try await RedisServer.withServer(.init(directives: ["rename-command AUTH \"\""])) { server in
            let port = try #require(server.port)
            // Servers cut what they quote at 128 bytes, so a long password shows in part.
            for password in ["hunter2", "hunter2" + String(repeating: "x", count: 300)] {
                let redis = try TestServer.client(of: "redis://someone:\(password)@127.0.0.1:\(port)")
                let error = try await #require(throws: RedisError.self) { try await redis.ping() }
                #expect(error.code == .authentication)
                #expect(error.description.contains("127.0.0.1:\(port)"))
                #expect(!String(reflecting: error).contains("hunter2"))
                #expect(error.serverMessage?.contains("hunter2") != true)
                await redis.shutDown()
            }
        }
    }
}
