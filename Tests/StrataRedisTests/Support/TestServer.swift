import StrataRedis
import StrataTesting

/// Connections to the server that tests share, patient enough for a busy machine.
enum TestServer {
    /// A client of the shared server.
    static func client(_ adjust: (inout RedisConfiguration) -> Void = { _ in }) async throws -> RedisClient {
        try client(of: await RedisServer.shared(), adjust)
    }

    /// A client of a server.
    static func client(
        of server: RedisServer,
        _ adjust: (inout RedisConfiguration) -> Void = { _ in }
    ) throws -> RedisClient {
        try client(of: server.url) { configuration in
            if let credentials = server.credentials {
                configuration.username = credentials.username
                configuration.password = Secret(credentials.password)
            }
            adjust(&configuration)
        }
    }

    /// A client of a server that a test plays.
    static func client(
        of url: String,
        _ adjust: (inout RedisConfiguration) -> Void = { _ in }
    ) throws -> RedisClient {
        var configuration = try RedisConfiguration(url: url)
        configuration.connectTimeout = .seconds(10)
        configuration.commandTimeout = .seconds(20)
        configuration.redisBudget = .seconds(20)
        configuration.breaker.slowAfter = .seconds(20)
        configuration.healthWindow = .seconds(20)
        configuration.linkPingTimeout = .seconds(60)
        adjust(&configuration)
        return try RedisClient(configuration)
    }

    /// A name that no other test has.
    static func uniqueName(_ base: String = "test") -> String {
        "\(base)-\(UInt64.random(in: 0 ... .max))"
    }
}
