import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Callers who join a read that is under way, with memory above", .timeLimit(.minutes(5)))
struct JoiningTests {
    private let source = CountingSource()

    private struct Instance {
        let memory = MemoryLevel<String, String>(limit: .entries(10))
        let level: FetchingLevel<String, String>
        let cache: Composed<MemoryLevel<String, String>, FetchingLevel<String, String>>

        init(_ level: FetchingLevel<String, String>) {
            self.level = level
            cache = memory.compose(level)
        }

        /// A caller of its own, who waits by the time this returns.
        func caller(number: Int) async throws -> Task<String?, any Error> {
            let call = Task { try await cache.get("k") }
            while level.waiting < number { try await nextTurn() }
            return call
        }
    }

    private func instance(
        of server: RedisServer,
        freshness: FreshnessPolicy = FreshnessPolicy()
    ) async throws -> Instance {
        let redis = try TestServer.client(of: server)
        let keyspace = Keyspace(TestServer.uniqueName())
        let level = RedisLevel<String, String>(redis, keyspace: keyspace, freshness: freshness)
        // Reads that begin before that are not joined by later ones.
        try await level.listens()
        let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600), failureBackOff: nil)
        return Instance(level.fetching(options) { [source] _ in try await source.fetch() })
    }

    @Test("each counts as a miss, one fetch is made, and memory has the value afterwards")
    func counted() async throws {
        try await RedisServer.withServer { server in
            let instance = try await instance(of: server)
            var calls: [Task<String?, any Error>] = []
            for number in 1...20 { calls.append(try await instance.caller(number: number)) }
            source.gate.open()
            for call in calls { #expect(try await call.value == "value") }
            #expect(source.calls == 1)
            #expect(instance.memory.statistics.misses == 20)
            #expect(instance.memory.statistics.hits == 0)
            #expect(instance.memory.statistics.entries == 1)
            #expect(try await instance.cache.get("k") == "value")
            #expect(instance.memory.statistics.hits == 1)
        }
    }

    @Test("the short way is open while a read is under way and memory has nothing, and at no other time")
    func shortWay() async throws {
        try await RedisServer.withServer { server in
            let instance = try await instance(of: server)
            let erased = instance.cache.normalized()
            #expect(try await instance.cache.join("k", if: { true })?.value == nil)
            let first = try await instance.caller(number: 1)
            await source.gate.arrivals()
            #expect(try await instance.cache.join("k", if: { false })?.value == nil)
            #expect(try await instance.cache.join("other", if: { true })?.value == nil)
            let joined = Task { try await erased.join("k", if: { true })?.value }
            while instance.level.waiting < 2 { try await nextTurn() }
            try await instance.memory.set("mine", for: "k")
            #expect(try await instance.cache.join("k", if: { true })?.value == nil)
            source.gate.open()
            #expect(try await joined.value == "value")
            #expect(try await first.value == "value")
            #expect(try await instance.cache.join("k", if: { true })?.value == nil)
        }
    }

    @Test("when the caller who began it leaves, one of those who joined fills memory")
    func beginnerLeaves() async throws {
        try await RedisServer.withServer { server in
            let instance = try await instance(of: server)
            let first = try await instance.caller(number: 1)
            await source.gate.arrivals()
            let second = try await instance.caller(number: 2)
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            source.gate.open()
            #expect(try await second.value == "value")
            #expect(try await instance.memory.get("k") == "value")
            #expect(source.calls == 1)
        }
    }

    @Test("an error of the source reaches them as it is; who is cancelled leaves alone")
    func failure() async throws {
        try await RedisServer.withServer { server in
            source.fail(true)
            let instance = try await instance(of: server)
            let first = try await instance.caller(number: 1)
            await source.gate.arrivals()
            let second = try await instance.caller(number: 2)
            let third = try await instance.caller(number: 3)
            third.cancel()
            await #expect(throws: CancellationError.self) { try await third.value }
            source.gate.open()
            for call in [first, second] { await #expect(throws: CountingSource.Failure.self) { try await call.value } }
        }
    }

    @Test("who joins waits for as long as the policy says, and not longer")
    func timeout() async throws {
        try await RedisServer.withServer { server in
            let instance = try await instance(of: server, freshness: FreshnessPolicy(hardTimeout: .milliseconds(50)))
            for _ in 0..<2 {
                let error = await #expect(throws: CacheError.self) { try await instance.cache.get("k") }
                #expect(error?.code == .timeout)
            }
            source.gate.open()
            await instance.cache.drain(within: .seconds(30))
            #expect(source.calls == 1)
        }
    }

    @Test("with a stale value in memory no read waits for one that has none")
    func staleAbove() async throws {
        try await RedisServer.withServer { server in
            let instance = try await instance(of: server, freshness: FreshnessPolicy(softTimeout: .milliseconds(10)))
            let first = try await instance.caller(number: 1)
            await source.gate.arrivals()
            let now = MonotonicInstant.now
            let old = Entry(
                .value("old"),
                freshUntil: now.advanced(by: .seconds(-1)),
                staleUntil: now.advanced(by: .seconds(60))
            )
            try await instance.memory.store(old, for: "k")
            #expect(try await instance.cache.get("k") == "old")
            source.gate.open()
            #expect(try await first.value == "value")
            #expect(source.calls == 1)
        }
    }
}
