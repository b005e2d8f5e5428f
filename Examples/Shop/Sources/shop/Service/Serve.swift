import ArgumentParser
import Configuration
import Foundation
import Hummingbird
import Logging
import Metrics
import Strata
import StrataObservability
import StrataRedis
import Tracing

/// One instance of the service.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serves the catalogue until it is told to stop.",
        discussion: """
            By the environment: STRATA_REDIS_URL, SHOP_DATABASE (a path), SHOP_PORT (0 for any; it is printed), \
            SHOP_DATABASE_DELAY (milliseconds), SHOP_INSTANCE (what the instance calls itself), LOG_LEVEL. The log goes \
            to the standard error output.
            """
    )

    func run() async throws {
        let settings = ConfigReader(provider: EnvironmentVariablesProvider())
        var logger = Logger(label: "shop")
        logger.logLevel = settings.string(forKey: "log.level", as: Logger.Level.self, default: .info)
        var server = try RedisConfiguration(url: settings.requiredString(forKey: "strata.redis.url", isSecret: true))
        // Host and process, unless told: others see by it whom they wait for.
        server.instanceName = settings.string(forKey: "shop.instance", default: server.instanceName)
        // With a logger, or an outage goes by without a line.
        let redis = try RedisClient(server, logger: logger)
        let database = try settings.requiredString(forKey: "shop.database")
        // A service finds its database; the example makes one, so that an instance runs by itself.
        if !FileManager.default.fileExists(atPath: database) { try Catalogue.create(path: database) }
        let catalogue = try Catalogue(
            path: database,
            delay: .milliseconds(settings.int(forKey: "shop.database.delay", default: 20))
        )
        let cache = ProductCache(redis, catalogue, logger: logger)
        MemoryPressureMonitor.shared.subscribe(cache.memory)
        let page = TextMetrics()
        MetricsSystem.bootstrap(page)
        let traces = TextTraces()
        InstrumentationSystem.bootstrap(traces)
        // Read as often as the show's Prometheus looks; ten seconds, the default, are often enough for a service.
        let metrics = CacheMetrics(interval: .seconds(1))
        try metrics.add(cache.products, as: "products")
        // Lists the instance for stratactl and the dashboard.
        let member = FleetMember(logger: logger)
        member.add(cache.products, of: cache.level, memory: cache.memory)
        let service = Application(
            router: ShopRoutes(catalogue: catalogue, cache: cache, redis: redis, metrics: page, traces: traces)
                .router(),
            configuration: .init(
                address: .hostname("127.0.0.1", port: settings.int(forKey: "shop.port", default: 8080))
            ),
            // They end in the reverse order, after the server: what runs in the background stores what it brings, and
            // then Redis is told of the last changes.
            services: [redis, metrics, member, DrainService(cache.products)],
            onServerRunning: { channel in Output.line("port \(channel.localAddress?.port ?? 0)") },
            logger: logger
        )
        try await service.runService()
    }
}
