#if Configuration
import Configuration
import Strata
import StrataRedis
import Testing

@testable import StrataConfiguration

@Suite("A plan of caches from a configuration")
struct CachePlanConfigTests {
    @Test(
        "for a cache its section counts, then what the code says for it, then the section of all, then the code's defaults"
    )
    func layers() throws {
        var plan = CachePlan()
        plan.defaults.memory = .entries(1)
        plan.defaults.prefix = "code"
        plan.defaults.freshness.freshFor = .seconds(1)
        plan.override("sessions") {
            $0.freshness.freshFor = .seconds(3)
            $0.freshness.absentFor = .seconds(3)
        }
        try plan.read(
            TestConfig.environment([
                "DEFAULTS_FRESHNESS_FRESH_FOR": "2s", "DEFAULTS_FRESHNESS_ABSENT_FOR": "2s",
                "DEFAULTS_MEMORY_ENTRIES": "2",
                "CACHES_SESSIONS_FRESHNESS_ABSENT_FOR": "4s", "CACHES_SESSIONS_MEMORY_BYTES": "4KiB",
            ])
        )
        let products = try plan.settings(for: "products")
        #expect(products.memory == .entries(2) && products.prefix == "code")
        #expect(products.freshness.freshFor == .seconds(2) && products.freshness.absentFor == .seconds(2))
        let sessions = try plan.settings(for: "sessions")
        #expect(sessions.memory == .bytes(4_096) && sessions.prefix == "code")
        #expect(sessions.freshness.freshFor == .seconds(3) && sessions.freshness.absentFor == .seconds(4))
    }

    @Test("what a plan has read before is forgotten")
    func again() throws {
        var plan = CachePlan()
        try plan.read(TestConfig.environment(["DEFAULTS_MEMORY_ENTRIES": "2", "CACHES_A_SCHEMA": "9"]))
        try plan.read(TestConfig.environment(["DEFAULTS_LEASES_FETCH_LIMIT": "5"]))
        let settings = try plan.settings(for: "a")
        #expect(settings.memory == .entries(10_000) && settings.schema == nil && settings.leases.fetchLimit == 5)
    }

    @Test("an error names the whole key, of the section of all at once, of a cache when it is made")
    func errors() throws {
        var plan = CachePlan()
        let all = TestConfig.environment(["DEFAULTS_LEASES_WAIT_LIMIT": "long"])
        #expect(TestConfig.error { try plan.read(all) }?.key == "defaults.leases.waitLimit")
        try plan.read(TestConfig.environment(["CACHES_SESSIONS_CODEC": "xml"]))
        let error = TestConfig.error { _ = try plan.settings(for: "sessions") }
        #expect(error?.key == "caches.sessions.codec" && error?.code == .unknownValue)
        _ = try plan.settings(for: "products")
    }

    @Test("a name may have dots and other signs")
    func names() throws {
        var plan = CachePlan()
        let values: [AbsoluteConfigKey: ConfigValue] = [["caches", "shop.products", "memory", "entries"]: 7]
        try plan.read(ConfigReader(provider: InMemoryProvider(values: values)))
        #expect(try plan.settings(for: "shop.products").memory == .entries(7))
        try plan.read(TestConfig.environment(["CACHES_SHOP_PRODUCTS_MEMORY_ENTRIES": "8"]))
        #expect(try plan.settings(for: "shop-products").memory == .entries(8))
    }

    @Test("client and caches of one reader")
    func caches() throws {
        let config = TestConfig.environment([
            "APP_STRATA_REDIS_URL": "redis://cache.internal:7000", "APP_STRATA_REDIS_REDIS_BUDGET": "200ms",
            "APP_STRATA_DEFAULTS_KEYSPACE_PREFIX": "shop", "APP_STRATA_CACHES_PRODUCTS_MEMORY_ENTRIES": "7",
        ])
        let caches = try RedisCaches(config: config.scoped(to: "app.strata"))
        #expect(caches.redis.configuration.endpoint == .tcp(host: "cache.internal", port: 7000))
        #expect(caches.redis.redisBudget == .milliseconds(200))
        let products = try caches.cache("products", Int.self, String.self)
        #expect(products.upper.limit.total == 7 && products.lower.level.keyspace.prefix == "shop")
        #expect(TestConfig.error { _ = try RedisCaches(config: config) }?.key == "redis.url")
    }
}
#endif
