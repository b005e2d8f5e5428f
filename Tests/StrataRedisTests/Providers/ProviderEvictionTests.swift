import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Providers: an evicting read and its own loader", .timeLimit(.minutes(5)))
struct ProviderEvictionTests {
    private let loader = CountedLoader()
    private let page = Pages.page("a", 1)
    private let other = Pages.page("a", 2)

    @Test(
        "A209 an evicting read waits for its loader, whatever old value could be served meanwhile",
        arguments: ProviderBacking.allCases
    )
    func late(_ backing: ProviderBacking) async throws {
        var policy = ProviderPlace.plain
        policy.staleIfError = .seconds(300)
        policy.softTimeout = .zero
        let cache = try await ProviderPlace(backing).cache(policy)
        for record in [page, other] { _ = try await cache.value(of: record) { ["old"] } }
        let value = try await cache.value(of: page, evicting: .key) {
            for _ in 0..<100 { try await nextTurn() }
            return ["new"]
        }
        #expect(value == ["new"])
        #expect(try await cache.value(of: page) == ["new"])
        #expect(try await cache.value(of: other) == nil)
    }

    @Test(
        "A209 its loader runs although another one has just failed; where it fails, too, the scope goes",
        arguments: ProviderBacking.allCases
    )
    func paused(_ backing: ProviderBacking) async throws {
        let pause: Duration = .seconds(60)
        let cache = try await ProviderPlace(backing).cache(failureBackOff: pause...pause)
        try await cache.set(["old"], for: other)
        for _ in 0..<2 {
            // The second is kept from its loader.
            await #expect(throws: CountedLoader.Failure.self) {
                _ = try await cache.value(of: page, orLoad: loader.failing())
            }
        }
        #expect(loader.count == 1)
        await #expect(throws: CountedLoader.Failure.self) {
            _ = try await cache.value(of: page, evicting: .key, whenLoadFails: .keeps, orLoad: loader.failing())
        }
        #expect(loader.count == 2)
        #expect(try await cache.value(of: other) == ["old"])
        #expect(try await cache.value(of: page, evicting: .key, orLoad: loader.load(["new"])) == ["new"])
        #expect(loader.count == 3)
        #expect(try await cache.value(of: page) == ["new"])
        #expect(try await cache.value(of: other) == nil)
    }

    @Test(
        "A209 it does not take the value of a load that began before it, and that value is not kept",
        arguments: ProviderBacking.allCases,
        ProviderScope.allCases
    )
    func joined(_ backing: ProviderBacking, _ scope: ProviderScope) async throws {
        let place = try await ProviderPlace(backing)
        let cache = try await place.cache()
        let gate = AsyncGate()
        async let before = cache.value(of: page) {
            try await gate.pass()
            return ["before"]
        }
        await gate.arrivals()
        #expect(try await cache.value(of: page, evicting: scope, orLoad: loader.load(["after"])) == ["after"])
        #expect(loader.count == 1)
        gate.open()
        #expect(try await before == ["before"])
        #expect(try await cache.value(of: page, orLoad: loader.load(["again"])) == ["again"])
        #expect(try await place.cache().value(of: page) == ["again"])
    }

    @Test(
        "what a newer release has written is not replaced by the refresh of an older one, and goes with its eviction",
        arguments: ProviderBacking.allCases
    )
    func newer(_ backing: ProviderBacking) async throws {
        struct Release: CacheProvider {
            typealias Value = String
            var name: String { "release" }
            var schema: UInt32
        }
        var policy = ProviderPlace.plain
        (policy.freshFor, policy.staleWhileRevalidate) = (.milliseconds(1), .seconds(300))
        let place = try await ProviderPlace(backing)
        try await place.cache(policy).set("two", for: Release(schema: 2))
        let one = try await place.cache(policy)
        // Only what is seen to be stale is refreshed.
        let key = ProviderRecord.Key(Release(schema: 2))
        while try await one.levels.current(key)?.entry?.isFresh(at: .now) == true { try await nextTurn() }
        let refreshes = CountedLoader()
        #expect(try await one.value(of: Release(schema: 1), orLoad: refreshes.load("one")) == "one")
        // The refresh of what is stale, and the load of what cannot be read.
        while refreshes.count < 2 { try await nextTurn() }
        await one.levels.drain(within: .seconds(60))
        #expect(try await place.cache(policy).value(of: Release(schema: 2)) == "two")
        #expect(try await one.value(of: Release(schema: 1), evicting: .record, orLoad: refreshes.load("one")) == "one")
        #expect(try await place.cache(policy).value(of: Release(schema: 2)) == nil)
    }

    @Test(
        "an absence that others have put under a record keeps no caller from loading",
        arguments: ProviderBacking.allCases
    )
    func foreignAbsence(_ backing: ProviderBacking) async throws {
        let place = try await ProviderPlace(backing)
        func store(_ levels: some ProviderCache.Levels) async throws {
            try await levels.store(Entry(.absent), for: ProviderRecord.Key(page))
        }
        try await store(place.cache().levels)
        let cache = try await place.cache()
        #expect(try await cache.value(of: page) == nil)
        #expect(try await cache.value(of: page, orLoad: loader.load(["new"])) == ["new"])
        #expect(try await cache.value(of: page, orLoad: loader.load(["newer"])) == ["new"])
        #expect(loader.count == 1)
    }

    @Test("while Redis is away a record has its new value, more than one throws; all go when it is back")
    func outage() async throws {
        try await RedisServer.withServer { server in
            let redis = try RedisClient(.patient(server.url))
            let cache = ProviderCache(redis, keyspace: Keyspace(TestServer.uniqueName()))
            try await cache.set(["old"], for: page)
            try await server.kill()
            #expect(try await cache.value(of: page, evicting: .record, orLoad: loader.load(["new"])) == ["new"])
            #expect(redis.outageStatistics.pendingInvalidations == 1)
            await #expect(throws: RedisError.self) {
                _ = try await cache.value(of: page, evicting: .key, orLoad: loader.load(["newer"]))
            }
            #expect(loader.count == 2)
            try await server.restart(keepingData: false)
            while redis.outageStatistics.pendingInvalidations > 0 { try await nextTurn() }
            await redis.shutDown()
        }
    }
}
