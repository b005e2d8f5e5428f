// The samples of docs/connecting.md and docs/cluster.md; `.ci/snippets` compares them.

import Logging
import Strata
import StrataRedis

struct Product: Codable, Sendable {
    var id: Int
    var name: String
}

struct Vault: Sendable {
    func password() async throws -> String { "" }
}

let vault = Vault()
let logger = Logger(label: "shop")

func byURL() throws {
    // snippet.connecting-url
    let redis = try RedisClient("rediss://cache.example.com:6380")
    // snippet.end
    withExtendedLifetime(redis) {}
}

func byOptions() throws {
    // snippet.connecting-options
    var configuration = try RedisConfiguration(url: "rediss://cache.example.com:6380")
    configuration.tls?.authorities = "/etc/redis/ca.pem"
    configuration.tls?.certificate = "/etc/redis/client.pem"
    configuration.tls?.key = "/etc/redis/client.key"
    let redis = try RedisClient(configuration, logger: logger)
    // snippet.end
    withExtendedLifetime(redis) {}
}

func cluster() throws {
    // snippet.cluster-begin
    let redis = try RedisClient("redis-cluster://10.0.0.1:6379,10.0.0.2:6379,10.0.0.3:6379")
    let products = RedisLevel<Int, Product>(redis, keyspace: "products")
    // snippet.end
    _ = products
}

func replicas() throws -> RedisClient {
    // snippet.cluster-replicas
    var configuration = try RedisConfiguration(url: "redis-cluster://10.0.0.1:6379,10.0.0.2:6379")
    configuration.replicaLagLimit = .seconds(20)
    // snippet.end
    return try RedisClient(configuration)
}

func login() async throws {
    var configuration = try RedisConfiguration(url: "rediss://cache.example.com:6380")
    // snippet.connecting-credentials
    configuration.credentials = .file("/run/secrets/redis-password", username: "cache")
    configuration.credentials = .environment(password: "REDIS_PASSWORD", username: "REDIS_USER")
    configuration.credentials = CredentialSource(every: .seconds(300)) {
        RedisCredentials(username: "cache", password: Secret(try await vault.password()))
    }
    // snippet.end
    let redis = try RedisClient(configuration)
    // snippet.connecting-refresh
    try await redis.refreshCredentials()
    // snippet.end
    // snippet.connecting-access
    try await redis.requireAccess(AccessRules(for: [.cache], keyspaces: ["products", "prices"]))
    // snippet.end
}
