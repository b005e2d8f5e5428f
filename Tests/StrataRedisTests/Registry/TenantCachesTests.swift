import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Tenants that come and go", .timeLimit(.minutes(5)))
struct TenantCachesTests {
    private func caches(_ redis: RedisClient, prefix: String = TestServer.uniqueName()) -> RedisCaches {
        var plan = CachePlan()
        plan.defaults.prefix = prefix
        plan.defaults.memory = .entries(1_000)
        // Longer than this process stands still beside other load: what is fetched without a lease is not kept.
        plan.defaults.leases.duration = .seconds(60)
        return RedisCaches(redis, plan)
    }

    @Test("each tenant has what is its own, in every instance, and a clear of one is told to all")
    func instances() async throws {
        let prefix = TestServer.uniqueName()
        let here = caches(try await TestServer.client(), prefix: prefix)
        let there = caches(try await TestServer.client(), prefix: prefix)
        func carts(_ caches: RedisCaches, _ tenant: String) throws -> TenantCache<Int, String> {
            try caches.tenant(tenant).cache("carts")
        }
        try await carts(here, "acme").set("of acme", for: 1)
        try await carts(here, "globe").set("of globe", for: 1)
        try await carts(there, "acme").ready(there)
        #expect(try await carts(there, "acme").get(1) == "of acme")
        #expect(try await carts(there, "globe").get(1) == "of globe")
        #expect(try await carts(there, "initech").get(1) == nil)
        try await here.tenant("acme").clear()
        while try await carts(there, "acme").get(1) != nil { try await nextTurn() }
        #expect(try await carts(there, "globe").get(1) == "of globe")
        #expect(try await carts(here, "acme").get(1) == nil)
        #expect(try await carts(here, "acme").get(1) { "again" } == "again")
    }

    @Test("dropped without a clear, a tenant's values are there when it comes back; with one they are not")
    func drop() async throws {
        let caches = caches(try await TestServer.client())
        _ = try caches.cache("carts", TenantKey<Int>.self, String.self)
        try await caches.ready()
        for name in ["acme", "globe"] {
            let carts: TenantCache<Int, String> = try caches.tenant(name).cache("carts")
            try await carts.set("kept", for: 1)
        }
        let shared = try caches.cache("carts", TenantKey<Int>.self, String.self)
        #expect(shared.upper.statistics.entries == 2)
        try await caches.tenant("acme").drop()
        #expect(shared.upper.statistics.entries == 1)
        #expect(try await shared.tenant("acme").get(1) == "kept")
        try await caches.tenant("acme").drop(clearing: true)
        #expect(shared.upper.statistics.entries == 1)
        #expect(try await shared.tenant("acme").get(1) == nil)
        #expect(try await shared.tenant("globe").get(1) == "kept")
    }

    /// A type of which only the codec knows how it becomes bytes.
    struct Cart: Sendable, Equatable {
        var item: String
        var wasDecoded = false
    }

    @Test("a tenant's values are written and read by the codec that is given")
    func codec() async throws {
        let prefix = TestServer.uniqueName()
        let here = caches(try await TestServer.client(), prefix: prefix)
        let there = caches(try await TestServer.client(), prefix: prefix)
        let codec = Codec<Cart>(identifier: 200) { cart in
            Array(cart.item.utf8)
        } decode: { bytes in
            Cart(item: String(decoding: bytes, as: UTF8.self), wasDecoded: true)
        }
        func carts(_ caches: RedisCaches, _ tenant: String) throws -> TenantCache<Int, Cart> {
            try caches.tenant(tenant).cache("carts", codec: codec)
        }
        try await carts(here, "acme").set(Cart(item: "tea"), for: 1)
        #expect(try await carts(there, "acme").get(1) == Cart(item: "tea", wasDecoded: true))
        #expect(try await carts(there, "globe").get(1) == nil)
    }

    @Test("a source of the cache knows the tenant, and a cache whose keys name none is no tenant's")
    func sources() async throws {
        let caches = caches(try await TestServer.client())
        try caches.makeCache("carts") { (key: TenantKey<Int>) in "\(key.key) of \(key.tenant)" }
        let carts: TenantCache<Int, String> = try caches.tenant("acme").cache("carts")
        #expect(try await carts.get(7) == "7 of acme")
        try await caches.tenant("acme").clear()
        #expect(carts.resident(7, at: .now) == nil)
        _ = try caches.cache("plain", Int.self, Int.self)
        #expect { try caches.tenant("acme").cache("plain", Int.self, Int.self) } throws: {
            ($0 as? CacheError)?.code == .otherTypes
        }
    }

    /// Removing the tenants' shared link would show here: the connections of links that Redis has seen.
    ///
    /// A few keys of thousands share their counter with another one, and go when that changes; see `FillGate`.
    @Test(
        "two thousand tenants are made, used and dropped: one link, no other tenant's memory is voided, and nothing is left"
    )
    func many() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            let caches = caches(redis)
            let others = try caches.cache("others", Int.self, Int.self)
            _ = try caches.cache("carts", TenantKey<Int>.self, String.self)
            try await caches.ready()
            for key in 0..<50 { _ = try await others.get(key) { key } }
            #expect((0..<50).count { others.resident($0, at: .now) != nil } > 45)
            let before = try await Self.connections(redis)
            var kept = 0
            let shared = try caches.cache("carts", TenantKey<Int>.self, String.self)

            for number in 0..<2_000 {
                let tenant = caches.tenant("tenant \(number)")
                let carts: TenantCache<Int, String> = try tenant.cache("carts")
                #expect(try await carts.get(1) { "cart \(number)" } == "cart \(number)")
                try await carts.set("two", for: 2)
                let resident = carts.resident(1, at: .now)?.value
                #expect(resident == nil || resident == "cart \(number)")
                if resident != nil { kept += 1 }
                #expect(shared.upper.statistics.entries == 2)
                try await tenant.drop(clearing: number.isMultiple(of: 2))
                #expect(shared.upper.statistics.entries == 0)
            }
            // No connection was made, for the link or else.
            #expect(try await Self.connections(redis) == before)
            #expect(kept > 1_980)
            #expect((0..<50).count { others.resident($0, at: .now) != nil } > 45)
            #expect(shared.lower.flights.count == 0 && shared.lower.fetches.count == 0)
            // Those that were cleared are gone, the others are as they left.
            for number in [0, 1, 1_998, 1_999] {
                let carts: TenantCache<Int, String> = try caches.tenant("tenant \(number)").cache("carts")
                #expect(try await carts.get(1) == (number.isMultiple(of: 2) ? nil : "cart \(number)"))
            }
        }
    }

    /// How many connections the server has accepted; the test's own are made before.
    private static func connections(_ redis: RedisClient) async throws -> String? {
        try await redis.info("stats")["total_connections_received"]
    }

    @Test("a clear while Redis is away is an error, or deferred and then made up for; memory forgets at once")
    func outage() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            let caches = caches(redis)
            let carts: TenantCache<Int, String> = try caches.tenant("acme").cache("carts")
            try await caches.ready()
            try await carts.set("old", for: 1)
            try await server.pause()
            try redis.adjust(redisBudget: .milliseconds(500))
            await #expect(throws: RedisError.self) { try await caches.tenant("acme").clear() }
            try await caches.tenant("acme").clear(.deferred)
            #expect(carts.resident(1, at: .now) == nil)
            // What the settings of the caches say, where the call does not.
            var plan = caches.plan
            plan.defaults.removals = .deferred
            let deferring = RedisCaches(redis, plan)
            let prices: TenantCache<Int, String> = try deferring.tenant("acme").cache("prices")
            withExtendedLifetime(prices) {}
            let pending = redis.outageStatistics.pendingInvalidations
            try await deferring.tenant("acme").clear()
            #expect(redis.outageStatistics.pendingInvalidations == pending + 1)
            try redis.adjust(redisBudget: .seconds(20))
            try await server.resume()
            while redis.outageStatistics.pendingInvalidations > 0 { try await nextTurn() }
            #expect(try await carts.get(1) == nil)
        }
    }
}

extension TenantLevel {
    /// Waits until the caches are told of changes.
    fileprivate func ready(_ caches: RedisCaches) async throws { try await caches.ready() }
}
