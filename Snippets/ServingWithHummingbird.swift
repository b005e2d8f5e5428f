// The samples of docs/hummingbird.md; `.ci/snippets` compares the two.

#if canImport(StrataHummingbird) && Hummingbird
import HTTPTypes
import Hummingbird
import Strata
import StrataHTTP
import StrataHummingbird
import StrataRedis

struct Cart: Codable, Sendable {
    var items: [Int]
}

func page(of id: Int) async throws -> String { "product \(id)" }

func application(_ redis: RedisClient) -> some ApplicationProtocol {
    // snippet.hummingbird-persist
    let persist = StrataPersistDriver(redis, keyspace: "shop-sessions")

    let router = Router()
    router.put("cart/:user") { request, context -> HTTPResponse.Status in
        let user = try context.parameters.require("user")
        let cart = try await request.decode(as: Cart.self, context: context)
        try await persist.set(key: "cart:\(user)", value: cart, expires: .seconds(3_600))
        return .noContent
    }
    let application = Application(router: router, services: [redis, persist])
    // snippet.end
    return application
}

func cachedApplication(_ redis: RedisClient) -> some ApplicationProtocol {
    // snippet.hummingbird-responses
    let pages = ResponseCache(redis, keyspace: "shop-pages")

    let router = Router()
    router.group("products").cached(by: pages, ResponsePolicy(freshFor: .seconds(60)))
        .get(":id") { _, context in
            try await page(of: context.parameters.require("id", as: Int.self))
        }
    let application = Application(router: router, services: [redis, pages])
    // snippet.end
    return application
}

func tagged(_ pages: ResponseCache, _ routes: CachedRoutes<BasicRequestContext>) {
    // snippet.hummingbird-tags
    routes.get(":id") { _, context -> EditedResponse<String> in
        let id = try context.parameters.require("id", as: Int.self)
        return EditedResponse(headers: [.cacheTag: "product:\(id), catalogue"], response: try await page(of: id))
    }
    routes.put(":id") { _, context -> HTTPResponse.Status in
        let id = try context.parameters.require("id", as: Int.self)
        try await pages.invalidate(tag: "product:\(id)")  // lists that show it, too
        return .noContent
    }
    // snippet.end
}

func inMemory() -> ResponseCache {
    // snippet.hummingbird-memory
    let memory = MemoryLevel<HTTPResource, HTTPContent>(limit: .cost(64 << 20))
    let pages = ResponseCache(in: memory)
    // snippet.end
    return pages
}
#endif
