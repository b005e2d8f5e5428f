// The samples of docs/named-caches.md; `.ci/snippets` compares the two.

import Logging
import Strata
import StrataRedis

struct Product: Codable, Sendable {
    var id: Int
    var name: String
}

struct Cart: Codable, Sendable {
    var items: [Int]
}

struct Quote: Codable, Sendable {
    var price: Double
}

struct Session: Codable, Sendable {
    var user: Int
}

struct Invoice: Sendable {
    var bytes: [UInt8]

    static let codec = Codec(identifier: 200, encode: { $0.bytes }, decode: { Invoice(bytes: $0) })
}

struct Billing: Sendable {
    func invoice(_ id: Int) async throws -> Invoice? { nil }
}

struct Database: Sendable {
    func product(_ id: Int) async throws -> Product? { nil }
    func products(_ ids: [Int]) async throws -> [Int: Product] { [:] }
    func cart(_ id: Int, of tenant: String) async throws -> Cart? { nil }
}

struct Exchange: Sendable {
    func quote(_ symbol: String) async throws -> Quote { Quote(price: 1) }
}

func begin(database: Database) async throws {
    // snippet.named-begin
    let caches = RedisCaches(try RedisClient("redis://localhost:6379"))

    let products = try caches.cache("products", Int.self, Product.self)
    let product = try await products.get(42) { try await database.product(42) }
    // snippet.end
    _ = product
}

func plan(redis: RedisClient, logger: Logger) {
    // snippet.named-plan
    var plan = CachePlan()
    plan.defaults.freshness = .resilient
    plan.defaults.memory = .entries(10_000)
    plan.defaults.prefix = "shop"
    plan.override("sessions") {
        $0.freshness.freshFor = .seconds(60)
        $0.memory = .bytes(64 << 20)
    }
    let caches = RedisCaches(redis, plan, logger: logger)
    // snippet.end
    _ = caches
}

func source(caches: RedisCaches, database: Database) throws {
    // snippet.named-source
    try caches.makeCache("products") { (id: Int) in try await database.product(id) }

    let products = try caches.cache("products", Int.self, Product.self)  // elsewhere
    // snippet.end
    _ = products
}

func batches(caches: RedisCaches, database: Database) async throws {
    // snippet.named-several
    let products = try caches.makeCacheFetchingSeveral("products") { (ids: [Int]) in
        try await database.products(ids)
    }

    let found = try await products.get([7, 8, 9])  // one query for all that no level has
    // snippet.end
    _ = found
}

func codecs(caches: RedisCaches, billing: Billing) throws {
    // snippet.named-codec
    try caches.composeCache("invoices", codec: Invoice.codec) { (level: RedisLevel<Int, Invoice>, leases) in
        level.fetching(leases) { id in try await billing.invoice(id) }
    }
    // snippet.end
}

func registry(caches: RedisCaches, exchange: Exchange) async throws {
    // snippet.named-registry
    let quotes = try caches.registry.cache("quotes") {
        MemoryLevel<String, Quote>(limit: .entries(1_000)).compose(Source.perCall(freshness: .current))
    }
    let quote = try await quotes.get("SWFT") { try await exchange.quote("SWFT") }
    let same = try caches.registry.cache("quotes", String.self, Quote.self)  // by its types, whatever it is made of
    // snippet.end
    _ = (quote, same)
}

func tenants(caches: RedisCaches, database: Database) async throws {
    // snippet.named-tenants
    let acme = caches.tenant("acme")
    let carts = try acme.cache("carts", Int.self, Cart.self)
    let cart = try await carts.get(7) { try await database.cart(7, of: "acme") }

    try await acme.clear()  // voids what all caches have of it, in every instance
    try await acme.drop(clearing: true)  // the tenant has left
    // snippet.end
    _ = cart
}

func tenantSource(caches: RedisCaches, database: Database) async throws {
    // snippet.named-tenant-source
    try caches.makeCache("carts") { (key: TenantKey<Int>) in
        try await database.cart(key.key, of: key.tenant)
    }
    let cart = try await caches.tenant("acme").cache("carts", Int.self, Cart.self).get(7)
    // snippet.end
    _ = cart
}

#if ServiceLifecycle
import ServiceLifecycle

func service(caches: RedisCaches, server: some Service, logger: Logger) async throws {
    // snippet.named-service
    let group = ServiceGroup(services: [caches, server], gracefulShutdownSignals: [.sigterm], logger: logger)
    try await group.run()
    // snippet.end
}
#endif
