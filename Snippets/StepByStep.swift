// The samples of docs/step-by-step.md; `.ci/snippets` compares the two.

import Logging
import ServiceLifecycle
import Strata
import StrataRedis

/// What each section of the page adds to; `Product` stands in the page, too.
enum Shop {
    // snippet.step-product
    struct Product: Codable, Sendable {
        var id: Int
        var name: String
        var cents: Int
        var category: String
    }
    // snippet.end
}

typealias Product = Shop.Product

struct Database: Sendable {
    func product(_ id: Int) async throws -> Product? { nil }
    func save(_ product: Product) async throws {}
    func rename(category: String, to name: String) async throws {}
}

struct WebServer: Service {
    func run() async throws { try await gracefulShutdown() }
}

let database = Database()
let id = 42

func slowQuery() async throws {
    // snippet.step-memory
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(Source { id in try await database.product(id) })

    let product = try await products.get(42)
    // snippet.end
    _ = product
}

func herd() async throws {
    // snippet.step-herd
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(Source(limit: 16) { id in try await database.product(id) })
    // snippet.end
    _ = products
}

func expiry() async throws {
    // snippet.step-expiry
    let freshness = FreshnessPolicy(
        freshFor: .seconds(60),
        staleWhileRevalidate: .seconds(600)
    )
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(Source(freshness: freshness) { id in try await database.product(id) })
    // snippet.end

    // snippet.step-fresh
    let price = try await products.get(42, .fresh)?.cents
    // snippet.end
    _ = price
}

func failures() async throws {
    // snippet.step-errors
    let freshness = FreshnessPolicy(
        freshFor: .seconds(60),
        staleWhileRevalidate: .seconds(600),
        staleIfError: .seconds(86_400),
        softTimeout: .milliseconds(500),
        hardTimeout: .seconds(10)
    )
    // snippet.end
    _ = freshness
}

func fleet(freshness: FreshnessPolicy) async throws {
    // snippet.step-fleet
    let redis = try RedisClient("redis://cache.internal:6379")

    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(
            RedisLevel(redis, keyspace: "products", freshness: freshness)
                .fetching { id in try await database.product(id) }
        )
    // snippet.end

    let product = Product(id: 42, name: "kettle", cents: 1_950, category: "kitchen")
    // snippet.step-changes
    try await database.save(product)
    try await products.remove(product.id)
    // snippet.end

    // snippet.step-set
    try await products.set(product, for: product.id)
    // snippet.end
}

func groups(redis: RedisClient, freshness: FreshnessPolicy) async throws {
    // snippet.step-tags
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(
            RedisLevel(redis, keyspace: "products", freshness: freshness)
                .fetching { id, _ in
                    guard let product = try await database.product(id) else { return .absent() }
                    return .value(product, tags: ["category:\(product.category)"])
                }
        )

    try await database.rename(category: "kitchen", to: "kitchen and bath")
    try await products.invalidate(tag: "category:kitchen")
    // snippet.end
}

func outage() async throws {
    // snippet.step-outage
    var configuration = try RedisConfiguration(url: "redis://cache.internal:6379")
    configuration.redisBudget = .milliseconds(200)
    let redis = try RedisClient(configuration, logger: Logger(label: "cache"))
    // snippet.end

    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(RedisLevel(redis, keyspace: "products").fetching { id in try await database.product(id) })
    // snippet.step-failed-remove
    do {
        try await products.remove(id)
    } catch let error as RedisError {
        print("the removal is repeated when Redis is back: \(error)")
    }
    // snippet.end
}

func limits() async throws {
    // snippet.step-limits
    let budget = MemoryBudget(256 << 20)
    let products = MemoryLevel<Int, Product>(
        limit: .share(of: budget, atLeast: 64 << 20, cost: { product in 100 + product.name.utf8.count })
    )
    let pages = MemoryLevel<String, [UInt8]>(
        limit: .share(of: budget, atMost: 128 << 20, cost: { page in page.count })
    )

    MemoryPressureMonitor.shared.subscribe(products)
    MemoryPressureMonitor.shared.subscribe(pages)
    // snippet.end
}

enum Release2 {
    // snippet.step-schema
    struct Product: Codable, Sendable, SchemaVersioned {
        static let schemaVersion: UInt32 = 1

        var id: Int
        var name: String
        var price: Price
        var category: String
    }

    struct Price: Codable, Sendable {
        var amount: Int
        var currency: String
    }
    // snippet.end
}

func schema(redis: RedisClient) async throws {
    typealias OldProduct = Shop.Product
    typealias Product = Release2.Product
    typealias Price = Release2.Price

    // snippet.step-migration
    let codec = Codec<Product>.json
        .migrating { older in
            guard older.schema == 0 else { return nil }
            let old = try Codec<OldProduct>.json.decode(older.bytes)
            let price = Price(amount: old.cents, currency: "EUR")
            return Product(id: old.id, name: old.name, price: price, category: old.category)
        }
    let level = RedisLevel<Int, Product>(redis, keyspace: "products", codec: codec)
    // snippet.end
    _ = level
}

func shutdown(redis: RedisClient) async throws {
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
    let server = WebServer()

    // snippet.step-shutdown
    let group = ServiceGroup(
        services: [redis, DrainService(products), server],
        gracefulShutdownSignals: [.sigterm, .sigint],
        logger: Logger(label: "shop")
    )
    try await group.run()
    // snippet.end
}

func named(redis: RedisClient) async throws {
    // snippet.step-named
    var plan = CachePlan()
    plan.defaults.freshness = .resilient
    plan.override("prices") { $0.freshness.freshFor = .seconds(10) }
    let caches = RedisCaches(redis, plan)

    let products = try caches.cache("products", Int.self, Product.self)
    let product = try await products.get(42) { try await database.product(42) }
    // snippet.end
    _ = product
}

func watching(redis: RedisClient, freshness: FreshnessPolicy) async throws {
    // snippet.step-statistics
    let memory = MemoryLevel<Int, Product>(limit: .entries(10_000))
    let shared = RedisLevel<Int, Product>(redis, keyspace: "products", freshness: freshness)
    let products = memory.compose(shared.fetching { id in try await database.product(id) })

    print(memory.statistics.hitRatio, memory.statistics.entries, memory.statistics.evictions)
    print(shared.statistics.fetches, shared.statistics.waits, shared.statistics.failures)
    print(redis.outageStatistics.isImpaired, redis.outageStatistics.pendingInvalidations)

    for node in products.label.nodes {
        for counter in node.label.counters {
            print("\(node.path).\(counter.name)", counter.value)
        }
    }
    // snippet.end

    // snippet.step-trace
    let (product, trace) = try await products.getWithTrace(42)
    print(product?.name ?? "none", trace.state, trace.duration)
    print(trace)
    // snippet.end
}
