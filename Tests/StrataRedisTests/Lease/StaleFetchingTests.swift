import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("A fleet that has old values", .timeLimit(.minutes(5)))
struct StaleFetchingTests {
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()

    private func instance(
        of server: RedisServer,
        options: LeaseOptions = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600)),
        freshness: FreshnessPolicy
    ) throws -> FetchingLevel<String, String> {
        RedisLevel(try TestServer.client(of: server), keyspace: keyspace, freshness: freshness)
            .fetching(options) { [source] _ in try await source.fetch() }
    }

    /// Values that are stale at once and kept for long.
    private func stale(revalidate: Bool, soft: Duration? = nil) -> FreshnessPolicy {
        FreshnessPolicy(
            freshFor: .milliseconds(1),
            staleWhileRevalidate: revalidate ? .seconds(600) : .zero,
            staleIfError: .seconds(600),
            earlyRefresh: 0,
            softTimeout: soft
        )
    }

    /// Writes a value that is stale by the time this returns.
    private func writeOld(_ cache: FetchingLevel<String, String>) async throws {
        try await cache.set("old", for: "k")
        while try await cache.level.entry(for: "k", ReadRequest())?.isFresh(at: .now) == true { try await nextTurn() }
    }

    /// What the labels of instances count, together.
    private func count(_ name: String, in fleet: [FetchingLevel<String, String>]) -> Int {
        fleet.flatMap { $0.label.counters }.reduce(0) { $0 + ($1.name == name ? $1.value : 0) }
    }

    @Test("within the window the whole fleet serves the stale value at once, and one instance fetches")
    func whileRevalidating() async throws {
        try await RedisServer.withServer { server in
            let policy = stale(revalidate: true)
            let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))
            let fleet = try (0..<4)
                .map { _ in
                    RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace, freshness: policy)
                        .fetching(options) { [source] _, _ in
                            // Fresh for long: who is late to compete finds that nothing is left to do.
                            guard let value = try await source.fetch() else { return .absent() }
                            return .value(value, lifetime: EntryLifetime(freshFor: .seconds(600)))
                        }
                }
            try await writeOld(fleet[0])
            try await withThrowingTaskGroup(of: String?.self) { group in
                for instance in fleet { for _ in 0..<32 { group.addTask { try await instance.get("k") } } }
                for try await value in group { #expect(value == "old") }
            }
            await source.gate.arrivals()
            // No caller has given up.
            #expect(count("refreshes_under_way", in: fleet) >= 1 && count("unattended", in: fleet) == 0)
            source.gate.open()
            for instance in fleet { await instance.drain(within: .seconds(30)) }
            #expect(count("refreshes_under_way", in: fleet) == 0)
            #expect(source.calls == 1)
            #expect(try await fleet[1].level.get("k") == "value")
        }
    }

    @Test("a value in demand is fetched anew before its end, by one instance of the fleet, and no caller waits")
    func early() async throws {
        let clock = ManualClock()
        try await RedisServer.withServer { server in
            // With such a β any read in the second half of the lifetime may be the one.
            let policy = FreshnessPolicy(freshFor: .seconds(3_600), jitter: 0, earlyRefresh: 1e6)
            let fleet = try (0..<3)
                .map { _ in
                    try clock.driving {
                        RedisLevel<String, String>(
                            try TestServer.client(of: server),
                            keyspace: keyspace,
                            freshness: policy
                        )
                        .fetching(.lasting) { [source] _ in
                            // What takes no time is not fetched early.
                            try clock.advance(by: .seconds(1))
                            return try await source.fetch()
                        }
                    }
                }
            for instance in fleet {
                try await instance.level.listens()
                // What one stores and the other reads at once must not seem to come from the future.
                let clock = instance.level.serverClock
                repeat { try await clock.readAnew() } while clock.error > 100_000_000
            }
            source.gate.open()
            #expect(try await fleet[0].get("k") == "value")
            let entry = try #require(try await fleet[0].level.entry(for: "k", ReadRequest()))
            #expect(entry.refreshAt < entry.freshUntil)
            source.set("new")
            // Its end stays far away.
            try clock.advance(by: .seconds(3_150))
            while source.calls < 2 {
                for instance in fleet { #expect(["value", "new"].contains(try await instance.get("k"))) }
            }
            for instance in fleet { await instance.drain(within: .seconds(30)) }
            #expect(source.calls == 2)
            #expect(try await fleet[2].get("k") == "new")
        }
    }

    @Test("after the soft timeout the stale value is served; the fetch goes on, stores, and all instances have it")
    func softTimeout() async throws {
        try await RedisServer.withServer { server in
            let cache = try instance(of: server, freshness: stale(revalidate: false, soft: .milliseconds(20)))
            let other = try instance(of: server, freshness: stale(revalidate: false))
            try await writeOld(cache)
            #expect(try await cache.get("k") == "old")
            #expect(try await cache.get("k") == "old")
            // Another instance does not wait either: the first one fetches.
            await source.gate.arrivals()
            #expect(try await other.get("k") == "old")
            source.gate.open()
            await cache.drain(within: .seconds(30))
            #expect(source.calls == 1)
            #expect(cache.level.statistics.stores == 1)
            #expect(try await other.level.entry(for: "k", ReadRequest())?.value == "value")
        }
    }

    @Test("a failing source: stale values for the whole fleet, and the source is asked once per back-off")
    func failing() async throws {
        try await RedisServer.withServer { server in
            let options = LeaseOptions(
                duration: .seconds(60),
                renewalLimit: .seconds(600),
                failureBackOff: .seconds(600) ... .seconds(600)
            )
            let fleet = try (0..<3)
                .map { _ in
                    try instance(of: server, options: options, freshness: stale(revalidate: false))
                }
            try await writeOld(fleet[0])
            source.fail(true)
            source.gate.open()
            for instance in fleet { for _ in 0..<5 { #expect(try await instance.get("k") == "old") } }
            #expect(source.calls == 1)
            // Who wants no stale value gets the failure.
            let error = await #expect(throws: CacheError.self) { try await fleet[1].get("k", .fresh) }
            #expect(error?.code == .sourceFailed)
            #expect(error?.retryAfter ?? .zero > .seconds(500))
        }
    }

    @Test(
        "a source that throws CancellationError, though no caller is cancelled, has failed",
        arguments: [false, true]
    )
    func ownCancellation(isBatch: Bool) async throws {
        try await RedisServer.withServer { server in
            let one = try instance(of: server, freshness: stale(revalidate: false))
            try await writeOld(one)
            let options = LeaseOptions(failureBackOff: nil)
            let cache = one.level.fetching(options) { (_: String) -> String? in throw CancellationError() }
            let found = isBatch ? try await cache.get(["k"])[0] : try await cache.get("k")
            #expect(found == "old")
            await #expect(throws: CancellationError.self) { try await cache.get("none") }
        }
    }

    @Test("past the hard timeout a caller gives up with a typed error; the value is there for the next one")
    func hardTimeout() async throws {
        try await RedisServer.withServer { server in
            let cache = try instance(of: server, freshness: FreshnessPolicy(hardTimeout: .milliseconds(50)))
            let error = await #expect(throws: CacheError.self) { try await cache.get("k") }
            #expect(error?.code == .timeout)
            source.gate.open()
            await cache.drain(within: .seconds(30))
            #expect(try await cache.get("k", ReadOptions(hardTimeout: .seconds(30))) == "value")
            #expect(source.calls == 1)
        }
    }

    @Test("past the hard timeout the stale value of Redis is served: alone, in a crowd, in a batch, by its own limit")
    func hardTimeoutWithOld() async throws {
        let clock = ManualClock()
        try await RedisServer.withServer { server in
            var policy = stale(revalidate: false)
            policy.hardTimeout = .seconds(3)
            let cache = try clock.driving { try instance(of: server, freshness: policy) }
            try await cache.set("old", for: "k")
            try clock.advance(by: .seconds(60))
            // Limits pass when all callers wait for the fetch, and no earlier: what a read does before takes its time.
            func pass(callers: Int) async throws {
                while cache.waiting < callers || cache.fetches.waiting == 0 { try await nextTurn() }
                try clock.advance(by: .seconds(4))
            }
            // A read joins none that is about to end.
            func settle() async throws {
                while cache.flights.count > 0 || cache.fetches.waiting > 0 { try await nextTurn() }
            }
            let single = Task { try await cache.getWithTrace("k") }
            try await pass(callers: 1)
            let (value, trace) = try await single.value
            #expect(value == "old" && trace.staleReason == .late, "\(trace)")
            try await settle()
            let crowd = (0..<4).map { _ in Task { try await cache.get("k") } }
            try await pass(callers: 4)
            for caller in crowd { #expect(try await caller.value == "old") }
            try await settle()
            let batch = Task { try await cache.get(["k"]) }
            try await pass(callers: 1)
            #expect(try await batch.value == ["old"])
            try await settle()
            let limited = Task { try await cache.get("k", ReadOptions(hardTimeout: .milliseconds(2_900))) }
            try await pass(callers: 0)
            #expect(try await limited.value == "old")
            try await settle()
            // Memory that has nothing joins the read below.
            let composed = clock.driving { MemoryLevel<String, String>(limit: .entries(10)).compose(cache) }
            let joining = (0..<4).map { _ in Task { try await composed.get("k") } }
            try await pass(callers: 4)
            for caller in joining { #expect(try await caller.value == "old") }
            source.gate.open()
            await cache.drain(within: .seconds(30))
            #expect(source.calls == 1)
        }
    }

    @Test("reload replaces a fresh value in every instance; one that comes later joins the fetch, and says so")
    func reload() async throws {
        try await RedisServer.withServer { server in
            let cache = try instance(of: server, freshness: FreshnessPolicy())
            let other = try instance(of: server, freshness: FreshnessPolicy())
            try await cache.set("old", for: "k")
            let reloads = (0..<8).map { _ in Task { try await cache.get("k", .reload) } }
            await source.gate.arrivals()
            #expect(try await other.get("k") == "old")
            let traced = Task { try await cache.getWithTrace("k", .reload).trace }
            while cache.fetches.waiting < 9 { try await nextTurn() }
            source.gate.open()
            for reload in reloads { #expect(try await reload.value == "value") }
            let trace = try await traced.value
            #expect(trace.hasWaited)
            #expect(trace.steps.filter { $0.event == .joined }.map(\.origin) == [.source])
            #expect(source.calls == 1)
            #expect(try await other.get("k") == "value")
        }
    }

    @Test("cached only: neither a miss nor a stale value makes the source be asked, nor does an outage")
    func cachedOnly() async throws {
        try await RedisServer.withServer { server in
            let cache = try instance(of: server, freshness: stale(revalidate: true))
            #expect(try await cache.get("k", .cached) == nil)
            try await writeOld(cache)
            #expect(try await cache.get("k", .cached) == "old")
            #expect(try await cache.get("k", .cached.with(staleness: .never)) == nil)
            await cache.drain(within: .seconds(30))
            let away = RedisLevel<String, String>(try RedisClient("redis://127.0.0.1:1"), keyspace: keyspace)
                .fetching { [source] _ in try await source.fetch() }
            #expect(try await away.get("k", .cached) == nil)
            #expect(source.calls == 0)
        }
    }

    @Test("Redis can be left out of a read, and of being filled")
    func skipping() async throws {
        try await RedisServer.withServer { server in
            source.gate.open()
            let cache = try instance(of: server, freshness: FreshnessPolicy())
            try await cache.set("old", for: "k")
            let beside = ReadOptions(skipsReading: [.redis], skipsFilling: [.redis])
            #expect(try await cache.get("k", beside) == "value")
            #expect(try await cache.get("k") == "old")
            #expect(try await cache.get("k", ReadOptions(skipsReading: [.redis])) == "value")
            #expect(try await cache.get("k") == "value")
            #expect(try await cache.get("other", ReadOptions(skipsFilling: [.redis])) == "value")
            #expect(try await cache.level.get("other") == nil)
        }
    }

    @Test("memory above: its stale value is served while Redis has nothing and the source is slow")
    func memoryAbove() async throws {
        try await RedisServer.withServer { server in
            let level = try instance(of: server, freshness: FreshnessPolicy(softTimeout: .milliseconds(10)))
            let memory = MemoryLevel<String, String>(limit: .entries(10))
            let cache = memory.compose(level)
            let now = MonotonicInstant.now
            let old = Entry(
                .value("old"),
                freshUntil: now.advanced(by: .seconds(-1)),
                staleUntil: now.advanced(by: .seconds(60))
            )
            try await memory.store(old, for: "k")
            #expect(try await cache.get("k") == "old")
            source.gate.open()
            await cache.drain(within: .seconds(30))
            // Memory may still have the old one, and the limit holds for this read, too.
            while try await cache.get("k") != "value" { try await nextTurn() }
            #expect(source.calls == 1)
        }
    }
}
