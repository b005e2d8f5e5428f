import StrataTesting

@testable import StrataRedis

/// A part of the shared server for one test, empty before and after.
struct InspectedCache {
    let server: RedisServer
    let redis: RedisClient
    let prefix: String

    static func with(
        _ adjust: (inout RedisConfiguration) -> Void = { _ in },
        _ body: (InspectedCache) async throws -> Void
    ) async throws {
        let server = try await RedisServer.shared()
        var configuration = try RedisConfiguration(url: server.url)
        configuration.username = server.credentials?.username
        configuration.password = server.credentials.map { Secret($0.password) }
        configuration.connectTimeout = .seconds(10)
        configuration.commandTimeout = .seconds(20)
        configuration.healthWindow = .seconds(20)
        configuration.redisBudget = .seconds(20)
        configuration.breaker.slowAfter = .seconds(20)
        adjust(&configuration)
        let redis = try RedisClient(configuration)
        let prefix = "inspect-\(UInt64.random(in: 0 ... .max))"
        let cache = InspectedCache(server: server, redis: redis, prefix: prefix)
        do {
            try await body(cache)
        } catch {
            await cache.end()
            throw error
        }
        await cache.end()
    }

    func keyspace(_ name: String = "things") -> Keyspace { Keyspace(name, prefix: prefix) }

    func inspector(_ name: String = "things") -> KeyspaceInspector { KeyspaceInspector(redis, keyspace(name)) }

    /// All keys with the prefix of this cache, whatever follows, besides the numbers of invalidations.
    func allNames() async throws -> Set<String> {
        var names: Set<String> = []
        for try await batch in redis.keys(beginningWith: Array(prefix.utf8)) {
            names.formUnion(batch.map(\.description).filter { !$0.hasSuffix(":t:marks") })
        }
        return names
    }

    private func end() async {
        _ = try? await redis.sweep(Array(prefix.utf8))
        await redis.shutDown()
    }
}
