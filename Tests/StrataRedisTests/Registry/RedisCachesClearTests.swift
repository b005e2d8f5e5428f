import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("All named caches at once", .timeLimit(.minutes(5)))
struct RedisCachesClearTests {
    private func caches(_ redis: RedisClient, prefix: String = TestServer.uniqueName()) -> RedisCaches {
        var plan = CachePlan()
        plan.defaults.prefix = prefix
        plan.defaults.memory = .entries(1_000)
        return RedisCaches(redis, plan)
    }

    @Test("a tag is void in every cache and instance, and a clear leaves nothing")
    func all() async throws {
        let prefix = TestServer.uniqueName()
        let here = caches(try await TestServer.client(), prefix: prefix)
        let there = caches(try await TestServer.client(), prefix: prefix)
        let names = ["prices", "products"]
        for name in names {
            let cache = try here.cache(name, Int.self, String.self)
            try await cache.set("tagged", for: 1, tags: ["t"])
            try await cache.set("plain", for: 2)
            _ = try there.cache(name, Int.self, String.self)
        }
        try await there.ready()
        for name in names {
            #expect(try await there.cache(name, Int.self, String.self).get([1, 2]) == ["tagged", "plain"])
        }
        try await here.invalidate(tags: ["t"])
        for name in names {
            let cache = try there.cache(name, Int.self, String.self)
            while try await cache.get(1) != nil { try await nextTurn() }
            #expect(try await cache.get(2) == "plain")
            #expect(try await here.cache(name, Int.self, String.self).get([1, 2]) == [nil, "plain"])
        }
        try await here.clear()
        for name in names {
            let cache = try there.cache(name, Int.self, String.self)
            while try await cache.get(2) != nil { try await nextTurn() }
            #expect(try await here.cache(name, Int.self, String.self).get(2) == nil)
        }
    }

    @Test("a tenant's tag is void in all caches with tenants, and the same tag of another tenant is not")
    func tenant() async throws {
        let caches = caches(try await TestServer.client())
        func cache(_ tenant: String, _ name: String) throws -> TenantCache<Int, String> {
            try caches.tenant(tenant).cache(name)
        }
        let names = ["carts", "orders"]
        for name in names {
            for tenant in ["acme", "globe"] {
                try await cache(tenant, name).set("tagged", for: 1, tags: ["t"])
                try await cache(tenant, name).set("plain", for: 2)
            }
        }
        try await caches.tenant("acme").invalidate(tags: ["t"])
        for name in names {
            #expect(try await cache("acme", name).get([1, 2]) == [nil, "plain"])
            #expect(try await cache("globe", name).get([1, 2]) == ["tagged", "plain"])
        }
        // Without a tenant it is another tag.
        try await caches.invalidate(tags: ["t"])
        for name in names { #expect(try await cache("globe", name).get([1, 2]) == ["tagged", "plain"]) }
        try await caches.clear()
        for name in names { #expect(try await cache("globe", name).get([1, 2]) == [nil, nil]) }
    }

    @Test("while Redis is away every cache is tried, and its memory forgets; deferred, it is made up for")
    func outage() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            let caches = caches(redis)
            let prices = try caches.cache("prices", Int.self, String.self)
            let products = try caches.cache("products", Int.self, String.self)
            try await caches.ready()
            for cache in [prices, products] {
                try await cache.set("old", for: 1, tags: ["t"])
                while cache.peek(1) == nil { _ = try await cache.get(1) }
            }
            try await server.pause()
            try redis.adjust(redisBudget: .milliseconds(500))
            await #expect(throws: RedisError.self) { try await caches.invalidate(tags: ["t"]) }
            #expect(prices.peek(1) == nil && products.peek(1) == nil)
            await #expect(throws: RedisError.self) { try await caches.clear() }
            #expect(try await caches.invalidate(tags: ["t"], .deferred) == .deferred)
            #expect(try await caches.clear(.deferred) == .deferred)
            try redis.adjust(redisBudget: .seconds(20))
            try await server.resume()
            while redis.outageStatistics.pendingInvalidations > 0 { try await nextTurn() }
            #expect(try await prices.get(1) == nil)
            #expect(try await products.get(1) == nil)
        }
    }
}
