// Samples of the documentation of StrataRedis; `.ci/snippets` compares them.

import Logging
import Strata
import StrataRedis

#if ServiceLifecycle
import ServiceLifecycle
#endif

struct Product: Codable, Sendable {
    var id: Int
    var name: String
}

struct Cart: Codable, Sendable {
    var items: [Int]
}

struct Page: Codable, Sendable {
    var text: String
}

struct Report: Codable, Sendable {
    var lines: [String]
}

struct Database: Sendable {
    func product(_ id: Int) async throws -> Product? { nil }
    func cart(_ id: Int, of tenant: String) async throws -> Cart? { nil }
}

struct Vault: Sendable {
    func password() async throws -> String { "" }
}

func write(_ page: Page) async throws {}

func wholeCache(database: Database) throws {
    let redis = try RedisClient("redis://localhost:6379")
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(
            RedisLevel(redis, keyspace: "products")
                .fetching { id in try await database.product(id) }
        )
    _ = products
}

// MARK: The client

func client() async throws {
    let redis = try RedisClient("redis://localhost:6379")
    try await redis.set("greeting", Array("hello".utf8), expiringIn: .seconds(60))
    let greeting = try await redis.get("greeting")
    print(greeting ?? [])
}

func adjusting(redis: RedisClient) throws {
    try redis.adjust(redisBudget: .milliseconds(200))
}

func leased(redis: RedisClient, pages: [Page]) async throws {
    try await redis.withLease("nightly-report") { lease in
        for page in pages where lease.isHeld { try await write(page) }
    }
}

func credentials(_ configuration: inout RedisConfiguration, vault: Vault) {
    configuration.credentials = .file("/run/secrets/redis-password", username: "cache")
    configuration.credentials = .environment(password: "REDIS_PASSWORD")
    configuration.credentials = CredentialSource(every: .seconds(300)) {
        RedisCredentials(username: "cache", password: Secret(try await vault.password()))
    }
}

func sentinels() throws -> RedisClient {
    let sentinels = SentinelOptions(
        endpoints: ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map { .tcp(host: $0, port: 26_379) },
        primary: "mymaster"
    )
    let redis = try RedisClient(RedisConfiguration(sentinels: sentinels))
    return redis
}

// MARK: Access

func rules() {
    let rules = AccessRules(for: [.cache], keyspaces: ["products"])
    print("ACL SETUSER shop on >PASSWORD \(rules)")
}

func missingRules(redis: RedisClient, logger: Logger) async throws {
    let missing = try await redis.missingRules(of: AccessRules(for: [.cache], keyspaces: ["products"]))
    if !missing.isEmpty { logger.error("Redis: ACL SETUSER shop \(missing.joined(separator: " "))") }
}

// MARK: Keyspaces

func versions() {
    let authors = Keyspace("authors", version: 2)
    let articles = Keyspace("articles", version: 3, dependsOn: [authors])
    print(articles)
}

// MARK: Levels

func level() throws {
    let redis = try RedisClient("redis://localhost:6379")
    let products = RedisLevel<Int, Product>(redis, keyspace: "products", freshness: .current)
    _ = products
}

func sweeping(articles: RedisLevel<Int, Page>) async throws {
    try await articles.clear()
    try await articles.sweep(rate: 2_000) { print("\($0.removed) of \($0.looked) removed") }
}

func perCall(redis: RedisClient, database: Database, id: Int) async throws -> Product? {
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(RedisLevel(redis, keyspace: "products", freshness: .resilient).fetchingPerCall())

    let product = try await products.get(id) { try await database.product(id) }
    return product
}

func pooled(redis: RedisClient, slowLevel: some CacheLevel<Int, Report>) {
    let policy = FreshnessPolicy(freshFor: .seconds(5))
    let shared = RedisLevel<Int, Report>(redis, keyspace: "reports", freshness: policy)
    let reports = slowLevel.pooled(across: shared)
    _ = reports
}

func providers(redis: RedisClient) {
    let cache = ProviderCache(redis, keyspace: "shop", freshness: .resilient)
    _ = cache
}

// MARK: Named caches

func plan(redis: RedisClient) {
    var plan = CachePlan()
    plan.defaults.freshness = .resilient
    plan.override("sessions") { $0.freshness.freshFor = .seconds(60) }
    let caches = RedisCaches(redis, plan)
    _ = caches
}

func named(database: Database) async throws -> Product? {
    var plan = CachePlan()
    plan.defaults.freshness = .resilient
    plan.override("sessions") { $0.memory = .entries(100_000) }
    let caches = RedisCaches(try RedisClient("redis://localhost"), plan)

    let products = try caches.cache("products", Int.self, Product.self)
    let product = try await products.get(42) { try await database.product(42) }
    return product
}

func tenants(caches: RedisCaches, database: Database) async throws {
    let acme = caches.tenant("acme")
    let carts = try acme.cache("carts", Int.self, Cart.self)
    let cart = try await carts.get(7) { try await database.cart(7, of: "acme") }
    try await acme.drop(clearing: true)
    _ = cart
}

// MARK: The fleet

func member(
    products: some CacheLevel<Int, Product>,
    level: RedisLevel<Int, Product>,
    memory: MemoryLevel<Int, Product>
) async {
    let member = FleetMember()
    member.add(products, of: level, memory: memory)
    await member.run()  // or give it to a ServiceGroup
}

func consistency(redis: RedisClient) async {
    let monitor = ConsistencyMonitor(redis, keyspace: "products")
    await monitor.run()  // or give it to a ServiceGroup
}

func warming(products: some CacheLevel<Int, Product>, level: RedisLevel<Int, Product>, logger: Logger) async throws {
    let report = try await products.warm(fromInstancesOf: level)
    if report.answered == 0 { logger.info("no other instance has answered: memory begins cold") }
}

// MARK: Services

#if ServiceLifecycle
func refreshing(
    memory: MemoryLevel<Int, Product>,
    level: RedisLevel<Int, Product>,
    redis: RedisClient,
    database: Database,
    logger: Logger
) async throws {
    let products = memory.compose(level.fetching { id in try await database.product(id) })
        .refreshAll([1, 2, 3], every: .seconds(30), as: "products", over: redis)

    let group = ServiceGroup(services: [redis, products], gracefulShutdownSignals: [.sigterm], logger: logger)
    try await group.run()
}

func draining(redis: RedisClient, products: some CacheLevel<Int, Product>, logger: Logger) async throws {
    let group = ServiceGroup(
        services: [redis, DrainService(products)],
        gracefulShutdownSignals: [.sigterm],
        logger: logger
    )
    try await group.run()
}

func hibernating(
    products: Composed<MemoryLevel<Int, Product>, FetchingLevel<Int, Product>>,
    path: String,
    redis: RedisClient,
    server: any Service,
    logger: Logger
) async throws {
    do {
        let report = try await products.restore(from: path)
        logger.info("memory was restored", metadata: ["entries": "\(report.restored)"])
    } catch {
        logger.warning("memory begins cold", metadata: ["error": "\(error)"])
    }
    let services: [any Service] = [
        redis, HibernationService(products, to: path, logger: logger), DrainService(products), server,
    ]
    let group = ServiceGroup(services: services, gracefulShutdownSignals: [.sigterm], logger: logger)
    try await group.run()
}
#endif
