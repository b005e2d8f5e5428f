// The samples of docs/changes.md, docs/outages.md and docs/tags.md; `.ci/snippets` compares them.

import Logging
import Strata
import StrataRedis

struct CartLine: Codable, Sendable {
    var product: Int
    var count: Int
}

struct Article: Codable, Sendable {
    var title: String
}

struct Page: Codable, Sendable {
    var body: String
}

private func price(of product: Int) async throws -> Int { product }

private struct Orders: Sendable {
    func order(_ id: Int) async throws -> String? { nil }
    func save(_ order: String, as id: Int) async throws {}
    func delete(_ id: Int) async throws {}
    func cart(_ id: Int) async throws -> [CartLine]? { nil }
    func save(_ cart: [CartLine], as id: Int) async throws {}
    func upsert(_ writes: [(key: Int, value: Int?)]) async throws {}
}

private struct Invalid: Error {}

func changeSamples(redis: RedisClient, policy: FreshnessPolicy) async throws {
    // snippet.changes-update
    let visits = MemoryLevel<String, Int>(limit: .entries(10_000))
        .compose(RedisLevel(redis, keyspace: "visits"))

    let count = try await visits.update("home") { old in (old ?? 0) + 1 }
    // snippet.end
    _ = count

    // snippet.changes-actions
    let carts = MemoryLevel<Int, [CartLine]>(limit: .entries(10_000))
        .compose(RedisLevel(redis, keyspace: "carts", freshness: policy))

    let actions = ListActions<CartLine>()
        .addFirst(CartLine(product: 7, count: 1))
        .evict { $0.product == 3 }
        .evictEach { $0.count == 0 }
        .evictAll(keepingFirst: 100)
    let cart = try await carts.apply(actions, to: 42)
    // snippet.end
    _ = cart

    // snippet.changes-named
    try await carts.update(
        42,
        lifetime: EntryLifetime(freshFor: .seconds(3_600)),
        tags: ["customer:42"],
        within: .milliseconds(500)
    ) { old in
        guard let old, !old.isEmpty else { return nil }  // removes the cart, or leaves it absent
        return old.filter { $0.count > 0 }
    }
    // snippet.end

    // snippet.changes-absent
    let owners = MemoryLevel<String, String>(limit: .entries(10_000))
        .compose(RedisLevel(redis, keyspace: "owners"))

    if let other = try await owners.setIfAbsent(
        "worker-7",
        for: "report",
        lifetime: EntryLifetime(freshFor: .seconds(60))
    ) {
        print("\(other) was first")  // nil: this instance was
    }
    // snippet.end

    // snippet.changes-compare
    let isMine = try await owners.compareAndSet("report", from: "worker-7", to: "worker-8")
    let isGone = try await owners.compareAndSet("report", from: "worker-8", to: nil)  // removes only its own
    // snippet.end
    _ = (isMine, isGone)

    // snippet.changes-touch
    let isThere = try await visits.touch("home", lifetime: EntryLifetime(freshFor: .seconds(1_800)))
    // snippet.end
    _ = isThere

    // snippet.changes-expire
    let prices = MemoryLevel<Int, Int>(limit: .entries(10_000))
        .compose(
            RedisLevel(redis, keyspace: "prices", freshness: FreshnessPolicy(staleIfError: .seconds(3_600)))
                .fetching { product in try await price(of: product) }
        )

    try await prices.expire(42)  // the next read asks the source; the old price is served if that fails
    // snippet.end

    // snippet.outages-deferred
    let tickets = RedisLevel<Int, Int>(redis, keyspace: "tickets", removals: .deferred)
    try await tickets.remove(7)  // Redis down: kept, and no error

    if try await prices.remove(42, .deferred) == .deferred {
        print("other instances may have the old price until Redis is back")
    }
    // snippet.end

    let database = Orders()
    // snippet.changes-through
    let orders = MemoryLevel<Int, String>(limit: .entries(10_000))
        .compose(RedisLevel(redis, keyspace: "orders").fetching { id in try await database.order(id) })
        .writing { id, order in
            if let order { try await database.save(order, as: id) } else { try await database.delete(id) }
        }

    try await orders.set("paid", for: 42)  // the database, then the cache
    try await orders.remove(42)  // the cache only
    try await orders.delete(42)  // the database, then the cache
    // snippet.end

    // snippet.changes-errors
    do {
        try await visits.update("home") { old in (old ?? 0) + 1 }
    } catch let error as CacheError where error.code == .conflict {
        // Others were faster each time, for two seconds. Nothing was changed.
    } catch let error as CacheError where error.code == .outcomeUnknown {
        // Counted or not: trying again may count twice.
    }
    // snippet.end
}

func writeBehindSamples(redis: RedisClient, logger: Logger, cart: [CartLine]) async throws {
    let database = Orders()
    // snippet.changes-behind
    let carts = MemoryLevel<Int, [CartLine]>(limit: .entries(10_000))
        .compose(RedisLevel(redis, keyspace: "carts").fetching { id in try await database.cart(id) })
        .writingBehind { lost in
            logger.error("a cart was not saved", metadata: ["key": "\(lost.key)", "error": "\(lost.error)"])
        } write: { id, cart in
            if let cart { try await database.save(cart, as: id) } else { try await database.delete(id) }
        }

    try await carts.set(cart, for: 42)  // the cache; the database a moment later
    try await carts.delete(42)  // the same
    // snippet.end

    // snippet.changes-behind-several
    let options = WriteBehindOptions(delay: .milliseconds(500), batch: 500, isTransient: { !($0 is Invalid) })
    let scores = RedisLevel<Int, Int>(redis, keyspace: "scores")
        .writingBehindSeveral(options) { lost in
            logger.error("a score was not saved: \(lost.error)")
        } write: { writes in
            try await database.upsert(writes)  // [(key: Int, value: Int?)], each key once
        }
    // snippet.end

    // snippet.changes-behind-end
    try await scores.flush()
    await scores.drain(within: .seconds(10))  // what a DrainService does at shutdown
    // snippet.end
}

func outageSamples(logger: Logger, products: FetchingLevel<Int, Article>) throws {
    // snippet.outages-settings
    var configuration = try RedisConfiguration(url: "redis://localhost:6379")
    configuration.redisBudget = .milliseconds(500)
    configuration.breaker = BreakerOptions(
        window: .seconds(10),
        minimumCalls: 10,
        failureShare: 0.5,
        slowShare: 0.8,
        slowAfter: .milliseconds(250),
        pause: .milliseconds(100) ... .seconds(2)
    )
    configuration.invalidationLimit = 10_000
    let redis = try RedisClient(configuration, logger: logger)
    // snippet.end

    // snippet.outages-state
    let state = redis.outageStatistics.breakers[.read]?.state  // closed, open, halfOpen
    let pending = redis.outageStatistics.pendingInvalidations
    let levels = products.label.nodes  // the same as counters of the level
    // snippet.end
    _ = (state, pending, levels)
}

func tagSamples(redis: RedisClient, article: Article) async throws {
    let redisLevel = RedisLevel<Int, Article>(redis, keyspace: "articles")
    let articles = MemoryLevel<Int, Article>(limit: .entries(10_000)).compose(redisLevel)
    // snippet.tags-invalidate
    try await articles.set(article, for: 7, tags: ["author:ann", "topic:swift"])

    try await articles.invalidate(tag: "author:ann")  // everything that bears it, everywhere
    try await articles.invalidate(tags: ["topic:swift", "home"])  // one script for each thousand
    try await articles.clear()  // the whole keyspace, one script

    // Only if the server needs the memory before the entries expire:
    try await redisLevel.sweep(rate: 2_000) { print("\($0.removed) of \($0.looked) removed") }
    // snippet.end
}

func versionSamples(redis: RedisClient) throws {
    // snippet.tags-versions
    let keyspaces = try KeyspaceVersions([
        .init("pages", version: 1, dependsOn: ["articles"]),
        .init("articles", version: 3, dependsOn: ["authors"]),
        .init("authors", version: 2),
    ])
    let pages = RedisLevel<String, Page>(redis, keyspace: keyspaces["pages"])
    // snippet.end
    _ = pages
}
