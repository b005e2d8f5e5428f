// The samples of docs/warming.md; `.ci/snippets` compares the two.

import Logging
import ServiceLifecycle
import Strata
import StrataRedis

struct Product: Codable, Sendable {
    var id: Int
    var name: String
}

struct Database: Sendable {
    func product(_ id: Int) async throws -> Product? { nil }
}

func serving(redis: RedisClient, database: Database, server: any Service, logger: Logger) async throws {
    // snippet.warming-service
    let path = "/var/lib/shop/products.warm"
    let level = RedisLevel<Int, Product>(redis, keyspace: "products")
    let memory = MemoryLevel<Int, Product>(limit: .entries(10_000))
    let products = memory.compose(level.fetching { id in try await database.product(id) })
    let member = FleetMember(logger: logger)
    member.add(products, of: level, memory: memory)

    do {
        let report = try await products.restore(from: path)
        logger.info("memory was restored", metadata: ["entries": "\(report.restored)"])
        if report.restored == 0 { try await products.warm(fromInstancesOf: level) }  // a new machine has no file
    } catch {
        logger.warning("memory begins cold", metadata: ["error": "\(error)"])
    }
    let services: [any Service] = [
        redis, member, HibernationService(products, to: path, logger: logger), DrainService(products), server,
    ]
    let group = ServiceGroup(services: services, gracefulShutdownSignals: [.sigterm], logger: logger)
    try await group.run()
    // snippet.end
}

func warming(redis: RedisClient, database: Database, popular: [Int]) async throws {
    let level = RedisLevel<Int, Product>(redis, keyspace: "products")
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(level.fetching { id in try await database.product(id) })

    // snippet.warming-fleet
    let report = try await products.warm(fromInstancesOf: level)
    print("\(report.answered) of \(report.asked) instances named \(report.named) keys")
    print("\(report.warming.found) of them were in Redis, and are in memory now")
    // snippet.end

    // snippet.warming-keys
    let outcome = try await products.warm(from: popular, WarmingOptions(limit: .seconds(5)))
    print(outcome.warmed, "in memory,", outcome.fetched, "fetched,", outcome.failed, "failed,", outcome.left, "left")
    // snippet.end
}

func alone(database: Database) async throws {
    // snippet.warming-alone
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(Source(freshness: .resilient) { id in try await database.product(id) })

    try await products.restore(from: "/var/lib/shop/products.warm", codec: .cbor, unconfirmedUpTo: .seconds(300))
    // …
    try await products.hibernate(to: "/var/lib/shop/products.warm", codec: .cbor)
    // snippet.end
}
