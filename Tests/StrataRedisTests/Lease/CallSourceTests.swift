import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("A fleet whose calls bring their sources", .timeLimit(.minutes(5)))
struct CallSourceTests {
    private typealias Cache = Composed<MemoryLevel<String, String>, FetchingLevel<String, String>>

    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()
    private let other = CountingSource()

    private func level(
        of server: RedisServer,
        options: LeaseOptions = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600)),
        freshness: FreshnessPolicy = FreshnessPolicy()
    ) throws -> FetchingLevel<String, String> {
        RedisLevel(try TestServer.client(of: server), keyspace: keyspace, freshness: freshness)
            .fetchingPerCall(options)
    }

    private func cache(of server: RedisServer, freshness: FreshnessPolicy = FreshnessPolicy()) throws -> Cache {
        MemoryLevel(limit: .entries(16)).compose(try level(of: server, freshness: freshness))
    }

    private func get(
        _ level: some SourcedLevel<String, String>,
        _ options: ReadOptions? = nil,
        from source: CountingSource
    ) async throws -> String? {
        try await level.get("k", options) { try await source.fetch() }
    }

    /// Reads with a source whose value is fresh for long, whatever the policy.
    private func lasting(
        _ level: some SourcedLevel<String, String>,
        from source: CountingSource
    ) async throws -> String? {
        try await level.get("k") { _ in
            guard let value = try await source.fetch() else { return .absent() }
            return .value(value, lifetime: EntryLifetime(freshFor: .seconds(600)))
        }
    }

    @Test("two clients, memory over Redis, each call with a source of its own: one fetch, and all get its value")
    func oneFetch() async throws {
        try await RedisServer.withServer { server in
            let (one, two) = (try cache(of: server), try cache(of: server))
            other.set("other")
            other.gate.open()
            let leaders = (0..<16).map { _ in Task { try await get(one, from: source) } }
            await source.gate.arrivals()
            let followers = (0..<16).map { _ in Task { try await get(two, from: other) } }
            while two.lower.level.statistics.waits == 0 || two.lower.waiting < 16 { try await nextTurn() }
            source.gate.open()
            for task in leaders + followers { #expect(try await task.value == "value") }
            #expect(source.calls == 1 && other.calls == 0)
            #expect(one.lower.level.statistics.stores == 1 && two.lower.level.statistics.stores == 0)
            #expect(try await get(two, from: other) == "value")
            #expect(other.calls == 0)
        }
    }

    @Test("Redis alone: a read without a source looks into Redis, takes no lease, and joins no fetch")
    func without() async throws {
        try await RedisServer.withServer { server in
            let level = try level(of: server)
            try await level.level.listens()
            #expect(try await level.get("k") == nil)
            #expect(try await level.get(["k", "l"]) == [nil, nil])
            #expect(try await level.level.redis.exists(keyspace.names(for: "k".keyBytes).lease) == 0)
            let fetch = Task { try await get(level, from: source) }
            await source.gate.arrivals()
            #expect(try await level.get("k") == nil)
            let error = await #expect(throws: CacheError.self) { try await level.require("k") }
            #expect(error?.code == .miss)
            source.gate.open()
            #expect(try await fetch.value == "value")
            #expect(try await level.get("k") == "value")
            #expect(try await level.get(["k", "l"]) == ["value", nil])
            #expect(source.calls == 1)
        }
    }

    @Test("the source's error reaches all who wait as it is; other instances learn its type, and do not ask")
    func failure() async throws {
        try await RedisServer.withServer { server in
            let options = LeaseOptions(
                duration: .seconds(60),
                renewalLimit: .seconds(600),
                failureBackOff: .seconds(600) ... .seconds(600)
            )
            let (one, two) = (try level(of: server, options: options), try level(of: server, options: options))
            try await one.level.listens()
            source.fail(true)
            let tasks = (0..<10).map { _ in Task { try await get(one, from: source) } }
            while one.waiting < 10 { try await nextTurn() }
            await source.gate.arrivals()
            source.gate.open()
            for task in tasks { await #expect(throws: CountingSource.Failure()) { try await task.value } }
            await #expect(throws: CountingSource.Failure()) { try await get(one, from: other) }
            let error = await #expect(throws: CacheError.self) { try await get(two, from: other) }
            #expect(error?.code == .sourceFailed)
            #expect(source.calls == 1 && other.calls == 0)
        }
    }

    @Test("the last caller who leaves cancels the source and ends the lease; the next call's source is asked")
    func cancelled() async throws {
        try await RedisServer.withServer { server in
            let options = LeaseOptions(duration: .seconds(1_000), renewalLimit: .seconds(2_000))
            let level = try level(of: server, options: options)
            try await level.level.listens()
            let first = Task { try await get(level, from: source) }
            await source.gate.arrivals()
            let second = Task { try await get(level, from: other) }
            while level.waiting < 2 { try await nextTurn() }
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            let lease = keyspace.names(for: "k".keyBytes).lease
            #expect(try await level.level.redis.exists(lease) == 1)
            second.cancel()
            await #expect(throws: CancellationError.self) { try await second.value }
            while try await level.level.redis.exists(lease) == 1 { try await nextTurn() }
            other.gate.open()
            #expect(try await get(level, from: other) == "value")
            #expect(source.calls == 1 && other.calls == 1)
        }
    }

    @Test(
        "in the stale window: the old value at once, one refresh with the source of a call, none without",
        arguments: [false, true]
    )
    func whileRevalidating(hasMemory: Bool) async throws {
        try await RedisServer.withServer { server in
            let policy = FreshnessPolicy(
                freshFor: .milliseconds(1),
                staleWhileRevalidate: .seconds(600),
                earlyRefresh: 0
            )
            let cache = try cache(of: server, freshness: policy)
            let level: any SourcedLevel<String, String> = hasMemory ? cache : cache.lower
            try await cache.lower.level.listens()
            try await cache.lower.set("old", for: "k")
            while try await cache.lower.level.entry(for: "k", ReadRequest())?.isFresh(at: .now) == true {
                try await nextTurn()
            }
            for _ in 0..<10 {
                #expect(try await level.get("k") == "old")
                await level.drain(within: .seconds(30))
            }
            // Memory looks at a coarser clock than Redis.
            while cache.resident("k", at: .coarse) != nil { try await nextTurn() }
            let tasks = (0..<32).map { _ in Task { try await lasting(level, from: source) } }
            for task in tasks { #expect(try await task.value == "old") }
            await source.gate.arrivals()
            #expect(try await lasting(level, from: other) == "old")
            source.gate.open()
            await level.drain(within: .seconds(30))
            await cache.lower.drain(within: .seconds(30))
            #expect(try await level.get("k") == "value")
            #expect(source.calls == 1 && other.calls == 0)
        }
    }

    @Test("the tags that a call's source gives end its value everywhere; the old value reaches the next one's")
    func tags() async throws {
        try await RedisServer.withServer { server in
            let (one, two) = (try cache(of: server), try cache(of: server))
            for cache in [one, two] { try await cache.lower.level.listens() }
            let first = try await one.get("k") { _ in .value("tagged", tags: ["t"]) }
            let again = try await two.get("k", .reload) { context in
                context.old == "tagged" ? .notModified() : .value("not told")
            }
            #expect(first == "tagged" && again == "tagged")
            try await one.invalidate(tag: "t")
            source.gate.open()
            #expect(try await get(one, from: source) == "value")
            while two.resident("k", at: .coarse)?.value == "tagged" { try await two.lower.level.redis.ping() }
            #expect(try await get(two, from: other) == "value")
            #expect(source.calls == 1 && other.calls == 0)
        }
    }

    @Test("that there is no value holds for the fleet")
    func absent() async throws {
        try await RedisServer.withServer { server in
            let (one, two) = (try cache(of: server), try cache(of: server))
            source.set(nil)
            source.gate.open()
            #expect(try await get(one, from: source) == nil)
            #expect(try await get(two, from: other) == nil)
            let error = await #expect(throws: CacheError.self) { () async throws -> String in
                try await two.get("k") { "value" }
            }
            #expect(error?.code == .miss)
            #expect(source.calls == 1 && other.calls == 0)
        }
    }

    @Test("the trace tells who fetched and who waited for whom")
    func traces() async throws {
        try await RedisServer.withServer { server in
            let (one, two) = (try cache(of: server), try cache(of: server))
            let fetch = Task { try await one.getWithTrace("k") { [source] in try await source.fetch() } }
            await source.gate.arrivals()
            let wait = Task { try await two.getWithTrace("k") { [other] in try await other.fetch() } }
            while two.lower.level.statistics.waits == 0 { try await nextTurn() }
            source.gate.open()
            let (fetched, waited) = try await (fetch.value.trace, wait.value.trace)
            #expect(fetched.origin == .source && fetched.steps.contains { $0.event == .fetched })
            #expect(waited.origin == .redis && waited.steps.contains { $0.event == .waited && $0.whom != nil })
            #expect(other.calls == 0)
        }
    }

    @Test("options count as with a bound source")
    func options() async throws {
        try await RedisServer.withServer { server in
            let cache = try cache(of: server)
            source.gate.open()
            other.gate.open()
            other.set("new")
            #expect(try await get(cache, .cached, from: source) == nil)
            #expect(source.calls == 0)
            #expect(try await get(cache, .fresh, from: source) == "value")
            #expect(try await get(cache, .reload, from: other) == "new")
            #expect(try await cache.get("k", .reload) == "new")
            #expect(try await cache.lower.level.get("k") == "new")
            let beside = ReadOptions(skipsReading: [.memory, .redis], skipsFilling: [.memory, .redis])
            #expect(try await get(cache, beside, from: source) == "value")
            #expect(try await cache.lower.level.get("k") == "new")
            #expect(source.calls == 2 && other.calls == 1)
        }
    }

    @Test("without Redis a call's source answers, once for all callers of the process; a read without one misses")
    func outage() async throws {
        var configuration = try RedisConfiguration(url: "redis://127.0.0.1:1")
        // For how long callers join what has begun while nothing tells of changes.
        configuration.linkPingTimeout = .seconds(60)
        let level = RedisLevel<String, String>(try RedisClient(configuration), keyspace: keyspace).fetchingPerCall()
        #expect(try await level.get("k") == nil)
        let tasks = (0..<10).map { _ in Task { try await get(level, from: source) } }
        await source.gate.arrivals()
        while level.waiting < 10 { try await nextTurn() }
        source.gate.open()
        for task in tasks { #expect(try await task.value == "value") }
        #expect(source.calls == 1)
    }

    @Test("a level with a source of its own asks the call's in its place; a batch and a plain read ask its own")
    func inPlaceOfTheBound() async throws {
        try await RedisServer.withServer { server in
            let level = RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace)
                .fetchingSeveral(.lasting) { keys in Dictionary(keys.map { ($0, "bound") }) { first, _ in first } }
            source.gate.open()
            #expect(try await get(level, from: source) == "value")
            #expect(try await level.get("l") == "bound")
            #expect(try await level.get(["k", "m", "n"]) == ["value", "bound", "bound"])
        }
    }
}
