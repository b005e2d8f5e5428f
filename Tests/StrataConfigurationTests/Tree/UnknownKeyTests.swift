#if Configuration
import Foundation
import StrataConfiguration
import Testing

@Suite("Misspelt keys")
struct UnknownKeyTests {
    @Test("every key of the tree is known, and a misspelt one has the right one beside it")
    func keys() {
        let all = ConfigurationKey.all.map { $0.path.replacing("<name>", with: "products") }
        #expect(UnknownKey.find(among: all, caches: ["products"]).isEmpty)
        #expect(UnknownKey.find(among: all).isEmpty)
        let found = UnknownKey.find(
            among: [
                "redis.conectTimeout", "caches.products.freshness.freshfor", "caches.prodcuts.freshness.freshFor", "x",
            ],
            caches: ["products"]
        )
        #expect(
            found.map(\.key) == [
                "redis.conectTimeout", "caches.products.freshness.freshfor", "caches.prodcuts.freshness.freshFor", "x",
            ]
        )
        #expect(
            found.map(\.suggestion) == [
                "redis.connectTimeout", "caches.products.freshness.freshFor", "caches.products.freshness.freshFor", nil,
            ]
        )
        #expect(
            found[0].description == "redis.conectTimeout is not a key of Strata; did you mean redis.connectTimeout?"
        )
        #expect(
            UnknownKey.find(among: ["caches.any.memory.entries", "caches.any.memory.entrys"]).map(\.key) == [
                "caches.any.memory.entrys"
            ]
        )
    }

    @Test("variables of the environment, spelt as the provider asks for them")
    func environment() {
        let variables = [
            "STRATA_REDIS_CONNECT_TIMEOUT", "STRATA_REDIS_CONNECTTIMEOUT", "STRATA_REDIS_TLS_REQUIRES_TLS13", "PATH",
            "STRATA_CACHES_PRODUCTS_FRESHNESS_STALE_WHILE_REVALIDATE", "STRATA_REDIS_REPLY_LIMITS_DEPTH",
            "STRATA_REDIS_TLS_DANGEROUSLY_ACCEPTS_ANY_CERTIFICATE",
        ]
        let found = UnknownKey.find(inEnvironment: variables, prefix: "STRATA")
        #expect(found.map(\.key) == ["STRATA_REDIS_CONNECTTIMEOUT"])
        #expect(found.first?.suggestion == "STRATA_REDIS_CONNECT_TIMEOUT")
        #expect(UnknownKey.find(inEnvironment: variables, prefix: "STRATA", caches: ["orders"]).count == 2)
    }

    @Test("the keys of a JSON file, in the section of Strata")
    func json() throws {
        let text = """
            { "http": { "port": 80 },
              "app": { "strata": { "redis": { "url": "redis://a", "conections": 1 },
                                   "caches": { "products": { "memory": { "entries": 5, "bits": 1 } } } } } }
            """
        let found = UnknownKey.find(inJSON: Data(text.utf8), under: "app.strata", caches: ["products"])
        #expect(found.map(\.key) == ["caches.products.memory.bits", "redis.conections"])
        #expect(found.last?.suggestion == "redis.connections")
        #expect(UnknownKey.find(inJSON: Data("[]".utf8)).isEmpty)
        #expect(UnknownKey.find(inJSON: Data("{".utf8)).isEmpty)
    }
}
#endif
