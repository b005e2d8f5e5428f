// The samples of docs/configuration.md; `.ci/snippets` compares the two.

import Strata
import StrataRedis

#if Configuration
import Configuration
import Foundation
import Logging
import ServiceLifecycle
import StrataConfiguration

struct Product: Codable, Sendable {
    var id: Int
    var name: String
}

struct Database: Sendable {
    func product(_ id: Int) async throws -> Product? { nil }
}

func begin(database: Database, logger: Logger) async throws -> Product? {
    // snippet.configuration-begin
    let config = ConfigReader(provider: EnvironmentVariablesProvider()).scoped(to: "strata")
    let caches = try RedisCaches(config: config, logger: logger)
    let products = try caches.cache("products", Int.self, Product.self)
    let product = try await products.get(42) { try await database.product(42) }
    // snippet.end
    return product
}

func caches(config: ConfigReader, logger: Logger) throws {
    // snippet.configuration-caches
    var plan = CachePlan()
    plan.override("sessions") { $0.removals = .deferred }  // what the code says, and a configuration may change
    let caches = try RedisCaches(config: config.scoped(to: "strata"), plan: plan, logger: logger)
    // snippet.end
    _ = caches
}

func parts(config: ConfigReader) throws {
    // snippet.configuration-parts
    let redis = try RedisClient(RedisConfiguration(config: config.scoped(to: "strata.redis")))
    let policy = try FreshnessPolicy(config: config.scoped(to: "products.freshness"), default: .resilient)
    let leases = try LeaseOptions(config: config.scoped(to: "products.leases"))
    let retries = try RetryPolicy(config: config.scoped(to: "database.retry"))
    // snippet.end
    _ = (redis, policy, leases, retries)
}

func file(logger: Logger) async throws {
    // snippet.configuration-file
    let config = ConfigReader(providers: [
        EnvironmentVariablesProvider(),
        try await FileProvider<JSONSnapshot>(filePath: "/etc/shop/config.json"),
    ])
    let caches = try RedisCaches(config: config.scoped(to: "strata"), logger: logger)
    // snippet.end
    _ = caches
}

func reload(logger: Logger) async throws {
    // snippet.configuration-reload
    let file = try await ReloadingFileProvider<JSONSnapshot>(filePath: "/etc/shop/config.json")
    let config = ConfigReader(provider: file).scoped(to: "strata")
    let caches = try RedisCaches(config: config, logger: logger)
    let reload = CacheReload(of: caches, from: config, logger: logger)
    let group = ServiceGroup(services: [file, caches, reload], gracefulShutdownSignals: [.sigterm], logger: logger)
    try await group.run()
    // snippet.end
}

func policy(products: NamedCache<Int, Product>) {
    // snippet.configuration-policy
    products.lower.level.freshness.staleIfError = .seconds(86_400)  // the source is down for longer than we thought
    // snippet.end
}

func unknown(logger: Logger) throws {
    // snippet.configuration-unknown
    let names = ["products", "sessions"]
    let variables = ProcessInfo.processInfo.environment.keys
    let json = try Data(contentsOf: URL(filePath: "/etc/shop/config.json"))
    for key in UnknownKey.find(inEnvironment: variables, prefix: "STRATA", caches: names)
        + UnknownKey.find(inJSON: json, under: "strata", caches: names)
    {
        logger.warning("\(key)")  // redis.conectTimeout is not a key of Strata; did you mean redis.connectTimeout?
    }
    // snippet.end
}
#endif
