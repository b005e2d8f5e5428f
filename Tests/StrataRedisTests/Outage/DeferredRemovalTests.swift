import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Removals that are deferred while Redis is away", .timeLimit(.minutes(5)))
struct DeferredRemovalTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    private func client(_ url: String, _ adjust: (inout RedisConfiguration) -> Void = { _ in }) throws -> RedisClient {
        var configuration = try RedisConfiguration.patient(url)
        configuration.breaker.slowAfter = .seconds(20)
        configuration.reconnectDelay = .milliseconds(1) ... .milliseconds(20)
        adjust(&configuration)
        return try RedisClient(configuration)
    }

    /// Two instances, of which one reaches the server through a proxy, with two values that both remember.
    private func withInstances(
        removals: RemovalMode = .confirmed,
        _ adjust: @escaping (inout RedisConfiguration) -> Void = { _ in },
        _ body: (_ cut: Cut, _ other: ListInstance) async throws -> Void
    ) async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let redis = try client(proxy.url, adjust)
            let level = RedisLevel<String, [Int]>(redis, keyspace: keyspace, removals: removals)
            let other = try ListInstance(server.url, keyspace)
            try await other.listen()
            try await other.cache.set([1], for: "one", tags: ["t"])
            try await other.cache.set([2], for: "two")
            let cut = Cut(proxy: proxy, level: level)
            for key in ["one", "two"] {
                #expect(try await cut.cache.get(key) != nil)
                while other.remembers(key) == nil { _ = try await other.cache.get(key) }
            }
            try await body(cut, other)
            await redis.shutDown()
            await proxy.stop()
        }
    }

    /// The instance that is cut off.
    private struct Cut {
        let proxy: FaultProxy
        let level: RedisLevel<String, [Int]>
        let cache: Composed<MemoryLevel<String, [Int]>, RedisLevel<String, [Int]>>

        init(proxy: FaultProxy, level: RedisLevel<String, [Int]>) {
            self.proxy = proxy
            self.level = level
            cache = MemoryLevel<String, [Int]>(limit: .entries(10)).compose(level)
        }

        var pending: Int { level.redis.outageStatistics.pendingInvalidations }

        func leave() throws {
            try proxy.admit(.refuse)
            proxy.resetConnections()
        }

        func comeBack() async throws {
            try proxy.admit(.accept)
            while pending > 0 { try await nextTurn() }
        }
    }

    @Test("a key, a tag or everything: void here at once, and everywhere as soon as Redis is back", arguments: 0...2)
    func deferred(which: Int) async throws {
        try await withInstances { cut, other in
            try cut.leave()
            let outcome =
                switch which {
                case 0: try await cut.cache.remove("one", .deferred)
                case 1: try await cut.cache.invalidate(tags: ["t"], .deferred)
                default: try await cut.cache.clear(.deferred)
                }
            #expect(outcome == .deferred && cut.pending == 1)
            #expect(cut.cache.resident("one", at: .coarse) == nil)
            // The others do not know of it yet.
            #expect(try await other.cache.get("one") == [1])
            try await cut.comeBack()
            while other.remembers("one") != nil { try await nextTurn() }
            #expect(try await other.cache.get("one") == nil)
            #expect(try await other.level.get("two") == (which == 2 ? nil : [2]))
            #expect(try await cut.cache.get("one") == nil)
        }
    }

    @Test("observers are told of what was sent, and not of what is kept for later")
    func told() async throws {
        try await withInstances { cut, _ in
            let told = Locked<[String?]>([])
            let watch = cut.level.events.add([.invalidationSent]) { event in told.withLock { $0.append(event.detail) } }
            try cut.leave()
            try await cut.cache.remove("one", .deferred)
            try await cut.cache.invalidate(tags: ["t"], .deferred)
            try await cut.cache.clear(.deferred)
            #expect(told.withLock { $0 }.isEmpty)
            try await cut.comeBack()
            try await cut.cache.remove("one", .deferred)
            try await cut.cache.invalidate(tags: ["t"], .deferred)
            try await cut.cache.clear(.deferred)
            #expect(told.withLock { $0 } == ["a key", "a tag", "everything"])
            cut.level.events.remove(watch)
        }
    }

    @Test("while Redis answers it is done at once; a level may defer by default, and a call may insist")
    func modes() async throws {
        try await withInstances(removals: .deferred) { cut, other in
            #expect(try await cut.cache.remove("two", .deferred) == .done)
            #expect(try await other.level.get("two") == nil)
            #expect(try await cut.cache.clear(.confirmed) == .done)
            try await other.cache.set([3], for: "one")
            try cut.leave()
            try await cut.cache.remove("one")
            #expect(cut.pending == 1)
            try await cut.cache.remove("one")
            #expect(cut.pending == 1)
            await #expect(throws: RedisError.self) { try await cut.cache.remove("two", .confirmed) }
            await #expect(throws: RedisError.self) { try await cut.cache.invalidate(tags: ["t"], .confirmed) }
            await #expect(throws: RedisError.self) { try await cut.cache.set([4], for: "two") }
            try await cut.comeBack()
            #expect(try await other.level.get("one") == nil)
        }
    }

    @Test("a full queue keeps what it has promised, and the next call throws")
    func bounded() async throws {
        try await withInstances {
            $0.invalidationLimit = 2
        } _: { cut, other in
            try cut.leave()
            #expect(try await cut.cache.remove("one", .deferred) == .deferred)
            await #expect(throws: RedisError.self) { try await cut.cache.remove("else") }
            #expect(try await cut.cache.remove("two", .deferred) == .deferred)
            await #expect(throws: RedisError.self) { try await cut.cache.remove("three", .deferred) }
            await #expect(throws: RedisError.self) { try await cut.cache.remove("four") }
            await #expect(throws: RedisError.self) { try await cut.cache.clear(.deferred) }
            // The same again needs no room.
            #expect(try await cut.cache.remove("two", .deferred) == .deferred)
            #expect(cut.pending == 2)
            try await cut.comeBack()
            #expect(try await other.level.get(["one", "two"]) == [nil, nil])
        }
    }

    @Test("what Redis refuses for good, and what a caller gives up, is thrown")
    func refused() async throws {
        try await RedisServer.withServer { server in
            try await server.command("ACL", "SETUSER", "mute", "on", ">secret", "~*", "&*", "+@all", "-publish")
            let redis = try client(server.url) {
                $0.username = "mute"
                $0.password = Secret("secret")
            }
            let level = RedisLevel<String, [Int]>(redis, keyspace: keyspace, removals: .deferred)
            let error = await #expect(throws: RedisError.self) { try await level.remove("one", .deferred) }
            #expect(error?.code == .server)
            await redis.shutDown()
            await #expect(throws: RedisError.self) { try await level.remove("one", .deferred) }
        }
    }

    @Test("a level that can keep no removal throws, and one that is in order says so")
    func withoutQueue() async throws {
        struct Failure: Error {}
        let closures = ClosureLevel<String, Int>(get: { _ in nil }, set: { _, _ in }, remove: { _ in throw Failure() })
        await #expect(throws: Failure.self) { try await closures.remove("k", .deferred) }
        let memory = MemoryLevel<String, Int>(limit: .entries(10))
        try await memory.set(1, for: "k")
        #expect(try await memory.remove("k", .deferred) == .done)
        #expect(try await memory.get("k") == nil)
    }
}
