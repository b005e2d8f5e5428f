import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("What observers of a cache over Redis are told", .timeLimit(.minutes(5)))
struct RedisEventTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    private func text(_ event: CacheEvent) -> String {
        "\(event.level) \(event.kind)\(event.reason.map { " (\($0))" } ?? "")\(event.detail.map { " \($0)" } ?? "")"
    }

    private func next(_ count: Int, _ iterator: inout AsyncStream<CacheEvent>.Iterator) async -> [String] {
        var texts: [String] = []
        while texts.count < count, let event = await iterator.next(isolation: #isolation) { texts.append(text(event)) }
        return texts
    }

    @Test("reads and fetches, with the key and the reason; each level once")
    func reads() async throws {
        try await RedisServer.withServer { server in
            let level = RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace, codec: .text)
            let memory = MemoryLevel<String, String>(limit: .entries(10))
            let cache = memory.compose(level.fetching(.lasting) { $0 == "none" ? nil : "value" })
            let kinds: Set<CacheEvent.Kind> = [.hit, .miss, .fetchBegan, .fetchEnded, .storeRefused]
            var events = cache.observe(kinds).makeAsyncIterator()
            try await level.ready(within: .seconds(60))
            _ = try await cache.get("k")
            let fetch = ["memory miss (absent)", "redis miss (absent)", "source fetch began", "source fetch ended"]
            #expect(await next(4, &events) == fetch)
            _ = try await cache.get("k")
            try await memory.remove("k")
            _ = try await cache.get("k")
            #expect(await next(3, &events) == ["memory hit", "memory miss (removed)", "redis hit"])
            _ = try await cache.get(["k", "l"])
            #expect(
                await next(5, &events) == [
                    "memory miss (absent)", "memory hit", "redis miss (absent)", "source fetch began",
                    "source fetch ended",
                ]
            )
            _ = try await cache.get("other")
            let event = try #require(await events.next())
            #expect(event.key as? String == "other" && event.level == .memory)
        }
    }

    @Test("what an instance invalidates is told there as sent, and at the others as heard")
    func invalidations() async throws {
        try await RedisServer.withServer { server in
            let (one, two) = try (Instance(server.url, keyspace), Instance(server.url, keyspace))
            try await one.listen()
            try await two.listen()
            var heard = one.cache.observe([.invalidationHeard]).makeAsyncIterator()
            var sent = two.cache.observe([.invalidationSent]).makeAsyncIterator()
            try await two.cache.set("value", for: "k")
            #expect(await next(1, &heard) == ["redis invalidation heard a key"])
            try await two.cache.remove("absent")
            let removal = try #require(await heard.next())
            #expect(removal.key as? RedisKey == two.level.names(for: "absent").value)
            #expect(!removal.description.contains("absent"))
            try await two.cache.invalidate(tags: ["red", "blue"])
            try await two.cache.clear()
            #expect(
                await next(2, &heard) == ["redis invalidation heard 2 tags", "redis invalidation heard everything"]
            )
            #expect(
                await next(3, &sent) == [
                    "redis invalidation sent a key", "redis invalidation sent 2 tags",
                    "redis invalidation sent everything",
                ]
            )
            try await ownWritesAreNoNews(at: two, beside: one)
        }
    }

    /// A write comes back to the instance that made it, before that of another instance that followed it.
    private func ownWritesAreNoNews(at own: Instance, beside other: Instance) async throws {
        var heard = own.cache.observe([.invalidationHeard]).makeAsyncIterator()
        // What came back of an earlier clear was heard when this is.
        try await other.cache.set("value", for: "barrier")
        let names = own.level.names(for: "other's")
        while (try #require(await heard.next())).key as? RedisKey != own.level.names(for: "barrier").value {}
        while true {
            // Where the machine stood still the link is not trusted, and what comes back is believed.
            let wasTold = own.level.shared.isTold(own.level.names(for: "own").fingerprint)
            try await own.cache.set("value", for: "own")
            let isTold = own.level.shared.isTold(own.level.names(for: "own").fingerprint)
            try await other.cache.set("value", for: "other's")
            var keys: [RedisKey?] = []
            repeat { keys.append(try #require(await heard.next()).key as? RedisKey) } while keys.last != names.value
            guard wasTold, isTold else { continue }
            return #expect(keys == [names.value])
        }
    }

    @Test("the link is lost and stands again")
    func link() async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace)
            var events = one.cache.observe([.linkEstablished, .linkLost]).makeAsyncIterator()
            try await one.listen()
            one.redis.link.condemn(RedisError(code: .connectionLost, message: "a test"))
            #expect(await next(3, &events) == ["redis link established", "redis link lost", "redis link established"])
        }
    }

    @Test("a breaker opens, and says for which calls")
    func breaker() async throws {
        var configuration = try RedisConfiguration(url: "redis://127.0.0.1:1")
        configuration.breaker.minimumCalls = 2
        configuration.breaker.pause = .seconds(600) ... .seconds(600)
        let cache = RedisLevel<String, String>(try RedisClient(configuration), keyspace: keyspace, codec: .text)
            .fetching { "source \($0)" }
        var events = cache.observe([.circuitOpened, .miss]).makeAsyncIterator()
        var failures: [CacheEvent] = []
        var number = 0
        let opened: CacheEvent? = try await {
            while true {
                number += 1
                _ = try await cache.get("\(number)")
                while let event = await events.next() {
                    if event.kind == .circuitOpened { return event }
                    failures.append(event)
                    break
                }
            }
        }()
        #expect(opened?.detail?.hasSuffix(" at 127.0.0.1:1") == true)
        #expect(failures.allSatisfy { $0.error != nil && $0.level == .redis })
    }
}
