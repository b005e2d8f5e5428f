import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// A source that counts, can be held, and fails when told to.
final class CountingSource: Sendable {
    struct Failure: Error, Equatable {}

    private let state = Locked((calls: 0, failing: false, value: "value" as String?))
    let gate = AsyncGate()

    var calls: Int { state.withLock { $0.calls } }

    func fail(_ failing: Bool) { state.withLock { $0.failing = failing } }

    func set(_ value: String?) { state.withLock { $0.value = value } }

    func fetch() async throws -> String? {
        let (failing, value) = state.withLock { state in
            state.calls += 1
            return (state.failing, state.value)
        }
        try await gate.pass()
        if failing { throw Failure() }
        return value
    }
}

@Suite("A fleet that fetches through leases", .timeLimit(.minutes(5)))
struct FetchingTests {
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()

    private func instance(
        of server: RedisServer,
        options: LeaseOptions = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600)),
        freshness: FreshnessPolicy = FreshnessPolicy()
    ) throws -> FetchingLevel<String, String> {
        RedisLevel(try TestServer.client(of: server), keyspace: keyspace, freshness: freshness)
            .fetching(options) { [source] _ in try await source.fetch() }
    }

    @Test("one missing key, four instances of 32 tasks, one fetch")
    func oneFetch() async throws {
        try await RedisServer.withServer { server in
            let instances = try (0..<4).map { _ in try instance(of: server) }
            let tasks = instances.flatMap { instance in (0..<32).map { _ in Task { try await instance.get("k") } } }
            await source.gate.arrivals()
            source.gate.open()
            for task in tasks { #expect(try await task.value == "value") }
            #expect(source.calls == 1)
            #expect(instances.reduce(0) { $0 + $1.level.statistics.stores } == 1)
        }
    }

    @Test("who waits for another instance gets its value by one GET, and asks for no lease again")
    func news() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try instance(of: server), try instance(of: server))
            for instance in [one, other] { try await instance.level.listens() }
            let fetch = Task { try await one.get("k") }
            await source.gate.arrivals()
            let wait = Task { try await other.get("k") }
            let name = keyspace.names(for: "k".keyBytes).value
            while other.level.shared.waiters.awaiting(name.bytes).isEmpty { try await nextTurn() }
            try await server.command("CONFIG", "RESETSTAT")
            source.gate.open()
            #expect(try await fetch.value == "value")
            #expect(try await wait.value == "value")
            // The script that stores reads the lease, and who has waited the value.
            #expect(try await server.calls(of: "get") == 2)
            // There is no other script but those that look at the marks, by an HMGET.
            let scripts = try await server.calls(of: "evalsha")
            #expect(try await scripts - server.calls(of: "hmget") <= 1)
            #expect(source.calls == 1)
        }
    }

    @Test("absence is remembered for its own lifetime; without one it is asked for again")
    func absence() async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            source.set(nil)
            let remembering = try instance(of: server)
            #expect(try await remembering.get("k") == nil)
            #expect(try await remembering.get("k") == nil)
            #expect(source.calls == 1)
            let forgetting = try instance(of: server, freshness: FreshnessPolicy(absentFor: .zero))
            #expect(try await forgetting.get("other") == nil)
            #expect(try await forgetting.get("other") == nil)
            #expect(source.calls == 3)
        }
    }

    @Test("a failing source: its own error reaches all who wait in the process, the lease is ended at once")
    func failure() async throws {
        try await RedisServer.withServer { server in
            source.fail(true)
            let cache = try instance(of: server, options: LeaseOptions(failureBackOff: nil))
            let tasks = (0..<10).map { _ in Task { try await cache.get("k") } }
            await source.gate.arrivals()
            source.gate.open()
            for task in tasks { await #expect(throws: CountingSource.Failure()) { try await task.value } }
            #expect(try await cache.level.redis.exists(keyspace.names(for: "k".keyBytes).lease) == 0)
            source.fail(false)
            #expect(try await cache.get("k") == "value")
        }
    }

    @Test("a remove during a fetch: the caller gets its value, which is not stored")
    func removeDuringFetch() async throws {
        try await RedisServer.withServer { server in
            let cache = MemoryLevel<String, String>(limit: .entries(10)).compose(try instance(of: server))
            let other = try instance(of: server)
            let early = Task { try await cache.get("k") }
            await source.gate.arrivals()
            try await other.remove("k")
            source.set("new")
            source.gate.open()
            #expect(try await early.value == "value")
            #expect(cache.lower.level.statistics.refusedStores == 1)
            #expect(try await cache.get("k") == "new")
            #expect(try await other.get("k") == "new")
        }
    }

    @Test("a set during a fetch wins over what the fetch finds")
    func setDuringFetch() async throws {
        try await RedisServer.withServer { server in
            let cache = try instance(of: server)
            let early = Task { try await cache.get("k") }
            await source.gate.arrivals()
            try await instance(of: server).set("set", for: "k")
            // Who wants the key now need not wait for the fetch.
            #expect(try await cache.level.redis.exists(keyspace.names(for: "k".keyBytes).lease) == 0)
            source.gate.open()
            #expect(try await early.value == "value")
            #expect(try await cache.get("k") == "set")
        }
    }

    @Test("a clear during a fetch: what it finds is void, for every instance and in memory")
    func clearDuringFetch() async throws {
        try await RedisServer.withServer { server in
            let cache = MemoryLevel<String, String>(limit: .entries(10)).compose(try instance(of: server))
            let other = try instance(of: server)
            let early = Task { try await cache.get("k") }
            await source.gate.arrivals()
            try await other.clear()
            source.set("new")
            source.gate.open()
            #expect(try await early.value == "value")
            #expect(try await other.get("k") == "new")
            #expect(other.level.statistics.voided == 1)
            while cache.resident("k", at: .coarse) != nil { try await cache.lower.level.redis.ping() }
            #expect(try await cache.get("k") == "new")
        }
    }

    @Test("a fetch that lasts longer than its lease is still the only one")
    func renewal() async throws {
        try await RedisServer.withServer { server in
            let options = LeaseOptions(
                duration: .seconds(15),
                renewalLimit: .seconds(600),
                waitLimit: .seconds(600)
            )
            let freshness = FreshnessPolicy(hardTimeout: nil)
            let leader = try instance(of: server, options: options, freshness: freshness)
            let waiter = try instance(of: server, options: options, freshness: freshness)
            let first = Task { try await leader.get("k") }
            await source.gate.arrivals()
            let second = Task { try await waiter.get("k") }
            // Longer than a lease that is renewed once, as the server sees it.
            let lease = keyspace.names(for: "k".keyBytes).lease
            let redis = leader.level.redis
            let end = try await redis.time() + .seconds(21)
            while try await redis.time() < end {
                #expect(try await redis.exists(lease) == 1)
                try await Task.sleep(for: .milliseconds(20))
            }
            source.gate.open()
            #expect(try await first.value == "value")
            #expect(try await second.value == "value")
            #expect(source.calls == 1)
        }
    }

    @Test("a holder that is gone costs those who wait its lease, then another fetches")
    func crashedHolder() async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            let cache = try instance(of: server)
            let lease = keyspace.names(for: "k".keyBytes).lease
            let redis = cache.level.redis
            var rounds = 0
            while true {
                rounds += 1
                let begin = try await redis.time()
                try await redis.set(lease, [1, 2, 3], expiringIn: .seconds(5))
                let (value, trace) = try await cache.getWithTrace("k")
                // Expiry goes by a clock that the server does not read for each command.
                #expect(try await redis.time() - begin > .milliseconds(4_900))
                #expect(value == "value")
                #expect(source.calls == rounds)
                #expect(cache.level.statistics.stores == rounds)
                if trace.hasWaited { break }
                // On a busy machine the lease may be over before it is looked at.
                try await cache.remove("k")
            }
        }
    }

    @Test("without Redis the source answers, once for all callers of the process")
    func outage() async throws {
        var configuration = try RedisConfiguration(url: "redis://127.0.0.1:1")
        // For how long callers join what has begun while nothing tells of changes.
        configuration.linkPingTimeout = .seconds(60)
        let cache = RedisLevel<String, String>(try RedisClient(configuration), keyspace: keyspace)
            .fetching { [source] _ in try await source.fetch() }
        let tasks = (0..<10).map { _ in Task { try await cache.get("k") } }
        await source.gate.arrivals()
        while cache.waiting < 10 { try await nextTurn() }
        source.gate.open()
        for task in tasks { #expect(try await task.value == "value") }
        #expect(source.calls == 1)
    }

    @Test("a server without memory: the value is returned, no lease is left behind")
    func outOfMemory() async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            let cache = try instance(of: server)
            #expect(try await cache.get("before") == "value")
            let lease = keyspace.names(for: "k".keyBytes).lease
            let answer = try await Lease.readOrLead(
                cache.level.redis,
                keyspace,
                keyspace.names(for: "k".keyBytes),
                duration: .seconds(100),
                replacing: nil
            )
            guard case .leads(let held, _) = answer else {
                Issue.record("no lease")
                return
            }
            try await server.command("CONFIG", "SET", "maxmemory", "1")
            #expect(try await held.store([1], expiry: Array("1000".utf8)) == .outOfMemory)
            #expect(try await cache.level.redis.exists(lease) == 0)
            #expect(try await cache.get("other") == "value")
            try await cache.remove("before")
            try await server.command("CONFIG", "SET", "maxmemory", "0")
            #expect(try await cache.get("before") == "value")
        }
    }

    @Test("what a newer release has written is left to it")
    func newerFormat() async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            let cache = try instance(of: server)
            _ = try await cache.get("k")
            let name = keyspace.names(for: "k".keyBytes).value
            var bytes = try #require(try await cache.level.redis.get(name))
            bytes[3] = 2
            try await cache.level.redis.set(name, bytes)
            #expect(try await cache.get("k") == "value")
            #expect(try await cache.level.redis.get(name) == bytes)
        }
    }

    @Test("the last caller who leaves cancels the fetch and ends the lease")
    func cancelled() async throws {
        try await RedisServer.withServer { server in
            // Long enough not to run out by itself; and the server does not have the script that ends it yet.
            let options = LeaseOptions(duration: .seconds(1_000), renewalLimit: .seconds(2_000))
            let cache = try instance(of: server, options: options)
            let call = Task { try await cache.get("k") }
            await source.gate.arrivals()
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            let lease = keyspace.names(for: "k".keyBytes).lease
            while try await cache.level.redis.exists(lease) == 1 { try await nextTurn() }
            #expect(try await cache.level.redis.exists(keyspace.names(for: "k".keyBytes).lease) == 0)
        }
    }

    @Test("where the source has an error of its own for that, no failure is reported", arguments: [false, true])
    func cancelledInItsOwnWords(several: Bool) async throws {
        struct Gone: Error {}
        try await RedisServer.withServer { server in
            let options = LeaseOptions(
                duration: .seconds(1_000),
                renewalLimit: .seconds(2_000),
                failureBackOff: .seconds(600) ... .seconds(600)
            )
            let isFirst = Locked(true)
            let gate = source.gate
            @Sendable func answer() async throws -> String {
                guard isFirst.withLock({ exchange(&$0, with: false) }) else { return "value" }
                do { try await gate.pass() } catch { throw Gone() }
                return "never"
            }
            func instance() throws -> FetchingLevel<String, String> {
                let redis = try TestServer.client(of: server)
                let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
                guard several else { return level.fetching(options) { _ in try await answer() } }
                return level.fetchingSeveral(options) { keys in
                    let answer = try await answer()
                    return Dictionary(uniqueKeysWithValues: keys.map { ($0, answer) })
                }
            }
            let (cache, other) = (try instance(), try instance())
            let call = Task { try await several ? cache.get(["k"])[0] : cache.get("k") }
            await gate.arrivals()
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            #expect(try await other.get("k") == "value")
            #expect(try await cache.get("k") == "value")
        }
    }
}
