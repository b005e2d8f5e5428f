import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Why a read over Redis got what it got", .timeLimit(.minutes(5)))
struct RedisReasonTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    /// What each step says, as `memory miss (absent)`.
    private func account(_ trace: ReadTrace) -> [String] {
        trace.steps.map { "\($0.origin) \($0.event)\($0.reason.map { " (\($0))" } ?? "")" }
    }

    private func account(_ cache: some CacheLevel<String, String>, _ options: ReadOptions = .ordinary) async throws
        -> [String]
    {
        account(try await cache.getWithTrace("k", options).trace)
    }

    /// Two instances of which the second has changed something, and the first has heard of it.
    private func changed(
        _ server: RedisServer,
        tags: [String] = [],
        _ change: (Instance) async throws -> Void
    ) async throws -> [String] {
        let (one, two) = try (Instance(server.url, keyspace), Instance(server.url, keyspace))
        try await one.listen()
        try await two.cache.set("old", for: "k", lifetime: EntryLifetime(), tags: tags)
        await one.hears("k")
        #expect(try await one.cache.get("k") == "old")
        #expect(try await account(one.cache) == ["memory hit"])
        try await change(two)
        while one.remembers("k") != nil { try await one.redis.ping() }
        return try await account(one.cache)
    }

    @Test("another instance has written the key")
    func written() async throws {
        try await RedisServer.withServer { server in
            let steps = try await changed(server) { try await $0.cache.set("new", for: "k") }
            #expect(steps == ["memory miss (changed elsewhere)", "redis hit", "memory stored"])
        }
    }

    @Test("another instance has removed the key")
    func removed() async throws {
        try await RedisServer.withServer { server in
            let steps = try await changed(server) { try await $0.cache.remove("k") }
            #expect(steps == ["memory miss (changed elsewhere)", "redis miss (absent)"])
        }
    }

    @Test("another instance has invalidated one of its tags")
    func tagged() async throws {
        try await RedisServer.withServer { server in
            let steps = try await changed(server, tags: ["red"]) { try await $0.cache.invalidate(tag: "red") }
            #expect(steps == ["memory miss (tag invalidated)", "redis miss (tag invalidated)"])
        }
    }

    @Test("another instance has cleared the keyspace", arguments: [[], ["red"]])
    func cleared(tags: [String]) async throws {
        try await RedisServer.withServer { server in
            let steps = try await changed(server, tags: tags) { try await $0.cache.clear() }
            #expect(steps == ["memory miss (cleared)", "redis miss (cleared)"])
        }
    }

    @Test("the link was lost: what memory holds is not trusted")
    func untrusted() async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace)
            try await one.listen()
            try await one.cache.set("value", for: "k")
            #expect(try await account(one.cache) == ["memory hit"])
            one.redis.link.condemn(RedisError(code: .connectionLost, message: "a test"))
            while one.remembers("k") != nil { try await one.redis.ping() }
            #expect(try await account(one.cache).prefix(2) == ["memory miss (untrusted link)", "redis hit"])
        }
    }

    @Test("bytes that are none of this level's: damaged, of another schema number, of another program or key; expired")
    func unusable() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            func level(schema: UInt32 = 1) -> RedisLevel<String, String> {
                RedisLevel(redis, keyspace: keyspace, codec: .text, coherence: .none, schema: schema)
            }
            let name = level().names(for: "k").value
            try await level().set("value", for: "k")
            let sound = try #require(try await redis.get(name))
            #expect(try await account(level()) == ["redis hit"])
            for (bytes, reason) in [
                (Array(sound.dropLast()), ReadTrace.Reason.damaged), (sound.dropLast() + [sound.last! ^ 1], .damaged),
                (Array("hello".utf8), .foreign), ([], .foreign),
            ] as [([UInt8], ReadTrace.Reason)] {
                try await redis.set(name, bytes)
                let found = try await level().getWithTrace("k").trace
                #expect(found.steps.map(\.event) == [.miss])
                #expect(bytes.isEmpty || found.steps.map(\.reason) == [reason], "\(account(found))")
            }
            try await redis.set(name, sound)
            for schema in [UInt32(0), 2] {
                #expect(try await account(level(schema: schema)) == ["redis miss (other schema)"])
            }
            try await redis.set(level().names(for: "other").value, sound)
            #expect(try await level().getWithTrace("other").trace.steps.map(\.reason) == [.foreign])
            #expect(try await account(level()) == ["redis hit"])
            // The lease of a fetch in its place keeps it longer than it may be served.
            var ended = try Envelope(sound, keyHash: nil)
            // Long enough ago for any reading of the server's clock.
            ended.storedAt -= 60_000
            (ended.freshUntil, ended.staleUntil) = (ended.storedAt, ended.storedAt)
            try await redis.set(name, ended.encoded())
            #expect(try await account(level()) == ["redis miss (expired)"])
        }
    }

    @Test("Redis has failed too often, or has cost the call too much: it is not asked, and says so")
    func notAsked() async throws {
        var configuration = try RedisConfiguration(url: "redis://127.0.0.1:1")
        configuration.breaker.minimumCalls = 2
        configuration.breaker.pause = .seconds(600) ... .seconds(600)
        let cache = RedisLevel<String, String>(try RedisClient(configuration), keyspace: keyspace, codec: .text)
            .fetching { "source \($0)" }
        var steps: [ReadTrace.Step] = []
        repeat {
            let (value, trace) = try await cache.getWithTrace("k")
            #expect(value == "source k")
            steps = trace.steps
        } while steps.first?.reason != .circuitOpen
        #expect(steps.first?.event == .failed && steps.first?.error == "circuit open")
        #expect(steps.last?.event == .fetched)
        #expect(ReadTrace.Reason(RedisError(code: .budgetSpent, message: "")) == .budgetSpent)
        #expect(ReadTrace.Reason(RedisError(code: .timeout, message: "")) == nil)
    }

    @Test("a lease that cannot be asked for is a failure of Redis: in the account, the counter and the events")
    func leaseRefused() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
            // From then on a look takes no script.
            try await level.listens()
            let cache = level.fetching { _ in "value" }
            var misses = cache.observe([.miss]).makeAsyncIterator()
            try await server.command("ACL", "SETUSER", "default", "-eval", "-evalsha")
            #expect(try await account(cache) == ["redis miss (absent)", "redis failed", "source fetched"])
            #expect(level.statistics.failures == 1 && level.statistics.uncoordinatedFetches == 1)
            let miss = try #require(await misses.next())
            #expect(miss.reason == .absent && miss.error == nil)
            let failure = try #require(await misses.next())
            #expect(failure.reason == nil && failure.error != nil)
            let beside = try await account(cache, ReadOptions(skipsReading: [.redis]))
            #expect(beside == ["redis skipped (skipped)", "redis failed", "source fetched"])
            #expect(level.statistics.failures == 2 && level.statistics.uncoordinatedFetches == 2)
        }
    }

    @Test("a fetch and what is stored of it, and where; a fetch that has lost its lease stores nothing, and says so")
    func fetched() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            let gate = AsyncGate()
            let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
            let fetching = level.fetching(.lasting) { key in
                try await gate.pass()
                return "value"
            }
            let cache = MemoryLevel<String, String>(limit: .entries(10)).compose(fetching)
            try await level.ready(within: .seconds(60))
            let read = Task { try await cache.getWithTrace("k").trace }
            await gate.arrivals()
            try await RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text, coherence: .none).remove("k")
            gate.open()
            let steps = account(try await read.value)
            #expect(
                steps.prefix(4) == [
                    "memory miss (absent)", "redis miss (absent)", "source fetched", "redis refused (lease lost)",
                ]
            )
            #expect(steps.last?.hasPrefix("memory refused (") == true)
            #expect(
                try await account(cache) == [
                    "memory miss (absent)", "redis miss (absent)", "source fetched", "redis stored", "memory stored",
                ]
            )
            #expect(
                try await account(cache, ReadOptions(skipsReading: [.memory, .redis])).prefix(2) == [
                    "memory skipped (skipped)", "redis skipped (skipped)",
                ]
            )
            try await cache.remove("k")
            #expect(try await account(cache, .cached).suffix(2) == ["redis miss (absent)", "source skipped (skipped)"])
        }
    }

    @Test("a value in Redis that is stale is no hit, and the source is asked")
    func stale() async throws {
        try await RedisServer.withServer { server in
            // No fetch in the background, which the read would join.
            let policy = FreshnessPolicy(
                freshFor: .nanoseconds(1),
                staleIfError: .seconds(600),
                jitter: 0,
                earlyRefresh: 0
            )
            let redis = try TestServer.client(of: server)
            let cache = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text, freshness: policy)
                .fetching(.lasting) { _ in "value" }
            _ = try await cache.get("k")
            // In Redis times have whole milliseconds: for the rest of this one the value is fresh.
            var found = try await account(cache)
            while found == ["redis hit"] { found = try await account(cache) }
            #expect(found == ["redis miss (stale)", "source fetched", "redis stored"])
        }
    }

    @Test("of a batch each key has its own account, through memory, Redis and one fetch of several")
    func batch() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
            try await level.ready(within: .seconds(60))
            try await level.set("set", for: "a")
            let fetching = level.fetchingSeveral(.lasting) { keys in
                Dictionary(uniqueKeysWithValues: keys.filter { $0 != "none" }.map { ($0, "value \($0)") })
            }
            let cache = MemoryLevel<String, String>(limit: .entries(10)).compose(fetching)
            try await cache.set("memory", for: "m")
            let (values, trace) = try await cache.getWithTrace(["m", "a", "b", "none"])
            #expect(values == ["memory", "set", "value b", nil])
            let accounts = trace.traces.map { account($0) }
            #expect(accounts[0] == ["memory hit"])
            #expect(accounts[1] == ["memory miss (absent)", "redis hit", "memory stored"])
            #expect(
                accounts[2] == [
                    "memory miss (absent)", "redis miss (absent)", "source fetched", "redis stored", "memory stored",
                ]
            )
            #expect(accounts[3].prefix(3) == ["memory miss (absent)", "redis miss (absent)", "source fetched"])
            #expect(trace.description.split(separator: "\n").count == 5)
        }
    }

    @Test("a read that leaves out Redis finds nothing there, also when there is no source below")
    func skippingLowest() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
            try await level.ready(within: .seconds(60))
            try await level.set("set", for: "a")
            let cache = MemoryLevel<String, String>(limit: .entries(10)).compose(level)
            let skipping = ReadOptions(skipsReading: [.memory, .redis])
            for level in [AnyLevel(level), AnyLevel(cache)] {
                #expect(try await level.get("a", skipping) == nil)
                #expect(try await level.get(["a", "b"], skipping) == [nil, nil])
                let (value, trace) = try await level.getWithTrace("a", skipping)
                #expect(value == nil && account(trace).last == "redis skipped (skipped)")
            }
            #expect(level.statistics.hits + level.statistics.misses == 0)
            #expect(try await cache.get("a") == "set")
        }
    }

    @Test("who was waited for stands in the account, and both where the fetch changed hands")
    func waited() async throws {
        try await OtherLeases.with(keyspace) { others in
            try await others.hold("web-1")
            let read = Task { try await others.cache.getWithTrace("k").trace }
            try await others.areWaitedFor()
            try await others.hand(to: "web-2")
            try await others.redis.delete(others.names.lease)
            try await others.wake()
            let steps = try await read.value.steps
            #expect(steps.filter { $0.event == .waited }.map(\.whom) == ["web-1", "web-2"])
            // What the read fetches itself comes after its wait, and is no part of it.
            let events = steps.map(\.event)
            let fetch = try #require(events.firstIndex(of: .fetched))
            #expect(!events[fetch...].contains(.waited))
            #expect(try await read.value.description.contains("redis waited for web-1"))
        }
    }

    @Test("who has waited for five leases that brought nothing fetches beside the next")
    func inVain() async throws {
        try await OtherLeases.with(keyspace) { others in
            try await others.hold("web")
            let read = Task { try await others.cache.get("k") }
            try await others.areWaitedFor()
            var hands = 0
            while others.cache.level.statistics.fetches == 0, hands < 20 {
                hands += 1
                try await others.hand(to: "web")
            }
            // It may miss some that follow each other closely.
            try #require((5...12).contains(hands))
            #expect(try await read.value == "value")
            // The lease stands, and is its holder's.
            #expect(try await others.redis.get(others.names.lease) != nil)
            #expect(others.cache.level.statistics.uncoordinatedFetches == 1)
        }
    }
}

/// Leases of a key that other processes have, one after the other.
private struct OtherLeases {
    let server: RedisServer
    let redis: RedisClient
    /// What reads the key.
    let cache: FetchingLevel<String, String>

    var names: KeyNames { cache.level.names(for: "k") }

    static func with(_ keyspace: Keyspace, _ body: (OtherLeases) async throws -> Void) async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
            // The script of a link that stands later would count as a look.
            try await level.listens()
            try await body(OtherLeases(server: server, redis: redis, cache: level.fetching { _ in "value" }))
        }
    }

    func hold(_ name: String) async throws {
        let record = LeaseRecord.new(holder: name).bytes
        try await redis.set(names.lease, record, expiringIn: .seconds(50))
    }

    func areWaitedFor() async throws {
        while cache.level.statistics.waits == 0 { try await nextTurn() }
    }

    /// As the end of a lease is told.
    func wake() async throws {
        try await redis.publish(KeyspaceEvent.ended.message(for: names), to: cache.level.keyspace.events)
    }

    /// Hands the lease over to another holder, and waits until who waits for it has looked, or does not wait any more.
    func hand(to name: String) async throws {
        try await hold(name)
        let before = try await scripts()
        try await wake()
        while try await scripts() == before, cache.level.statistics.fetches == 0 { try await nextTurn() }
    }

    /// How often the server has run a script.
    private func scripts() async throws -> Int {
        let text = try await server.command("INFO", "commandstats").text
        return text.split(separator: "\r\n").filter { $0.hasPrefix("cmdstat_eval") }
            .compactMap { $0.split(separator: "=").dropFirst().first?.split(separator: ",").first }
            .reduce(0) { $0 + (Int($1) ?? 0) }
    }
}
