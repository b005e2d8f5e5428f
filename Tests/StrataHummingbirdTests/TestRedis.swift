#if Hummingbird
import StrataRedis
import StrataTesting

/// Clients of a server, patient enough for a busy machine.
enum TestRedis {
    static func client(of server: RedisServer) throws -> RedisClient {
        var configuration = try RedisConfiguration(url: server.url)
        configuration.connectTimeout = .seconds(10)
        configuration.commandTimeout = .seconds(20)
        configuration.redisBudget = .seconds(20)
        configuration.breaker.slowAfter = .seconds(20)
        configuration.healthWindow = .seconds(20)
        configuration.linkPingTimeout = .seconds(60)
        return try RedisClient(configuration)
    }

    /// A name that no other test has.
    static func keyspace(_ name: String) -> Keyspace { Keyspace("\(name)-\(UInt64.random(in: 0 ... .max))") }
}
#endif
