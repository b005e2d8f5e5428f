// The samples of docs/recipes.md; `.ci/snippets` compares the two.

import Foundation
import Logging
import ServiceLifecycle
import Strata
import StrataCompression
import StrataDisk
import StrataRedis

#if canImport(StrataCrypto) && Crypto
import StrataCrypto
#endif

struct Product: Codable, Sendable {
    var id: Int
    var name: String
    var cents: Int
    var category: String
}

struct User: Codable, Sendable {
    var mail: String
}

struct Feed: Codable, Sendable {
    var etag: String
    var body: String
}

struct FeedAnswer: Sendable {
    var status: Int
    var etag: String
    var body: String
}

struct NotFound: Error {}

struct Database: Sendable {
    func product(_ id: Int) async throws -> Product? { nil }
    func product(_ id: Int, of tenant: String) async throws -> Product? { nil }
    func products(_ ids: [Int]) async throws -> [Product] { [] }
    func user(mail: String) async throws -> User? { nil }
    func insert(_ user: User) async throws {}
    func bestsellers() async throws -> [Int] { [] }
}

struct Feeds: Sendable {
    func get(_ url: String, ifNoneMatch etag: String?) async throws -> FeedAnswer {
        FeedAnswer(status: 304, etag: "", body: "")
    }
}

func fetchPerCall(redis: RedisClient, database: Database, id: Int) async throws {
    // snippet.recipe-per-call
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(RedisLevel(redis, keyspace: "products", freshness: .resilient).fetchingPerCall())

    let product = try await products.get(id) { try await database.product(id) }  // nil is remembered, too
    // snippet.end
    _ = product
}

func fetchPerCallWithTags(
    _ products: some SourcedLevel<Int, Product>,
    database: Database,
    id: Int
) async throws -> Product? {
    // snippet.recipe-per-call-outcome
    let product = try await products.get(id, .fresh) { context in
        guard let product = try await database.product(id) else { return .absent(tags: ["product:\(id)"]) }
        return .value(product, tags: ["product:\(id)", "category:\(product.category)"])
    }
    // snippet.end
    return product
}

func staleWhileRevalidate(redis: RedisClient, database: Database) async throws {
    // snippet.recipe-stale
    let policy = FreshnessPolicy(
        freshFor: .seconds(60),
        staleWhileRevalidate: .seconds(600),
        staleIfError: .seconds(86_400),
        softTimeout: .milliseconds(300)
    )
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(
            RedisLevel(redis, keyspace: "products", freshness: policy)
                .fetching { id in try await database.product(id) }
        )
    // snippet.end
    _ = products
}

func tagsOfFetchedValues(redis: RedisClient, database: Database) async throws {
    // snippet.recipe-tags
    let products = RedisLevel<Int, Product>(redis, keyspace: "products")
        .fetching { id, _ in
            guard let product = try await database.product(id) else { return .absent(tags: ["product:\(id)"]) }
            return .value(product, tags: ["product:\(id)", "category:\(product.category)"])
        }

    try await products.invalidate(tag: "category:tea")  // after an import of all teas
    // snippet.end
}

func negativeEntries(redis: RedisClient, database: Database) async throws {
    // snippet.recipe-absent
    let policy = FreshnessPolicy(freshFor: .seconds(300), absentFor: .seconds(10))
    let users = MemoryLevel<String, User>(limit: .entries(10_000))
        .compose(
            RedisLevel(redis, keyspace: "users by mail", freshness: policy)
                .fetching { mail in try await database.user(mail: mail) }  // nil is remembered for 10 s
        )

    func register(_ user: User) async throws {
        try await database.insert(user)
        try await users.remove(user.mail)  // ends the remembered absence everywhere
    }
    // snippet.end
    try await register(User(mail: ""))
}

func conditionalRefresh(redis: RedisClient, http: Feeds) async throws {
    // snippet.recipe-not-modified
    let feeds = RedisLevel<String, Feed>(redis, keyspace: "feeds", freshness: .resilient)
        .fetching { url, context in
            let answer = try await http.get(url, ifNoneMatch: context.old?.etag)
            if answer.status == 304 { return .notModified() }
            return .value(Feed(etag: answer.etag, body: answer.body))
        }
    // snippet.end
    _ = feeds
}

func batchEndpoint(redis: RedisClient, database: Database) async throws {
    // snippet.recipe-batch
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(
            RedisLevel(redis, keyspace: "products")
                .fetchingSeveral { ids in
                    let rows = try await database.products(ids)
                    return Dictionary(rows.map { ($0.id, $0) }) { first, _ in first }
                }
        )

    let page = try await products.get([3, 1, 2])  // [Product?], in this order
    // snippet.end
    _ = page
}

func tenants(redis: RedisClient, database: Database) async throws {
    // snippet.recipe-tenants
    func products(of tenant: String) -> FetchingLevel<Int, Product> {
        RedisLevel<Int, Product>(redis, keyspace: Keyspace("products", prefix: tenant))
            .fetching { id in try await database.product(id, of: tenant) }
    }
    let acme = products(of: "acme")  // make it once for each tenant, and keep it
    try await acme.clear()  // no other tenant notices
    // snippet.end

    // snippet.recipe-tenant-parts
    let all = MemoryLevel<TenantKey<Int>, Product>(limit: .entries(100_000))
        .compose(
            RedisLevel(redis, keyspace: "products")
                .fetching { key in try await database.product(key.key, of: key.tenant) }
        )
    let globex = all.tenant("globex")  // a value: make it for each request, or keep it
    let product = try await globex.get(42)
    try await globex.clear()  // no other tenant notices
    // snippet.end
    _ = product
}

// snippet.recipe-schema-types
struct Price: Codable, Sendable, SchemaVersioned {
    static let schemaVersion: UInt32 = 2  // 1 had the price in euros
    var cents: Int
}

struct PriceOfRelease1: Codable, Sendable {
    var euros: Double
}
// snippet.end

func rollingASchema(redis: RedisClient) async throws {
    // snippet.recipe-schema
    let codec = Codec<Price>.json
        .migrating { older in
            guard older.schema == 1 else { return nil }
            let old = try Codec<PriceOfRelease1>.json.decode(older.bytes)
            return Price(cents: Int((old.euros * 100).rounded()))
        }
    let prices = RedisLevel<Int, Price>(redis, keyspace: "prices", codec: codec)
    // snippet.end
    _ = prices
}

func fetchOptions(products: FetchingLevel<Int, Product>, id: Int) async throws {
    // snippet.recipe-fetch-options
    let options = ReadOptions(
        softTimeout: .milliseconds(50),
        hardTimeout: .milliseconds(300),
        priority: .background,
        tags: ["campaign:spring"],
        lifetime: EntryLifetime(freshFor: .seconds(20))
    )
    let teaser = try await products.get(id, options)
    let now = try await products.get(id, ReadOptions(waitsForOthers: false))
    // snippet.end
    print(teaser as Any, now as Any)
}

func scheduled(redis: RedisClient, database: Database, logger: Logger) async throws {
    // snippet.recipe-refresh
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(RedisLevel(redis, keyspace: "products").fetching { id in try await database.product(id) })
        .refreshAll(every: .seconds(30), as: "bestsellers", over: redis, logger: logger) {
            try await database.bestsellers()
        }

    let group = ServiceGroup(services: [redis, products], gracefulShutdownSignals: [.sigterm], logger: logger)
    try await group.run()
    // snippet.end
}

func hotKeys(redis: RedisClient, database: Database) async throws {
    // snippet.recipe-hot
    let policy = FreshnessPolicy(
        freshFor: .seconds(60),
        staleWhileRevalidate: .seconds(60),
        jitter: 0.3,
        earlyRefresh: 2
    )
    let memory = MemoryLevel<Int, Product>(limit: .entries(10_000))
    let products = memory.compose(
        RedisLevel(redis, keyspace: "products", freshness: policy)
            .fetching { id in try await database.product(id) }
    )

    print(memory.hottest(10))  // the keys that are most in demand in this process
    // snippet.end
    _ = products
}

func warming(redis: RedisClient, database: Database, logger: Logger) async throws {
    // snippet.recipe-warming
    let level = RedisLevel<Int, Product>(redis, keyspace: "products")
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(level.fetching { id in try await database.product(id) })

    // At the start, before requests come:
    do {
        let report = try await products.restore(from: "/var/lib/shop/products.warm")
        logger.info("memory was restored", metadata: ["entries": "\(report.restored)"])
    } catch {
        logger.warning("memory begins cold", metadata: ["error": "\(error)"])
    }

    // At the end, when no more requests come:
    try await products.hibernate(to: "/var/lib/shop/products.warm")
    // snippet.end
}

func untyped(redis: RedisClient) async throws {
    // snippet.recipe-untyped
    let documents = MemoryLevel<String, JSONValue>(limit: .entries(10_000))
        .compose(RedisLevel(redis, keyspace: "documents", codec: .cbor))

    try await documents.set(["title": "Tea", "price": 349, "tags": ["green", "loose"]], for: "tea")
    var tea = try await documents.get("tea")
    print(tea?["price"]?.integer ?? 0, tea?["tags"]?[0]?.string ?? "")  // 349 green
    tea?["price"] = 399
    // snippet.end
    _ = tea
}

#if Disk
func diskBelowMemory(database: Database) async throws {
    // snippet.recipe-disk
    let store = DiskStore(path: "/var/lib/shop/cache.sqlite")
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(DiskLevel(store, namespace: "products", limit: 1 << 30))
        .compose(Source(freshness: .resilient) { id in try await database.product(id) })

    let product = try await products.get(42)  // after a restart: from the file

    await products.drain(within: .seconds(5))  // at the end
    await store.close()
    // snippet.end
    _ = product
}
#endif

func retries(redis: RedisClient, database: Database) async throws {
    // snippet.recipe-retry
    let careful = ClosureFetcher<Int, Product> { id in try await database.product(id) }
        .timeout(.milliseconds(800))
        .retry(RetryPolicy(times: 2, delay: .milliseconds(100)), if: { error in !(error is NotFound) })

    let products = RedisLevel<Int, Product>(redis, keyspace: "products")
        .fetching { id in try await careful.get(id) }
    // snippet.end
    _ = products
}

func limits(redis: RedisClient, database: Database) async throws {
    // snippet.recipe-limit
    let slots = FetchLimiter(limit: 16)  // one for all that ask this database
    let productRows = ClosureFetcher<Int, Product> { id in try await database.product(id) }.capped(by: slots)
    let userRows = ClosureFetcher<String, User> { mail in try await database.user(mail: mail) }.capped(by: slots)

    let products = RedisLevel<Int, Product>(redis, keyspace: "products")
        .fetching { id in try await productRows.get(id) }
    let users = RedisLevel<String, User>(redis, keyspace: "users")
        .fetching { mail in try await userRows.get(mail) }
    // snippet.end
    _ = (products, users)
}

func fallbacks(primary: Database, replica: Database) async throws {
    // snippet.recipe-fallback
    let source = ClosureFetcher<Int, Product> { id in try await primary.product(id) }
        .recover(with: ClosureFetcher { id in try await replica.product(id) })
        .recover { id, error in
            print("both databases have failed: \(type(of: error))")
            return Product(id: id, name: "unknown", cents: 0, category: "")
        }
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000)).compose(source)
    // snippet.end
    _ = products
}

func races(east: Database, west: Database) async throws {
    // snippet.recipe-race
    let nearest = ClosureFetcher<Int, Product> { id in try await east.product(id) }
        .race(ClosureFetcher { id in try await west.product(id) }, .firstValue)
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000)).compose(nearest)
    // snippet.end
    _ = products
}

func transformations() async throws {
    // snippet.recipe-transform
    let pages = MemoryLevel<String, [UInt8]>(limit: .cost(16 << 20) { $0.count })
        .transformKeys { (url: URL) in url.path }
        .transformValues(Codec<Product>.cbor)

    let tea = Product(id: 7, name: "tea", cents: 450, category: "tea")
    try await pages.set(tea, for: URL(fileURLWithPath: "/products/7"))
    // snippet.end
}

func switching(redis: RedisClient, database: Database) async throws {
    // snippet.recipe-switch
    let here = MemoryLevel<Int, Product>(limit: .entries(1_000))
        .compose(ClosureFetcher { id in try await database.product(id) })
    let shared = RedisLevel<Int, Product>(redis, keyspace: "products")
        .fetching { id in try await database.product(id) }

    let products = switchLevels(here, shared) { (id: Int) -> SwitchBranch in id < 1_000 ? .first : .second }
    // snippet.end
    _ = products
}

func compression(redis: RedisClient) async throws {
    // snippet.recipe-compress
    let products = RedisLevel<Int, Product>(redis, keyspace: "products", codec: .cbor.compressed())
    let archive = RedisLevel<Int, Product>(redis, keyspace: "archive", codec: .json.compressed(by: .zlib(level: 9)))
    // snippet.end
    _ = (products, archive)
}

#if canImport(StrataCrypto) && Crypto
func encryption(redis: RedisClient, oldSecret: [UInt8], newSecret: [UInt8]) async throws {
    // snippet.recipe-encrypt
    let keys = try KeyRing(using: 2, [1: oldSecret, 2: newSecret])  // 32 random bytes each
    let codec = Codec<User>.cbor.compressed().encrypted(with: keys)
    let users = RedisLevel<String, User>(redis, keyspace: "users", codec: codec)
    // snippet.end
    _ = users
}
#endif
