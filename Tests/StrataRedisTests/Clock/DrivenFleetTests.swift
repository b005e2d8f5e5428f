import Strata
import StrataTesting
import Testing

@testable import StrataRedis

// Two instances with one clock, above a real server whose own time goes on. What Redis tells of time is right to the
// round trip in which its clock was read, so instants are a minute away from each end.
@Suite("Instances over Redis whose clock a test moves", .timeLimit(.minutes(5)))
struct DrivenFleetTests {
    private let clock = ManualClock()
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()
    private let hour = FreshnessPolicy.exact(.seconds(3_600))

    private func withPair(
        _ freshness: FreshnessPolicy,
        _ options: LeaseOptions = .lasting,
        _ body: (_ one: DrivenInstance, _ other: DrivenInstance, RedisServer) async throws -> Void
    ) async throws {
        try await RedisServer.withServer { server in
            func instance() throws -> DrivenInstance {
                try DrivenInstance(clock, server, keyspace, freshness, options) { [source] _ in
                    try await source.fetch()
                }
            }
            let (one, other) = (try instance(), try instance())
            for instance in [one, other] {
                try await instance.level.listens()
                // What one stores and the other reads at once must not seem to come from the future.
                let clock = instance.level.serverClock
                repeat { try await clock.readAnew() } while clock.error > 100_000_000
            }
            try await body(one, other, server)
            for instance in [one, other] { await instance.redis.shutDown() }
        }
    }

    // MARK: Lifetimes

    @Test("a value is fresh for all until its end, in memory and in Redis; then one instance fetches it anew")
    func lifetime() async throws {
        source.gate.open()
        try await withPair(hour) { one, other, _ in
            #expect(try await one.cache.get("k") == "value")
            #expect(try await other.cache.get("k") == "value")
            source.set("new")
            try clock.advance(by: .seconds(3_540))
            for instance in [one, other] {
                let (value, trace) = try await instance.cache.getWithTrace("k")
                #expect(value == "value" && trace.origin != .source && trace.state == .fresh)
                #expect(try await instance.getBelowMemory("k") == "value")
            }
            #expect(source.calls == 1)
            try clock.advance(by: .seconds(120))
            #expect(try await one.cache.get("k") == "new")
            #expect(try await other.cache.get("k") == "new")
            #expect(source.calls == 2)
        }
    }

    @Test("the server's time does not count: an entry that it would have dropped is there, and its end is the clock's")
    func standsStill() async throws {
        source.gate.open()
        try await withPair(.exact(.milliseconds(1))) { one, other, server in
            #expect(try await one.cache.get("k") == "value")
            let name = keyspace.names(for: "k".keyBytes).value.bytes
            // What it is kept for beyond its life is what a test may take.
            let left = try await server.command(bytes: [Array("PTTL".utf8), name]).integer
            #expect(try #require(left) > 300_000)
            let end = MonotonicInstant.now.advanced(by: .milliseconds(20))
            while MonotonicInstant.now < end { try await nextTurn() }
            #expect(try await one.cache.get("k") == "value")
            #expect(source.calls == 1)
        }
    }

    @Test("age, and what is left, are the clock's in every instance")
    func ages() async throws {
        source.gate.open()
        try await withPair(.exact(.seconds(3_600))) { one, other, _ in
            _ = try await one.cache.get("k")
            try clock.advance(by: .seconds(1_000))
            let (_, trace) = try await other.cache.getWithTrace("k")
            let age = try #require(trace.age)
            #expect(trace.origin == .redis && age > .seconds(940) && age < .seconds(1_060))
            _ = try await other.cache.get("k", ReadOptions(maximumAge: .seconds(1_100)))
            #expect(source.calls == 1)
            _ = try await other.cache.get("k", ReadOptions(maximumAge: .seconds(900)))
            #expect(source.calls == 2)
        }
    }

    @Test("a set with a lifetime, a touch and an update go by the clock in Redis")
    func changes() async throws {
        source.gate.open()
        source.set(nil)
        var policy = hour
        policy.absentFor = .zero
        try await withPair(policy) { one, other, _ in
            try await one.cache.set("set", for: "k", lifetime: EntryLifetime(freshFor: .seconds(1_200)))
            try clock.advance(by: .seconds(1_140))
            #expect(try await other.cache.get("k") == "set")
            #expect(try await one.cache.touch("k", lifetime: EntryLifetime(freshFor: .seconds(10_000))))
            try clock.advance(by: .seconds(9_000))
            #expect(try await other.getBelowMemory("k") == "set")
            #expect(try await one.cache.update("k") { ($0 ?? "") + "!" } == "set!")
            #expect(try await other.getBelowMemory("k") == "set!")
            try clock.advance(by: .seconds(1_060))
            for instance in [one, other] { #expect(try await instance.cache.get("k") == nil) }
        }
    }

    @Test("an absence is remembered for its own time")
    func absence() async throws {
        source.gate.open()
        source.set(nil)
        var policy = hour
        policy.absentFor = .seconds(1_800)
        try await withPair(policy) { one, other, _ in
            for instance in [one, other] { #expect(try await instance.cache.get("k") == nil) }
            source.set("there")
            try clock.advance(by: .seconds(1_740))
            for instance in [one, other] { #expect(try await instance.cache.get("k") == nil) }
            #expect(source.calls == 1)
            try clock.advance(by: .seconds(120))
            for instance in [one, other] { #expect(try await instance.cache.get("k") == "there") }
            #expect(source.calls == 2)
        }
    }

    @Test("a stale value is served at once while one instance fetches it anew")
    func whileRevalidating() async throws {
        source.gate.open()
        var policy = hour
        policy.staleWhileRevalidate = .seconds(3_600)
        try await withPair(policy) { one, other, _ in
            for instance in [one, other] { #expect(try await instance.cache.get("k") == "value") }
            source.set("new")
            try clock.advance(by: .seconds(4_200))
            let (value, trace) = try await one.cache.getWithTrace("k")
            #expect(value == "value" && trace.state == .stale && trace.staleReason == .refreshing)
            while try await other.cache.get("k") != "new" { try await nextTurn() }
            #expect(source.calls == 2)
        }
    }

    @Test("a stale value stands in for a failing source within its window")
    func ifError() async throws {
        source.gate.open()
        var policy = hour
        policy.staleIfError = .seconds(3_600)
        var options = LeaseOptions.lasting
        options.failureBackOff = nil
        try await withPair(policy, options) { one, other, _ in
            for instance in [one, other] { #expect(try await instance.cache.get("k") == "value") }
            source.fail(true)
            try clock.advance(by: .seconds(7_000))
            for instance in [one, other] {
                let (value, trace) = try await instance.cache.getWithTrace("k")
                #expect(value == "value" && trace.state == .stale)
            }
            try clock.advance(by: .seconds(300))
            for instance in [one, other] {
                await #expect(throws: (any Error).self) { try await instance.cache.get("k") }
            }
        }
    }

    @Test("years pass at once, at the server too; an entry that lives for longer stays, and so do its tags' marks")
    func years() async throws {
        source.gate.open()
        let year = Duration.seconds(366 * 86_400)
        try await withPair(.exact(year * 3)) { one, other, server in
            #expect(try await one.cache.get("k") == "value")
            try await one.cache.invalidate(tag: "tag")
            for _ in 0..<2 {
                try await clock.advance(by: year, with: server)
                #expect(try await other.getBelowMemory("k") == "value")
            }
            #expect(source.calls == 1)
            try await clock.advance(by: year * 20, with: server)
            let name = keyspace.names(for: "k".keyBytes).value.bytes
            #expect(try await server.command(bytes: [Array("EXISTS".utf8), name]).integer == 0)
            #expect(try await other.cache.get("k") == "value")
            #expect(source.calls == 2)
        }
    }

    @Test("tags void what was stored before, whatever the clock says")
    func tags() async throws {
        try await RedisServer.withServer { server in
            let level = try clock.driving {
                RedisLevel<String, String>(
                    try TestServer.client(of: server),
                    keyspace: keyspace,
                    codec: .text,
                    freshness: .exact(.seconds(86_400))
                )
            }
            let lifetime = EntryLifetime.byPolicy
            try clock.advance(by: .seconds(3_600))
            try await level.set("value", for: "k", lifetime: lifetime, tags: ["tag"])
            #expect(try await level.get("k") == "value")
            try await level.invalidate(tag: "tag")
            #expect(try await level.get("k") == nil)
            try await level.set("new", for: "k", lifetime: lifetime, tags: ["tag"])
            try await clock.advance(by: .seconds(3_600), with: server)
            #expect(try await level.get("k") == "new")
            await level.redis.shutDown()
        }
    }

    // MARK: Fetches

    @Test("a failure keeps all instances from the source until its back-off has passed at the server")
    func backOff() async throws {
        source.gate.open()
        source.fail(true)
        // Long enough for the time that goes by itself at the server.
        var options = LeaseOptions.lasting
        options.failureBackOff = .seconds(1_000) ... .seconds(1_000)
        try await withPair(hour, options) { one, other, server in
            await #expect(throws: CountingSource.Failure.self) { try await one.cache.get("k") }
            await #expect(throws: CacheError.self) { try await other.cache.get("k") }
            try await clock.advance(by: .seconds(500), with: server)
            await #expect(throws: CountingSource.Failure.self) { try await one.cache.get("k") }
            await #expect(throws: CacheError.self) { try await other.cache.get("k") }
            #expect(source.calls == 1)
            source.fail(false)
            try await clock.advance(by: .seconds(501), with: server)
            #expect(try await other.cache.get("k") == "value")
            #expect(source.calls == 2)
        }
    }

    @Test("the soft and the hard timeout of a fetch pass when the clock is moved, and not by themselves")
    func timeouts() async throws {
        var policy = hour
        policy.staleIfError = .seconds(3_600)
        policy.softTimeout = .milliseconds(1)
        policy.hardTimeout = .milliseconds(2)
        try await withPair(policy) { one, _, server in
            let first = Task { try await one.cache.get("k") }
            await source.gate.arrivals()
            let joined = Task { try await one.cache.get("k") }
            let end = MonotonicInstant.now.advanced(by: .milliseconds(20))
            while MonotonicInstant.now < end { try await nextTurn() }
            source.gate.open()
            #expect(try await first.value == "value")
            #expect(try await joined.value == "value")
            try clock.advance(by: .seconds(4_200))
            let slow = AsyncGate()
            let late = try DrivenInstance(clock, server, keyspace, policy) { _ in
                try await slow.pass()
                return "new"
            }
            let read = Task { try await late.cache.getWithTrace("k") }
            await slow.arrivals()
            try clock.advance(by: .milliseconds(1))
            let (value, trace) = try await read.value
            #expect(value == "value" && trace.staleReason == .late)
            let missing = Task { try await late.cache.get("l") }
            await slow.arrivals(2)
            try clock.advance(by: .milliseconds(2))
            let error = await #expect(throws: CacheError.self) { try await missing.value }
            #expect(error?.code == .timeout)
            slow.open()
            await late.cache.drain(within: .seconds(60))
            await late.redis.shutDown()
        }
    }

    @Test("a value that arrives after the clock was moved lives from its arrival on, for all")
    func movedMeanwhile() async throws {
        var policy = hour
        policy.hardTimeout = nil
        try await withPair(policy) { one, other, server in
            let first = Task { try await one.cache.get("k") }
            await source.gate.arrivals()
            try await clock.advance(by: .seconds(600), with: server)
            source.gate.open()
            #expect(try await first.value == "value")
            try await clock.advance(by: .seconds(3_540), with: server)
            #expect(try await other.cache.get("k") == "value")
            #expect(source.calls == 1)
        }
    }

    @Test("a source that comes with a call has the same lifetimes in the fleet")
    func perCall() async throws {
        try await RedisServer.withServer { server in
            let hour = hour
            func cache() throws -> some SourcedLevel<String, String> {
                try clock.driving {
                    MemoryLevel<String, String>(limit: .entries(100))
                        .compose(
                            RedisLevel<String, String>(
                                try TestServer.client(of: server),
                                keyspace: keyspace,
                                codec: .text,
                                freshness: hour
                            )
                            .fetchingPerCall(.lasting)
                        )
                }
            }
            let (one, other) = (try cache(), try cache())
            #expect(try await one.get("k") { "first" } == "first")
            try clock.advance(by: .seconds(3_540))
            #expect(try await other.get("k") { "second" } == "first")
            try clock.advance(by: .seconds(120))
            #expect(try await other.get("k") { "third" } == "third")
            try clock.advance(by: .seconds(60))
            #expect(try await one.get("k") { "fourth" } == "third")
        }
    }

    @Test("fills of a Redis level above another source go by the clock")
    func fills() async throws {
        source.gate.open()
        let hour = hour
        try await RedisServer.withServer { server in
            let cache = try clock.driving {
                RedisLevel<String, String>(
                    try TestServer.client(of: server),
                    keyspace: keyspace,
                    codec: .text,
                    freshness: hour
                )
                .compose(ClosureFetcher { [source] _ in try await source.fetch() })
            }
            try clock.advance(by: .seconds(1_000))
            // The lease of a fill stands for two seconds: a process that stood still for longer has stored nothing.
            while cache.upper.statistics.stores == 0 { #expect(try await cache.get("k") == "value") }
            let calls = source.calls
            try clock.advance(by: .seconds(3_540))
            #expect(try await cache.get("k") == "value")
            #expect(source.calls == calls)
            try clock.advance(by: .seconds(120))
            #expect(try await cache.get("k") == "value")
            #expect(source.calls == calls + 1)
            await cache.upper.redis.shutDown()
        }
    }
}
