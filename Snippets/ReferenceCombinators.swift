// Samples of the documentation of Strata, of its combinators; `.ci/snippets` compares them.

import Foundation
import Logging
import Strata
import StrataRedis

#if canImport(StrataCrypto) && Crypto
import StrataCrypto
#endif

struct Product: Codable, Sendable {
    var name: String

    static func placeholder(_ id: Int) -> Product { Product(name: "product \(id)") }
}

struct Cart: Codable, Sendable {
    var products: [Int]
}

struct Session: Codable, Sendable {
    var user: Int
}

struct User: Codable, Identifiable, Sendable {
    var id: Int
}

struct Page: Codable, Hashable, Sendable {
    var productIDs: [Int]
}

struct Price: Sendable {
    var cents: Int
}

struct ImageKey: Hashable, Sendable {
    var name: String
    var isThumbnail: Bool
}

struct CommentsKey: Hashable, Sendable {
    var article: Int
    var reader: String
}

struct Comments: Sendable {
    var texts: [String]

    func sorted() -> Comments { Comments(texts: texts.sorted()) }
    func redacted(for reader: String) -> Comments { Comments(texts: texts.filter { $0.contains(reader) }) }
}

struct Document: Sendable {
    var text: String

    init(text bytes: [UInt8]) throws { text = try Codec<String>.text.decode(bytes) }
    init(json bytes: [UInt8]) throws { text = try Codec<String>.json.decode(bytes) }
}

struct Vault: Sendable {
    func open(_ bytes: [UInt8], for user: User.ID) throws -> [UInt8] { bytes }
    func seal(_ bytes: [UInt8], for user: User.ID) throws -> [UInt8] { bytes }
}

struct ConnectionLost: Error {}

struct Database: Sendable {
    func product(_ id: Int) async throws -> Product? { nil }
    func save(_ product: Product, as id: Int) async throws {}
    func cart(_ id: Int) async throws -> Cart? { nil }
    func save(_ cart: Cart, as id: Int) async throws {}
    func delete(_ id: Int) async throws {}
}

actor Breaker {
    var isClosed = true
}

func render(_ url: URL) async throws -> Page { Page(productIDs: []) }
func download(_ url: URL) async throws -> [UInt8] { [] }
func readBlocking(_ path: String) throws -> [UInt8] { [] }

// MARK: Batches, conditions and limits

func strictBatch(cache: MemoryLevel<Int, Product>) async throws {
    let products = try await cache.batchGetAll([1, 2, 3])
    _ = products
}

func lists(products: MemoryLevel<Int, Product>) {
    let pages = products.allBatch().transformKeys { (page: Page) in page.productIDs }
    _ = pages
}

func condition(
    memory: MemoryLevel<Int, Product>,
    redisLevel: RedisLevel<Int, Product>,
    fetcher: ClosureFetcher<Int, Product>,
    breaker: Breaker
) {
    let products = memory.compose(redisLevel.conditioned { _ in await breaker.isClosed }).compose(fetcher)
    _ = products
}

func limit(memory: MemoryLevel<URL, Page>) {
    let pages = memory.compose(ClosureFetcher<URL, Page> { url in try await render(url) }.capped(4))
    _ = pages
}

func executor(memory: MemoryLevel<String, [UInt8]>, fileExecutor: any TaskExecutor) {
    let files = ClosureFetcher<String, [UInt8]> { path in try readBlocking(path) }.onExecutor(fileExecutor)
    let cache = memory.compose(files.pooled().timeout(.seconds(2)))
    _ = cache
}

func pool(memory: MemoryLevel<Int, Product>, fetcher: ClosureFetcher<Int, Product>) {
    let cache = memory.compose(fetcher.pooled())
    _ = cache
}

// MARK: Resilience

func fallback(primary: RedisLevel<String, Session>, replica: RedisLevel<String, Session>) {
    let sessions = primary.recover(with: replica)
    _ = sessions
}

func race(east: ClosureFetcher<Int, Product>, west: ClosureFetcher<Int, Product>) {
    let nearest = east.race(west, .firstValue)
    _ = nearest
}

func recovery(cache: MemoryLevel<Int, Product>, logger: Logger) {
    let products = cache.recover { id, error in
        logger.warning("serving a placeholder", metadata: ["error": "\(error)"])
        return Product.placeholder(id)
    }
    _ = products
}

func retries(database: Database) {
    let fetcher = ClosureFetcher<Int, Product> { id in try await database.product(id) }
        .retry(RetryPolicy(times: 3)) { error in error is ConnectionLost }
    _ = fetcher
}

func timeLimit(memory: MemoryLevel<Int, Product>, fetcher: ClosureFetcher<Int, Product>) {
    let products = memory.compose(fetcher.timeout(.milliseconds(250))).recover { id, _ in Product.placeholder(id) }
    _ = products
}

// MARK: Several levels, several tenants

func branches(small: MemoryLevel<ImageKey, [UInt8]>, large: MemoryLevel<ImageKey, [UInt8]>) {
    let images = switchLevels(small, large) { key in key.isThumbnail ? .first : .second }
    _ = images
}

func tenant(carts: MemoryLevel<TenantKey<Int>, Cart>, cart: Cart) async throws {
    let acme = carts.tenant("acme")
    try await acme.set(cart, for: 7)
}

// MARK: Transformations

func keyAware(vault: Vault) {
    let checked = KeyAwareTransformer<URL, [UInt8], Document> { url, bytes in
        try url.pathExtension == "json" ? Document(json: bytes) : Document(text: bytes)
    }

    // Each user's values are sealed for that user.
    let sealed = KeyAwareTwoWayTransformer<User.ID, [UInt8], [UInt8]> { user, bytes in
        try vault.open(bytes, for: user)
    } inverse: { user, bytes in
        try vault.seal(bytes, for: user)
    }
    _ = (checked, sealed)
}

func oneWay() {
    let path = OneWayTransformer<URL, String> { $0.path }
    let size = OneWayTransformer<[UInt8], Int> { $0.count }
    _ = (path, size)
}

func twoWay() {
    let cents = TwoWayTransformer<Int, Price> {
        Price(cents: $0)
    } inverse: {
        $0.cents
    }
    _ = cents
}

func styles() {
    let day = TwoWayTransformer(Date.ISO8601FormatStyle().year().month().day())
    let price = TwoWayTransformer(Decimal.FormatStyle.Currency(code: "EUR", locale: Locale(identifier: "de_DE")))
    _ = (day, price)
}

func processors(memory: MemoryLevel<CommentsKey, Comments>, fetcher: ClosureFetcher<CommentsKey, Comments>) {
    let comments = memory.compose(fetcher.postProcess { $0.sorted() })  // sorted once for each fetch
    let shown = comments.postProcessEntries { key, value in value.redacted(for: key.reader) }  // for each get
    _ = shown
}

func fetchedDocuments() {
    let documents = ClosureFetcher<URL, [UInt8]> { url in try await download(url) }
        .transformValues { bytes in try Document(text: bytes) }
    _ = documents
}

func otherKeys(redis: RedisClient) {
    let pages = RedisLevel<String, Page>(redis, keyspace: "pages").transformKeys { (url: URL) in url.path }
    _ = pages
}

func encodedMemory() {
    let products = MemoryLevel<Int, [UInt8]>(limit: .cost(16 << 20) { $0.count })
        .transformValues(.cbor, as: Product.self)
    _ = products
}

func levelOfBytes(bytes: MemoryLevel<Int, [UInt8]>) {
    let products = bytes.transformValues(.cbor, as: Product.self)
    _ = products
}

func levelOfData(data: MemoryLevel<Int, Data>) {
    let products = data.transformValues(.cbor, as: Product.self)
    _ = products
}

#if canImport(StrataCrypto) && Crypto
func boundToKeys(bytes: MemoryLevel<String, [UInt8]>, keys: KeyRing) {
    let users = bytes.transformValues(KeyAwareTwoWayTransformer(Codec<User>.cbor.encrypted(with: keys)))
    _ = users
}
#endif

// MARK: Levels of your own

struct Logged<Base: CacheLevel>: ForwardingLevel {
    let base: Base
    let logger: Logger

    func entry(for key: Base.Key, _ request: ReadRequest) async throws -> Entry<Base.Value>? {
        let entry = try await base.entry(for: key, request)
        logger.trace("read", metadata: ["hit": "\(entry != nil)"])
        return entry
    }
}

// MARK: Writing to the source

func behind(redis: RedisClient, database: Database, cart: Cart, logger: Logger) async throws {
    let carts = MemoryLevel<Int, Cart>(limit: .entries(10_000))
        .compose(RedisLevel(redis, keyspace: "carts").fetching { id in try await database.cart(id) })
        .writingBehind { lost in
            logger.error("a cart was not saved", metadata: ["error": "\(lost.error)"])
        } write: { id, cart in
            if let cart { try await database.save(cart, as: id) } else { try await database.delete(id) }
        }

    try await carts.set(cart, for: 42)  // the cache; the database a moment later
    try await carts.flush()
}

func through(redis: RedisClient, database: Database, product: Product) async throws {
    let products = MemoryLevel<Int, Product>(limit: .entries(10_000))
        .compose(RedisLevel(redis, keyspace: "products").fetching { id in try await database.product(id) })
        .writing { id, product in
            if let product { try await database.save(product, as: id) } else { try await database.delete(id) }
        }

    try await products.set(product, for: 42)  // the database, then the cache
    try await products.delete(42)
}
