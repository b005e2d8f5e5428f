import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Writing through to the source, above Redis", .timeLimit(.minutes(5)))
struct RedisWritingThroughTests {
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = WrittenSource<[Int]>(["k": [1]])

    private func writer<Base: AtomicLevel<String, [Int]>>(to level: Base) -> WritingThrough<Base> {
        let source = source
        return level.writing { key, value in try await source.write(key, value) }
    }

    @Test("both instances read what one has written, and a deletion ends it everywhere")
    func verbs() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (ListInstance(server.url, keyspace), ListInstance(server.url, keyspace))
            try await one.listen()
            try await other.listen()
            let cache = writer(to: one.cache)
            for number in 2...3 {
                // Memory keeps no second write of a key while the echo of the first is looked for.
                repeat {
                    try await cache.set([number], for: "k")
                    try await one.redis.ping()
                } while one.remembers("k") != [number]
                #expect(try await other.level.get("k") == [number])
            }
            #expect(try await other.cache.get("k") == [3])
            try await cache.delete("k")
            #expect(source.values.isEmpty)
            while other.remembers("k") != nil { try await nextTurn() }
            #expect(try await other.cache.get("k") == nil)
        }
    }

    @Test(
        "of two instances that overlap, none leaves what the other has replaced, in Redis or in memory",
        arguments: [false, true],
        [0, 1]
    )
    func overlapping(isCached: Bool, order: Int) async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (ListInstance(server.url, keyspace), ListInstance(server.url, keyspace))
            try await one.listen()
            try await other.listen()
            if isCached { try await one.cache.set([1], for: "k") }
            let (first, second) = (writer(to: one.cache), writer(to: other.cache))
            let gate = AsyncGate()
            source.holdNextWrite(before: order == 0 ? gate : nil, after: order == 1 ? gate : nil)
            let task = Task { try await first.set([2], for: "k") }
            await gate.arrivals()
            try await second.set([3], for: "k")
            gate.open()
            try await task.value
            #expect(source.writes == (order == 0 ? [[3], [2]] : [[2], [3]]))
            #expect(try await one.level.get("k") == nil)
            #expect(one.remembers("k") == nil)
            while other.remembers("k") != nil { try await nextTurn() }
        }
    }

    @Test("a key that was written and deleted meanwhile does not count as untouched", arguments: [false, true])
    func between(isCached: Bool) async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (ListInstance(server.url, keyspace), ListInstance(server.url, keyspace))
            try await one.listen()
            try await other.listen()
            if isCached { try await one.cache.set([1], for: "k") }
            let (first, second) = (writer(to: one.cache), writer(to: other.cache))
            let gate = AsyncGate()
            source.holdNextWrite(after: gate)
            let task = Task { try await first.set([2], for: "k") }
            await gate.arrivals()
            try await second.set([3], for: "k")
            try await second.delete("k")
            gate.open()
            try await task.value
            #expect(source.values.isEmpty)
            #expect(try await other.level.get("k") == nil)
            #expect(one.remembers("k") == nil)
        }
    }

    @Test("a fetch of another instance that began before the write does not store what it has read")
    func fetching() async throws {
        try await RedisServer.withServer { server in
            let source = source
            let (one, other) = try (ListInstance(server.url, keyspace), ListInstance(server.url, keyspace))
            try await one.listen()
            try await other.listen()
            let cache = writer(to: one.cache)
            let reader = other.memory.compose(other.level.fetching { (key: String) in try await source.read(key) })
            let gate = AsyncGate()
            source.holdReads(gate)
            let read = Task { try await reader.get("k") }
            await gate.arrivals()
            try await cache.set([2], for: "k")
            source.holdReads(nil)
            gate.open()
            _ = try await read.value
            while try await reader.get("k") != [2] { try await nextTurn() }
            #expect([nil, [2]].contains(try await one.level.get("k")))
        }
    }

    @Test("Redis away: the source is written, the old value is void here at once, and everywhere when Redis is back")
    func away() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let one = try ListInstance(proxy.url, keyspace)
            let other = try ListInstance(server.url, keyspace)
            try await other.listen()
            let cache = writer(to: one.cache)
            try await cache.set([1], for: "k")
            #expect(try await other.cache.get("k") == [1])
            try proxy.admit(.refuse)
            proxy.resetConnections()
            try await cache.set([2], for: "k")
            #expect(source.values == ["k": [2]])
            #expect(one.remembers("k") == nil)
            #expect(one.redis.outageStatistics.pendingInvalidations == 1)
            try proxy.admit(.accept)
            while one.redis.outageStatistics.pendingInvalidations > 0 { try await nextTurn() }
            #expect(try await other.level.get("k") == nil)
            try await cache.set([3], for: "k")
            #expect(try await other.level.get("k") == [3])
            await one.redis.shutDown()
            await proxy.stop()
        }
    }

    @Test("is a level like any other")
    func conforms() async throws {
        let redis = try await TestServer.client()
        let suite = CacheLevelConformance(abilities: [.absences, .tags]) {
            MemoryLevel<String, String>(limit: .entries(1_000))
                .compose(RedisLevel(redis, keyspace: Keyspace(TestServer.uniqueName("conformance")), codec: .cbor))
                .writing { _, _ in }
        }
        for finding in await suite.run() { Issue.record("\(finding)") }
    }
}
