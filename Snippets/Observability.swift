// The samples of docs/observability.md; `.ci/snippets` compares the two.

import Strata
import StrataRedis

#if Observability
import Logging
import ServiceLifecycle
import StrataObservability

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
#endif
