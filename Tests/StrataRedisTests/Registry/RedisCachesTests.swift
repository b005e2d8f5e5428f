import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Named caches over one Redis", .timeLimit(.minutes(5)))
struct RedisCachesTests {
    private func caches(
        _ redis: RedisClient,
        logger: LogRecorder? = nil,
        _ adjust: (inout CachePlan) -> Void = { _ in }
    ) -> RedisCaches {
        var plan = CachePlan()
        plan.defaults.prefix = TestServer.uniqueName()
        // Longer than this process stands still beside other load: what is fetched without a lease is not kept.
        plan.defaults.leases.duration = .seconds(60)
        adjust(&plan)
        return RedisCaches(redis, plan, logger: logger?.logger)
    }

    private func isError(_ error: any Error, _ code: CacheError.Code) -> Bool { (error as? CacheError)?.code == code }

    @Test("a cache has the defaults, and what is said for its name")
    func settings() async throws {
        let caches = caches(try await TestServer.client()) { plan in
            plan.defaults.freshness = .resilient
            plan.defaults.memory = .entries(7)
            plan.override("sessions") {
                $0.freshness.freshFor = .seconds(60)
                $0.memory = .bytes(1_000)
                $0.version = 3
                $0.leases.fetchLimit = 5
                $0.codec = .cbor
            }
        }
        let products = try caches.cache("products", Int.self, String.self)
        #expect(products.upper.limit.total == 7)
        #expect(products.lower.level.freshness == .resilient)
        #expect(products.lower.level.keyspace.name == "products")
        #expect(products.lower.level.codec.identifier == Codec<String>.json.identifier)
        let sessions = try caches.cache("sessions", Int.self, String.self)
        #expect(sessions.upper.limit.total == 1_000)
        #expect(sessions.lower.level.freshness.freshFor == .seconds(60))
        #expect(sessions.lower.level.freshness.staleIfError == FreshnessPolicy.resilient.staleIfError)
        #expect(
            sessions.lower.level.keyspace
                == Keyspace("sessions", version: 3, prefix: products.lower.level.keyspace.prefix)
        )
        #expect(sessions.lower.options.fetchLimit == 5)
        #expect(sessions.lower.level.codec.identifier == Codec<String>.cbor.identifier)
        try await caches.ready()
        try await sessions.set("12345", for: 1)
        #expect(sessions.upper.statistics.weight == 5)
    }

    @Test("a cache that was taken out of the registry is made anew when it is asked for")
    func removed() async throws {
        let caches = caches(try await TestServer.client())
        let first = try caches.cache("products", Int.self, String.self)
        #expect(caches.statuses.map(\.name) == ["products"])
        #expect(caches.registry.remove("products"))
        #expect(caches.statuses.isEmpty)
        let second = try caches.cache("products", Int.self, String.self)
        #expect(ObjectIdentifier(first.upper) != ObjectIdentifier(second.upper))
        #expect(
            ObjectIdentifier(try caches.cache("products", Int.self, String.self).upper)
                == ObjectIdentifier(second.upper)
        )
    }

    @Test("a name that others have taken in the registry is not this client's cache any more")
    func taken() async throws {
        let caches = caches(try await TestServer.client())
        _ = try caches.cache("products", Int.self, String.self)
        #expect(caches.registry.remove("products"))
        try caches.registry.add(MemoryLevel<Int, Int>(limit: .entries(1)), as: "products")
        #expect(caches.statuses.isEmpty)
        #expect(caches.registry.names == ["products"])
    }

    @Test("all who ask get one cache, and other types a typed error")
    func types() async throws {
        let caches = caches(try await TestServer.client())
        let memories = try await withThrowingTaskGroup(of: ObjectIdentifier.self) { group in
            for _ in 0..<40 {
                group.addTask { ObjectIdentifier(try caches.cache("products", Int.self, String.self).upper) }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(memories.count == 1)
        #expect(caches.statuses.count == 1)
        #expect { try caches.cache("products", Int.self, Int.self) } throws: { isError($0, .otherTypes) }
        #expect { try caches.cache("products", String.self, String.self) } throws: { isError($0, .otherTypes) }
        let products = try caches.cache("products", Int.self, String.self)
        #expect(try await products.get(1) { "one" } == "one")
        #expect(try await caches.cache("products", Int.self, String.self).get(1) == "one")
        let status = try #require(caches.statuses.first)
        #expect(status.name == "products" && status.key == "Int" && status.value == "String")
    }

    @Test("a cache that is made with a source has it for all, and cannot be made twice")
    func source() async throws {
        let caches = caches(try await TestServer.client())
        try caches.makeCache("numbers") { (key: Int) in key * 2 }
        #expect(try await caches.cache("numbers", Int.self, Int.self).get(4) == 8)
        #expect { try caches.makeCache("numbers") { (key: Int) in key * 3 } } throws: { isError($0, .nameTaken) }
        #expect(try await caches.cache("numbers", Int.self, Int.self).get(5) == 10)
        try caches.makeCache("tagged") { (key: Int, _) in .value(key, tags: ["all"]) }
        let tagged = try caches.cache("tagged", Int.self, Int.self)
        #expect(try await tagged.get(1) == 1)
        try await tagged.invalidate(tag: "all")
        #expect(tagged.resident(1, at: .now) == nil)
    }

    @Test("a source for several keys is asked once for all that no level has")
    func several() async throws {
        let caches = caches(try await TestServer.client())
        let asked = Locked<[[Int]]>([])
        let doubles = try caches.makeCacheFetchingSeveral("doubles") { (keys: [Int]) in
            asked.withLock { $0.append(keys.sorted()) }
            return Dictionary(uniqueKeysWithValues: keys.filter { $0 != 3 }.map { ($0, $0 * 2) })
        }
        #expect(try await doubles.get([1]) == [2])
        #expect(try await caches.cache("doubles", Int.self, Int.self).get([1, 2, 3, 4]) == [2, 4, nil, 8])
        #expect(asked.withLock { $0 } == [[1], [2, 3, 4]])
        #expect {
            try caches.makeCacheFetchingSeveral("doubles") { (_: [Int]) -> [Int: Int] in [:] }
        } throws: {
            isError($0, .nameTaken)
        }
        let tagged = try caches.makeCacheFetchingSeveral("tagged") { (_: [Int], contexts) in
            contexts.mapValues { .value($0.old == nil ? 1 : 2, tags: ["all"]) }
        }
        #expect(try await tagged.get([5, 6]) == [1, 1])
        try await tagged.invalidate(tag: "all")
        #expect(tagged.resident(5, at: .now) == nil && tagged.resident(6, at: .now) == nil)
    }

    @Test("values that are not Codable bring their codec, and a source of any kind")
    func ownCodec() async throws {
        struct Opaque: Sendable, Equatable { var number: UInt8 }
        let codec = Codec(
            identifier: 200,
            encode: { (value: Opaque) in [value.number] },
            decode: { Opaque(number: $0[0]) }
        )
        let caches = caches(try await TestServer.client())
        let asked = Locked(0)
        try caches.composeCache("opaque", codec: codec) { (level: RedisLevel<Int, Opaque>, leases) in
            level.fetching(leases) { key in
                asked.withLock { $0 += 1 }
                return Opaque(number: UInt8(key))
            }
        }
        #expect(try await caches.cache("opaque", Int.self, codec: codec).get(7) == Opaque(number: 7))
        #expect(try await caches.cache("opaque", Int.self, codec: codec).get(7) == Opaque(number: 7))
        #expect(asked.withLock { $0 } == 1)
    }

    @Test("two names in one keyspace are refused, and the name stays free")
    func keyspaces() async throws {
        let caches = caches(try await TestServer.client()) { plan in
            plan.override("second") { $0.keyspaceName = "first" }
        }
        _ = try caches.cache("first", Int.self, Int.self)
        #expect { try caches.cache("second", Int.self, Int.self) } throws: { isError($0, .invalidKeyspaces) }
        #expect(caches.registry.names == ["first"])
        caches.remove("first")
        _ = try caches.cache("second", Int.self, Int.self)
        #expect { try caches.cache("", Int.self, Int.self) } throws: { isError($0, .nameTaken) }
    }

    @Test("another cache in the registry has its name there")
    func foreign() async throws {
        let caches = caches(try await TestServer.client())
        try caches.registry.add(MemoryLevel<Int, Int>(limit: .entries(1)), as: "plain")
        #expect { try caches.cache("plain", Int.self, Int.self) } throws: { isError($0, .otherTypes) }
        #expect { try caches.makeCache("plain") { (key: Int) in key } } throws: { isError($0, .nameTaken) }
        #expect(caches.statuses.isEmpty && caches.registry.names == ["plain"])
    }

    @Test("what is removed is let go, and what it stored is there for the next of the name")
    func removal() async throws {
        let caches = caches(try await TestServer.client())
        weak var level: RedisLevel<Int, String>?
        do {
            let cache = try caches.cache("products", Int.self, String.self)
            try await cache.set("one", for: 1)
            level = cache.lower.level
        }
        #expect(level != nil)
        #expect(caches.remove("products"))
        #expect(level == nil)
        #expect(!caches.remove("products"))
        #expect(try await caches.cache("products", Int.self, String.self).get(1) == "one")
    }

    @Test("a cache that goes with its removal may ask for the caches at its end")
    func removedLast() async throws {
        final class Ending: Sendable {
            let action: @Sendable () -> Void

            init(_ action: @escaping @Sendable () -> Void) { self.action = action }

            deinit { action() }
        }
        let caches = caches(try await TestServer.client())
        let names = Shared<[String]?>(nil)
        do {
            let ending = Ending { [weak caches] in
                let found = caches?.statuses.map(\.name)
                names.withLock { $0 = found }
            }
            let source = Source<Int, Int> { key in withExtendedLifetime(ending) { key } }
            try caches.registry.add(source, as: "plain")
        }
        _ = try caches.cache("products", Int.self, String.self)
        #expect(names.withLock { $0 } == nil)
        #expect(caches.remove("plain"))
        #expect(names.withLock { $0 } == ["products"])
    }

    @Test("a new plan changes what can change at once, in caches that exist and in later ones, and tells the rest")
    func apply() async throws {
        let caches = caches(try await TestServer.client())
        let products = try caches.cache("products", Int.self, Int.self)
        try await caches.ready()
        for key in 0..<20 { try await products.set(key, for: key) }
        var plan = caches.plan
        plan.defaults.memory = .entries(5)
        plan.defaults.freshness.freshFor = .seconds(7)
        plan.defaults.freshness.jitter = 0
        plan.defaults.leases.fetchLimit = 3
        #expect(try caches.apply(plan) == [:])
        #expect(products.upper.statistics.entries == 5)
        #expect(products.lower.limiter.limit == 3 && products.lower.options.fetchLimit == 3)
        let fetched = try #require(try await products.lower.entry(for: 100, Self.request { 1 }))
        // By the server's clock, which may have been read late; what there was before is 300 seconds.
        #expect(abs(fetched.storedAt.duration(to: fetched.freshUntil) / .seconds(1) - 7) < 60)
        let later = try caches.cache("later", Int.self, Int.self)
        #expect(later.upper.limit.total == 5 && later.lower.level.freshness.freshFor == .seconds(7))

        plan.override("products") {
            $0.memory = .bytes(100)
            $0.coherence = .none
            $0.version = 2
            $0.freshness.freshFor = .seconds(9)
        }
        #expect(try caches.apply(plan) == ["products": ["memory", "coherence", "keyspace.version"]])
        #expect(products.upper.limit.total == 5 && products.lower.level.freshness.freshFor == .seconds(9))
        #expect(later.lower.level.freshness.freshFor == .seconds(7))
    }

    private static func request(_ fetch: @escaping @Sendable () -> Int) -> ReadRequest {
        var request = ReadRequest()
        request.callSource = CallSource<Int>({ fetch() })
        return request
    }

    @Test("a plan that is refused for one cache changes none")
    func refused() async throws {
        struct Refusal: Error {}
        let caches = caches(try await TestServer.client())
        let names = ["a", "b", "c"]
        for name in names { _ = try caches.cache(name, Int.self, Int.self) }
        var plan = caches.plan
        plan.defaults.memory = .entries(3)
        plan.last = { name, _ in if name == "b" { throw Refusal() } }
        #expect(throws: Refusal.self) { try caches.apply(plan) }
        for name in names { #expect(try caches.cache(name, Int.self, Int.self).upper.limit.total == 10_000) }
        #expect(try caches.cache("d", Int.self, Int.self).upper.limit.total == 10_000)
    }

    @Test("plans and caches that come at the same time: every cache has the last plan in the end")
    func concurrentPlans() async throws {
        let caches = caches(try await TestServer.client())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...20 {
                group.addTask {
                    var plan = caches.plan
                    plan.defaults.memory = .entries(number)
                    try caches.apply(plan)
                }
                group.addTask { _ = try caches.cache("cache \(number % 7)", Int.self, Int.self) }
            }
            try await group.waitForAll()
        }
        let last = try caches.plan.settings(for: "any").memory.total
        #expect(caches.statuses.count == 7)
        for status in caches.statuses {
            #expect(try caches.cache(status.name, Int.self, Int.self).upper.limit.total == last)
        }
    }

    @Test("the caches are ready when all are told of changes, and a server that is away is named")
    func ready() async throws {
        let caches = caches(try await TestServer.client())
        _ = try caches.cache("a", Int.self, Int.self)
        _ = try caches.cache("b", Int.self, Int.self)
        try await caches.ready()
        #expect(caches.statuses.allSatisfy { $0.isTold })
        let away = try RedisClient("unix:///nowhere/redis.sock")
        let lost = self.caches(away)
        await #expect(throws: RedisError.self) { try await lost.ready(within: .milliseconds(50)) }
        _ = try lost.cache("a", Int.self, Int.self)
        await #expect { try await lost.ready(within: .milliseconds(50)) } throws: {
            ($0 as? RedisError)?.code == .timeout
        }
        #expect(lost.statuses.contains { !$0.isTold })
    }
}
