// Samples of the documentation of StrataObservability, StrataHTTP, StrataHummingbird and StrataConfiguration;
// `.ci/snippets` compares them.

import Foundation
import Logging
import Strata
import StrataDisk
import StrataRedis

#if Configuration
import Configuration
import StrataConfiguration
#endif

#if Observability
import StrataObservability
#endif

#if canImport(StrataHTTP) && HTTP
import StrataHTTP
#endif

#if canImport(StrataHummingbird) && Hummingbird
import HTTPTypes
import Hummingbird
import StrataHummingbird
#endif

struct Product: Codable, Sendable {
    var id: Int
    var name: String
}

struct Database: Sendable {
    func product(_ id: Int) async throws -> Product? { nil }
}

// MARK: Observability

#if Observability
func counters(products: some CacheLevel<Int, Product>) async throws {
    let metrics = CacheMetrics()
    try metrics.add(products, as: "products")
    try await metrics.run()  // or give it to a ServiceGroup
}

func spans(memory: MemoryLevel<Int, Product>, level: RedisLevel<Int, Product>, database: Database) {
    let products = memory.compose(level.fetching { id in try await database.product(id) }.traced(as: "products"))
    _ = products
}
#endif

// MARK: HTTP

#if canImport(StrataHTTP) && HTTP
func fetched() async throws -> HTTPContent? {
    let pages = MemoryLevel<HTTPResource, HTTPContent>(limit: .entries(1_000))
        .compose(HTTPFetcher())
        .pooled()
    let page = try await pages.get(HTTPResource("https://example.com/"))
    return page
}

func response(
    cache: HTTPCache<MemoryLevel<HTTPResource, HTTPContent>>,
    fields: StrataHTTP.HTTPFields
) async throws -> HTTPCacheResponse {
    let response = try await cache.respond(to: HTTPCacheRequest("https://example.com/", fields: fields))
    return response
}

func whole(
    responses: HTTPCache<MemoryLevel<HTTPResource, HTTPContent>>,
    url: String,
    fields: StrataHTTP.HTTPFields
) async throws -> HTTPCacheResponse {
    let response = try await responses.respond(to: HTTPCacheRequest(method: "GET", url, fields: fields))
    return response
}

#if Disk
func revalidated(store: DiskStore) async throws -> HTTPContent? {
    let pages = MemoryLevel<HTTPResource, HTTPContent>(limit: .entries(1_000))
        .compose(HTTPCache(in: DiskLevel(store, namespace: "http"), HTTPFetcher()).pooled())

    let page = try await pages.get(HTTPResource("https://example.com/", fields: ["accept-language": "de"]))
    return page
}

func kept() {
    let store = DiskStore(path: "/var/cache/shop/http.sqlite")
    let pages = MemoryLevel<HTTPResource, HTTPContent>(limit: .entries(1_000))
        .compose(HTTPCache(in: DiskLevel(store, namespace: "http"), HTTPFetcher()))
        .pooled()
    _ = pages
}
#endif
#endif

// MARK: Hummingbird

#if canImport(StrataHummingbird) && Hummingbird
func page(of id: String) async throws -> String { "product \(id)" }

func save(_ request: Request, _ context: BasicRequestContext) async throws -> HTTPResponse.Status { .noContent }

func persisting(router: Router<BasicRequestContext>) throws -> some ApplicationProtocol {
    let redis = try RedisClient("redis://localhost:6379")
    let persist = StrataPersistDriver(redis, keyspace: "shop-sessions")
    let application = Application(router: router, services: [redis, persist])
    return application
}

func caching(router: Router<BasicRequestContext>, redis: RedisClient) -> some ApplicationProtocol {
    let pages = ResponseCache(redis, keyspace: "shop-pages")
    router.group("products").cached(by: pages, ResponsePolicy(freshFor: .seconds(60)))
        .get(":id") { _, context in try await page(of: context.parameters.require("id")) }
    let application = Application(router: router, services: [redis, pages])
    return application
}

func both(router: Router<BasicRequestContext>, redis: RedisClient) -> some ApplicationProtocol {
    let persist = StrataPersistDriver(redis, keyspace: "shop-sessions")
    let pages = ResponseCache(redis, keyspace: "shop-pages")
    router.group("products").cached(by: pages, ResponsePolicy(freshFor: .seconds(60)))
        .get(":id") { _, context in try await page(of: context.parameters.require("id")) }
    let application = Application(router: router, services: [redis, persist, pages])
    return application
}

func routes(router: Router<BasicRequestContext>, pages: ResponseCache) {
    router.group("products").cached(by: pages, ResponsePolicy(freshFor: .seconds(60)))
        .get(":id") { _, context in try await page(of: context.parameters.require("id")) }
        .put(":id") { request, context in try await save(request, context) }  // forgets the response to GET
}

func wholeRouter(
    router: Router<BasicRequestContext>,
    redis: RedisClient,
    pages: ResponseCache
) -> some ApplicationProtocol {
    let responder = CachedResponder(router.buildResponder(), by: pages)
    let application = Application(responder: responder, services: [redis, pages])
    return application
}
#endif

// MARK: Configuration

#if Configuration
func client() throws -> RedisClient {
    let config = ConfigReader(provider: EnvironmentVariablesProvider())
    let redis = try RedisClient(RedisConfiguration(config: config.scoped(to: "strata.redis")))
    return redis
}

func caches() throws {
    let config = ConfigReader(provider: EnvironmentVariablesProvider()).scoped(to: "strata")
    let caches = try RedisCaches(config: config)
    let products = try caches.cache("products", Int.self, Product.self)
    _ = products
}

func keys() {
    for key in ConfigurationKey.all { print(key.path, key.form, key.standard ?? "") }
}

func unknownKeys(in file: URL, logger: Logger) throws {
    let json = try Data(contentsOf: file)
    for key in UnknownKey.find(inJSON: json, under: "strata", caches: ["products", "sessions"]) {
        logger.warning("\(key)")
    }
}
#endif
