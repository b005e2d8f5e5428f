// The samples of docs/observability.md; `.ci/snippets` compares the two.

import Strata
import StrataRedis

#if Observability
import Logging
import ServiceLifecycle
import StrataObservability

#if canImport(StrataHummingbird) && Hummingbird
import Hummingbird
import Metrics
#endif

struct Product: Codable, Sendable {
    var id: Int
    var name: String
}

struct Database: Sendable {
    func product(_ id: Int) async throws -> Product? { nil }
}

func begin(redis: RedisClient, database: Database) async throws {
    let level = RedisLevel<Int, Product>(redis, keyspace: "products")
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(level.fetching { id in try await database.product(id) })
    // snippet.observability-begin
    let metrics = CacheMetrics()
    try metrics.add(products, as: "products")
    try await metrics.run()
    // snippet.end
}

func service(redis: RedisClient, metrics: CacheMetrics, logger: Logger) async throws {
    // snippet.observability-service
    let group = ServiceGroup(services: [redis, metrics], gracefulShutdownSignals: [.sigterm], logger: logger)
    try await group.run()
    // snippet.end
}

func registry(caches: RedisCaches, metrics: CacheMetrics) throws {
    // snippet.observability-registry
    try metrics.add(caches.registry)
    // snippet.end
}

func consistency(redis: RedisClient, metrics: CacheMetrics) async throws {
    // snippet.observability-consistency
    let monitor = ConsistencyMonitor(redis, keyspace: "products")
    try metrics.add(consistency: monitor, as: "products")
    await monitor.run()  // or give it to a ServiceGroup
    // snippet.end
}

func fleet(redis: RedisClient, database: Database) async {
    // snippet.observability-fleet
    let memory = MemoryLevel<Int, Product>(limit: .entries(10_000))
    let level = RedisLevel<Int, Product>(redis, keyspace: "products")
    let products = memory.compose(level.fetching { id in try await database.product(id) })
    let member = FleetMember()
    member.add(products, of: level, memory: memory)
    await member.run()
    // snippet.end
}

func observe(redis: RedisClient, database: Database, logger: Logger) async {
    let level = RedisLevel<Int, Product>(redis, keyspace: "products")
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(level.fetching { id in try await database.product(id) })
    // snippet.observability-events
    let events = products.observe([.storeRefused, .linkLost, .circuitOpened])
    for await event in events {
        logger.notice("\(event)", metadata: ["dropped": "\(events.dropped)"])
    }
    // snippet.end
}

func spans(redis: RedisClient, database: Database) {
    let memory = MemoryLevel<Int, Product>(limit: .entries(10_000))
    let level = RedisLevel<Int, Product>(redis, keyspace: "products")
    // snippet.observability-spans
    let fetching = level.fetching { id in try await database.product(id) }
    let products = memory.compose(fetching.traced(as: "products"))
    // snippet.end
    withExtendedLifetime(products) {}
}

#if canImport(StrataHummingbird) && Hummingbird
/// Stands for the registry of swift-prometheus, which Strata does not depend on.
final class PrometheusCollectorRegistry: Sendable {
    func emit(into buffer: inout [UInt8]) {}
}

/// Stands for the factory of swift-prometheus.
struct PrometheusMetricsFactory: MetricsFactory {
    var registry: PrometheusCollectorRegistry

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        NOOPMetricsHandler.instance
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        NOOPMetricsHandler.instance
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        NOOPMetricsHandler.instance
    }

    func destroyCounter(_ handler: any CounterHandler) {}

    func destroyRecorder(_ handler: any RecorderHandler) {}

    func destroyTimer(_ handler: any TimerHandler) {}
}

func prometheus(
    router: Router<BasicRequestContext>,
    redis: RedisClient,
    products: some CacheLevel
) throws -> some ApplicationProtocol {
    // snippet.observability-prometheus
    let registry = PrometheusCollectorRegistry()
    MetricsSystem.bootstrap(PrometheusMetricsFactory(registry: registry))

    let metrics = CacheMetrics()
    try metrics.add(products, as: "products")

    router.get("metrics") { _, _ -> Response in
        var text: [UInt8] = []
        registry.emit(into: &text)
        return Response(
            status: .ok,
            headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: .init(byteBuffer: ByteBuffer(bytes: text))
        )
    }
    let service = Application(router: router, services: [redis, metrics, DrainService(products)])
    // snippet.end
    return service
}
#endif
#endif
