// Samples of the documentation of Strata; `.ci/snippets` compares them.

import Logging
import Strata
import StrataRedis

struct Product: Codable, Sendable {
    var name: String
    var version: Int

    var byteCount: Int { 100 + name.utf8.count }
}

struct ProductRow: Sendable {
    var product: Product
    var category: String
    var isUnchanged: Bool
}

struct Quote: Codable, Sendable {
    var price: Double
}

struct Article: Codable, Sendable {
    var title: String
}

struct User: Codable, Sendable {
    var mail: String
}

struct Order: Codable, Sendable {
    var isCancelled: Bool
}

enum OrderState: Sendable {
    case paid
    case shipped
}

struct Repository: Codable, Sendable {
    var name: String
}

struct Profile: Codable, Sendable {
    var name: String
}

struct Database: Sendable {
    func product(_ id: Int) async throws -> Product? { nil }
    func product(_ id: Int, unlessVersion version: Int?) async throws -> ProductRow? { nil }
}

struct Exchange: Sendable {
    func quote(_ symbol: String) async throws -> Quote? { nil }
}

struct RepositoryService: Sendable {
    func repositories(_ filter: String, page: Int) async throws -> [Repository] { [] }
}

struct UserService: Sendable {
    func profile(_ id: Int) async throws -> Profile { Profile(name: "ann") }
}

/// Stands for the error of a web framework.
// MARK: The module

func firstCache(database: Database) async throws {
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(ClosureFetcher { id in try await database.product(id) })

    let product = try await products.get(42)
    print(products)
    _ = product
}

// MARK: Levels

func memoryBudget() {
    let budget = MemoryBudget(256 << 20)
    let products = MemoryLevel<Int, Product>(limit: .share(of: budget, atLeast: 64 << 20, cost: { $0.byteCount }))
    let pages = MemoryLevel<String, [UInt8]>(limit: .share(of: budget, atMost: 128 << 20, cost: { $0.count }))
    _ = (products, pages)
}

func label(cache: some CacheLevel) {
    print(cache)
    // composed (failed_reads 0, failed_fills 0, late_fills 0, refreshes_under_way 0)
    //   memory, at most 10000 entries (hits 120, misses 7, entries 7, evictions 0)
    //   source (under_way 0, unattended 0)

    for node in cache.label.nodes {
        for counter in node.label.counters { print("\(node.path).\(counter.name)", counter.value) }
    }
}

final class FileLevel: CacheLevel {
    let clock: CacheClock? = .current

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<String>? {
        guard let entry = try await read(key), let now = clock?.now, entry.isUsable(at: now) else { return nil }
        return entry
    }
}

extension FileLevel {
    func store(_ entry: Entry<String>, for key: String) async throws {}
    func remove(_ key: String) async throws {}
    func removeAll() async throws {}

    private func read(_ key: String) async throws -> Entry<String>? { nil }
}

func registry(exchange: Exchange) async throws {
    let caches = CacheRegistry()
    let quotes = try caches.cache("quotes") {
        MemoryLevel<String, Quote>(limit: .entries(1_000)).compose(Source.perCall(freshness: .resilient))
    }
    let quote = try await quotes.get("SWFT") { try await exchange.quote("SWFT") }
    _ = quote
}

// MARK: Sources

func sourcePerCall(exchange: Exchange, symbol: String) async throws {
    let quotes = MemoryLevel<String, Quote>(limit: .entries(1_000)).compose(Source.perCall(freshness: .resilient))
    let quote = try await quotes.get(symbol) { try await exchange.quote(symbol) }
    _ = quote
}

func fetchOutcome(redis: RedisClient, database: Database) {
    let level = RedisLevel<Int, Product>(redis, keyspace: "products")
        .fetching { id, context in
            let row = try await database.product(id, unlessVersion: context.old?.version)
            guard let row else { return .absent(tags: ["product:\(id)"]) }
            return row.isUnchanged ? .notModified() : .value(row.product, tags: ["category:\(row.category)"])
        }
    _ = level
}

func sourcedLevel(redis: RedisClient, database: Database, id: Int) async throws {
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(RedisLevel(redis, keyspace: "products", freshness: .resilient).fetchingPerCall())

    let product = try await products.get(id) { try await database.product(id) }
    _ = product
}

func sourceOfACall(products: some SourcedLevel<Int, Product>, database: Database, id: Int) async throws {
    let product = try await products.get(id) { try await database.product(id) }
    let current = try await products.get(id, .fresh) { try await database.product(id) }
    _ = (product, current)
}

func outcomeOfACall(products: some SourcedLevel<Int, Product>, database: Database, id: Int) async throws {
    let product = try await products.get(id) { context in
        let row = try await database.product(id, unlessVersion: context.old?.version)
        guard let row else { return .absent(tags: ["product:\(id)"]) }
        return row.isUnchanged ? .notModified() : .value(row.product, tags: ["category:\(row.category)"])
    }
    _ = product
}

func fetchLimiter(
    memory: MemoryLevel<String, User>,
    userFetcher: ClosureFetcher<String, User>,
    orderFetcher: ClosureFetcher<Int, Order>
) {
    let slots = FetchLimiter(limit: 16)
    let users = memory.compose(userFetcher.capped(by: slots))
    let orders = orderFetcher.capped(by: slots)
    _ = (users, orders)
}

// MARK: Reads

func readOptions(
    prices: some CacheLevel<Int, Int>,
    banners: some CacheLevel<Int, String>,
    reports: some CacheLevel<Int, String>,
    teasers: some CacheLevel<Int, String>,
    id: Int
) async throws {
    let price = try await prices.get(id, .fresh)
    let banner = try await banners.get(id, .cached.with(staleness: .allowed))
    let report = try await reports.get(id, ReadOptions(maximumAge: .seconds(5)))
    let teaser = try await teasers.get(id, ReadOptions(hardTimeout: .milliseconds(200), priority: .background))
    _ = (price, banner, report, teaser)
}

// MARK: Changes

func setIfAbsent(owners: some AtomicLevel<String, String>, myName: String, job: String) async throws {
    if let other = try await owners.setIfAbsent(myName, for: job) {
        print("\(other) was first")
    }
}

func compareAndSet(states: some AtomicLevel<Int, OrderState>, order: Int) async throws {
    let isMine = try await states.compareAndSet(order, from: .paid, to: .shipped)
    print(isMine)
}

func update(counters: some AtomicLevel<String, Int>) async throws {
    try await counters.update("visits") { old in (old ?? 0) + 1 }
}

func listActions(orders: some AtomicLevel<Int, [Order]>, order: Order, customer: Int) async throws {
    let actions = ListActions<Order>()
        .addFirst(order)
        .evictEach { $0.isCancelled }
        .evictAll(keepingFirst: 100)
    try await orders.apply(actions, to: customer)
}

func removalMode(products: some CacheLevel<Int, Product>, logger: Logger) async throws {
    if try await products.remove(42, .deferred) == .deferred {
        logger.notice("other instances may serve product 42 until Redis is back")
    }
}

func tags(articles: some CacheLevel<Int, Article>, article: Article) async throws {
    try await articles.set(article, for: 7, tags: ["author:ann", "topic:swift"])
    try await articles.invalidate(tag: "author:ann")
}

// MARK: Events

func observe(products: some CacheLevel<Int, Product>, logger: Logger) async {
    let events = products.observe()
    for await event in events {
        logger.debug("\(event)", metadata: ["dropped": "\(events.dropped)"])
    }
}

func observeKinds(products: some CacheLevel<Int, Product>, logger: Logger) async {
    for await event in products.observe([.storeRefused, .linkLost, .circuitOpened]) {
        logger.notice("\(event)")
    }
}

// MARK: Warming

func warm(products: some CacheLevel<Int, Product>, popular: [Int]) async throws {
    let report = try await products.warm(from: popular)
    print("\(report.warmed) products are in memory, \(report.fetched) of them were fetched")
}

func warmingOptions(products: some CacheLevel<Int, Product>, ids: [Int]) async throws {
    let report = try await products.warm(from: ids, WarmingOptions(limit: .seconds(5), reads: .cached))
    print(report.warmed)
}

func hibernate(products: Composed<MemoryLevel<Int, Product>, FetchingLevel<Int, Product>>) async throws {
    try await products.hibernate(to: "/var/lib/shop/products.warm")  // when no more requests come
}

func restore(products: Composed<MemoryLevel<Int, Product>, FetchingLevel<Int, Product>>) async throws {
    let report = try await products.restore(from: "/var/lib/shop/products.warm")  // before requests come
    print(report.restored)
}

// MARK: Providers

enum Repositories: CacheProvider {
    typealias Value = [Repository]
    case popular
    case found(by: String, page: Int)

    var key: ProviderKey {
        switch self {
        case .popular: .single
        case .found(let filter, let page): .group(filter, page)
        }
    }
    var lifetime: EntryLifetime { EntryLifetime(freshFor: .seconds(300)) }
}

func cacheProvider(cache: ProviderCache, service: RepositoryService) async throws {
    let list = try await cache.value(of: Repositories.found(by: "swift", page: 1)) {
        try await service.repositories("swift", page: 1)
    }
    print(list)
}

extension CacheProvider where Self == Provider<Profile> {
    static func profile(_ id: Int) -> Self { Provider("profile", key: .key(id)) }
}

func provider(cache: ProviderCache, users: UserService) async throws {
    let profile = try await cache.value(of: .profile(7)) { try await users.profile(7) }
    print(profile)
}

func providerCache(redis: RedisClient, service: RepositoryService) async throws {
    let cache = ProviderCache(redis, keyspace: "shop", freshness: .resilient)  // memory over Redis

    let page = try await cache.value(of: Repositories.found(by: "swift", page: 1)) {
        try await service.repositories("swift", page: 1)
    }
    try await cache.evict(.key, of: Repositories.found(by: "swift", page: 1))  // all pages of the filter
    print(page)
}
