import ArgumentParser
import Configuration
import Hummingbird
import Logging
import StrataObservability
import StrataRedis

/// One instance of the service.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serves the catalogue until it is told to stop.",
        discussion: """
            By the environment: STRATA_REDIS_URL, SHOP_DATABASE (a path), SHOP_PORT (0 for any; it is printed), SHOP_DATABASE_DELAY \
            (milliseconds).
            """
    )

    func run() async throws {
        let settings = ConfigReader(provider: EnvironmentVariablesProvider())
        var logger = Logger(label: "shop")
        logger.logLevel = .error
        let redis = try RedisClient(settings.requiredString(forKey: "strata.redis.url"))
        let catalogue = try Catalogue(
            path: settings.requiredString(forKey: "shop.database"),
            delay: .milliseconds(settings.int(forKey: "shop.database.delay", default: 20))
        )
        let cache = ProductCache(redis, catalogue)
        // Goes to the backend that `MetricsSystem.bootstrap` was given; here there is none.
        let metrics = CacheMetrics()
        try metrics.add(cache.products, as: "products")
        let service = Application(
            router: ShopRoutes(catalogue: catalogue, cache: cache, redis: redis).router(),
            configuration: .init(
                address: .hostname("127.0.0.1", port: settings.int(forKey: "shop.port", default: 8080))
            ),
            services: [redis, metrics],
            onServerRunning: { channel in Output.line("port \(channel.localAddress?.port ?? 0)") },
            logger: logger
        )
        try await service.runService()
    }
}
