import StrataTesting
import Testing

@testable import Strata

@Suite("A cache whose clock a test moves", .timeLimit(.minutes(5)))
struct DrivenCacheTests {
    let clock = ManualClock()
    let source = ToldSource()
    let gate = AsyncGate()
    /// Exact: nothing is shortened by chance, and nothing fetched early.
    let policy = FreshnessPolicy(freshFor: .seconds(60), jitter: 0, earlyRefresh: 0)

    func cache(
        _ freshness: FreshnessPolicy,
        failureBackOff: ClosedRange<Duration>? = nil
    ) -> Composed<MemoryLevel<String, String>, Source<String, String>> {
        clock.driving {
            MemoryLevel(limit: .entries(16)).compose(source.level(freshness, failureBackOff: failureBackOff))
        }
    }

    // MARK: Lifetimes

    @Test("a value is fresh to the nanosecond of its end, and then the source is asked")
    func lifetime() async throws {
        let cache = cache(policy)
        #expect(try await cache.get("k") == "value")
        source.answer(.value("new"))
        try clock.advance(by: .seconds(60) - .nanoseconds(1))
        #expect(try await cache.get("k") == "value" && source.calls == 1)
        try clock.advance(by: .nanoseconds(1))
        #expect(cache.resident("k", at: .now) == nil)
        #expect(try await cache.get("k") == "new" && source.calls == 2)
    }

    @Test("the system's time does not count: what it would have ended stays")
    func standsStill() async throws {
        let short = FreshnessPolicy(freshFor: .milliseconds(1), jitter: 0, earlyRefresh: 0)
        let cache = cache(short)
        #expect(try await cache.get("k") == "value")
        let end = MonotonicInstant.now.advanced(by: .milliseconds(20))
        while MonotonicInstant.now < end { try await nextTurn() }
        #expect(try await cache.get("k") == "value" && source.calls == 1)
        #expect(cache.resident("k", at: .now)?.value == "value")
    }

    @Test("memory's own lifetime, and that of a set, end by the clock")
    func ownLifetimes() async throws {
        let memory = clock.driving { MemoryLevel<String, String>(limit: .entries(16), lifetime: .seconds(30)) }
        try await memory.set("value", for: "k")
        try await memory.set("value", for: "l", lifetime: EntryLifetime(freshFor: .seconds(10)))
        try clock.advance(by: .seconds(10))
        #expect(try await memory.get(["k", "l"]) == ["value", nil])
        try clock.advance(by: .seconds(20))
        #expect(try await memory.get("k") == nil)
    }

    @Test("what has expired leaves memory when the clock is moved, and its listener is told by then")
    func leaves() async throws {
        let removals = RemovalLog<String, String>()
        let memory = clock.driving {
            MemoryLevel<String, String>(limit: .entries(16), lifetime: .seconds(30), onRemoval: removals.add)
        }
        for key in ["a", "b", "c"] { try await memory.set("value", for: key) }
        try clock.advance(by: .seconds(29))
        #expect(removals.all.isEmpty && memory.statistics.entries == 3)
        try clock.advance(by: .seconds(2))
        #expect(Set(removals.keys) == ["a", "b", "c"] && Set(removals.causes) == [.expired])
        #expect(memory.statistics.entries == 0)
    }

    @Test("an entry that is not read leaves after its idle lifetime; a read begins that anew")
    func idle() async throws {
        let memory = clock.driving { MemoryLevel<String, String>(limit: .entries(16), idleLifetime: .seconds(60)) }
        try await memory.set("value", for: "read")
        try await memory.set("value", for: "idle")
        for _ in 0..<3 {
            try clock.advance(by: .seconds(40))
            #expect(try await memory.get("read") == "value")
        }
        #expect(try await memory.get("idle") == nil)
    }

    @Test("years pass at once; what lives for a century stays")
    func years() async throws {
        let memory = clock.driving { MemoryLevel<String, String>(limit: .entries(16)) }
        try await memory.set("value", for: "decade", lifetime: EntryLifetime(freshFor: .seconds(10 * 366 * 86_400)))
        try await memory.set("value", for: "century", lifetime: .unlimited)
        try await memory.set("value", for: "ever")
        try clock.advance(by: .seconds(11 * 366 * 86_400))
        #expect(try await memory.get(["decade", "century", "ever"]) == [nil, "value", "value"])
        try clock.advance(by: .seconds(80 * 366 * 86_400))
        #expect(try await memory.get(["century", "ever"]) == ["value", "value"])
        try await memory.set("value", for: "young", lifetime: EntryLifetime(freshFor: .seconds(60)))
        try clock.advance(by: .seconds(59))
        #expect(try await memory.get("young") == "value")
        try clock.advance(by: .seconds(1))
        #expect(try await memory.get("young") == nil)
    }

    @Test("an absence is remembered for its own time")
    func absence() async throws {
        var policy = policy
        policy.absentFor = .seconds(10)
        let cache = cache(policy)
        source.answer(.absent())
        #expect(try await cache.get("k") == nil)
        source.answer(.value("there"))
        try clock.advance(by: .seconds(9))
        #expect(try await cache.get("k") == nil && source.calls == 1)
        try clock.advance(by: .seconds(1))
        #expect(try await cache.get("k") == "there" && source.calls == 2)
    }

    @Test("ages in traces and in what the source is told are the clock's, and so is an age that a read allows")
    func ages() async throws {
        let cache = cache(policy)
        _ = try await cache.get("k")
        try clock.advance(by: .seconds(20))
        let (_, trace) = try await cache.getWithTrace("k")
        #expect(trace.age == .seconds(20) && trace.state == .fresh && trace.origin == .memory)
        #expect(try await cache.get("k", ReadOptions(maximumAge: .seconds(20))) == "value" && source.calls == 1)
        source.answer(.value("new"))
        #expect(try await cache.get("k", ReadOptions(maximumAge: .seconds(19))) == "new" && source.calls == 2)
    }

    @Test("a touch begins the lifetime anew, an expiry ends it, and an update keeps what is left")
    func changes() async throws {
        var policy = policy
        policy.staleIfError = .seconds(600)
        let cache = cache(policy)
        _ = try await cache.get("k")
        try clock.advance(by: .seconds(50))
        #expect(try await cache.touch("k", lifetime: EntryLifetime(freshFor: .seconds(60))))
        try clock.advance(by: .seconds(50))
        #expect(try await cache.get("k") == "value" && source.calls == 1)
        _ = try await cache.update("k") { ($0 ?? "") + "!" }
        try clock.advance(by: .seconds(9))
        #expect(try await cache.get("k") == "value!" && source.calls == 1)
        try clock.advance(by: .seconds(1))
        #expect(try await cache.get("k") == "value" && source.calls == 2)
        #expect(try await cache.expire("k"))
        source.fail()
        #expect(try await cache.get("k") == "value" && source.calls == 3)
        try clock.advance(by: .seconds(600))
        await #expect(throws: ToldSource.Failure.self) { try await cache.get("k") }
    }

    // MARK: Stale values

    @Test("a stale value is served at once within its window, and fetched anew behind it; afterwards readers wait")
    func whileRevalidating() async throws {
        var policy = policy
        policy.staleWhileRevalidate = .seconds(30)
        let cache = cache(policy)
        _ = try await cache.get("k")
        source.answer(.value("new"))
        try clock.advance(by: .seconds(89))
        let (value, trace) = try await cache.getWithTrace("k")
        #expect(value == "value" && trace.state == .stale && trace.staleReason == .refreshing)
        await cache.drain(within: .seconds(60))
        #expect(try await cache.get("k") == "new" && source.calls == 2)
        source.answer(.value("newest"))
        try clock.advance(by: .seconds(90))
        #expect(try await cache.get("k") == "newest" && source.calls == 3)
    }

    @Test("a stale value stands in for a failing source within its window, and not afterwards")
    func ifError() async throws {
        var policy = policy
        policy.staleIfError = .seconds(3_600)
        let cache = cache(policy)
        _ = try await cache.get("k")
        source.fail()
        try clock.advance(by: .seconds(60 + 3_599))
        let (value, trace) = try await cache.getWithTrace("k")
        #expect(value == "value" && trace.state == .stale && trace.staleReason == .failed)
        try clock.advance(by: .seconds(1))
        await #expect(throws: ToldSource.Failure.self) { try await cache.get("k") }
    }

    @Test("a fetch takes as long as the clock is moved meanwhile, and a slow source's values are fetched early")
    func early() async throws {
        var policy = policy
        policy.earlyRefresh = 1_000_000
        let cache = cache(policy)
        source.hold(gate)
        let keys = (0..<10).map { "\($0)" }
        try await withThrowingTaskGroup { group in
            for key in keys { group.addTask { _ = try await cache.get(key) } }
            await gate.arrivals(10)
            try clock.advance(by: .seconds(3))
            gate.open()
            try await group.waitForAll()
        }
        #expect(source.calls == 10)
        // With a β like this each refresh is due somewhere in the second half of the lifetime.
        try clock.advance(by: .seconds(29))
        for key in keys { _ = try await cache.get(key) }
        await cache.drain(within: .seconds(60))
        #expect(source.calls == 10)
        try clock.advance(by: .seconds(29))
        for key in keys { #expect(try await cache.getWithTrace(key).trace.state == .fresh) }
        await cache.drain(within: .seconds(60))
        // That none of ten is due by now happens twice in a million million times.
        #expect(source.calls > 10)
    }

    @Test("a source that takes no time by the clock is not asked early")
    func notEarly() async throws {
        var policy = policy
        policy.earlyRefresh = 1_000_000
        let cache = cache(policy)
        _ = try await cache.get("k")
        try clock.advance(by: .seconds(60) - .nanoseconds(1))
        _ = try await cache.get("k")
        await cache.drain(within: .seconds(60))
        #expect(source.calls == 1)
    }

    // MARK: Combinators

    @Test("a pause before a retry ends when the clock is moved")
    func retry() async throws {
        let probe = ProbeLevel(["k": 1])
        probe.failGets("down")
        let retried = clock.driving { probe.retry(RetryPolicy(times: 1, delay: .seconds(3_600), jitter: 0)) }
        let read = Task { try await retried.get("k") }
        await clock.sleepers(1)
        probe.failGets(nil)
        try clock.advance(by: .seconds(3_600))
        #expect(try await read.value == 1)
    }

    @Test("a read's time limit passes when the clock is moved, and not by itself")
    func timeout() async throws {
        let gated = ClosureLevel<String, String>(
            get: { [gate] _ in
                try await gate.pass()
                return "value"
            },
            set: { _, _ in }
        )
        let limited = clock.driving { gated.timeout(.milliseconds(1)) }
        let late = Task { try await limited.get("k") }
        await gate.arrivals()
        await clock.sleepers(1)
        try clock.advance(by: .milliseconds(1))
        let error = await #expect(throws: CacheError.self) { try await late.value }
        #expect(error?.code == .timeout)
        let read = Task { try await limited.get("k") }
        await gate.arrivals(2)
        await clock.sleepers(2)
        let end = MonotonicInstant.now.advanced(by: .milliseconds(20))
        while MonotonicInstant.now < end { try await nextTurn() }
        gate.open()
        #expect(try await read.value == "value")
    }

    @Test("a batch's window ends by itself, and when the clock is moved")
    func coalescing() async throws {
        let probe = BatchProbe()
        let soon = clock.driving { probe.collecting(within: .milliseconds(1)) }
        _ = try await soon.get("a")
        let late = clock.driving { probe.collecting(within: .seconds(3_600)) }
        async let first = late.get("b")
        await clock.sleepers(2)
        try clock.advance(by: .seconds(3_600))
        _ = try await first
    }

    @Test("a drain ends when its time is over by the clock, and cancels what is left")
    func drain() async throws {
        var policy = policy
        // Nothing but the drain ends the fetch.
        policy.hardTimeout = nil
        let cache = cache(policy)
        source.hold(gate)
        let read = Task { try await cache.get("k") }
        await gate.arrivals()
        let hasDrained = Flag()
        let drain = Task {
            await cache.drain(within: .seconds(3_600))
            hasDrained.set()
        }
        // More than one move: parts of the drain may begin to count their time after the first.
        while !hasDrained.isSet {
            try clock.advance(by: .seconds(3_600))
            try await nextTurn()
        }
        await drain.value
        try await source.cancelled()
        _ = await read.result
    }

    @Test("a cancelled fetch that does not end loses its slot when its grace is over")
    func grace() async throws {
        let limiter = clock.driving { FetchLimiter(limit: 1, grace: .seconds(10)) }
        let hanging = Task { [gate] in
            try await limiter.run { try await Task { try await gate.pass() }.value }
        }
        await gate.arrivals()
        hanging.cancel()
        let next = Task { try await limiter.run { "ran" } }
        while limiter.waiting == 0 { try await nextTurn() }
        try clock.advance(by: .seconds(10))
        #expect(try await next.value == "ran")
        gate.open()
        try await hanging.value
    }

    // MARK: Several clocks

    @Test("two clocks do not disturb each other, nor the system's", arguments: 0..<4)
    func parallel(_: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for seconds in [10, 20, 30, 40] {
                group.addTask {
                    let (clock, source) = (ManualClock(), ToldSource())
                    let policy = FreshnessPolicy(freshFor: .seconds(seconds), jitter: 0, earlyRefresh: 0)
                    let cache = clock.driving {
                        MemoryLevel<String, String>(limit: .entries(16)).compose(source.level(policy))
                    }
                    for round in 1...50 {
                        _ = try await cache.get("k")
                        try clock.advance(by: .seconds(seconds) - .nanoseconds(1))
                        _ = try await cache.get("k")
                        #expect(source.calls == round)
                        try clock.advance(by: .nanoseconds(1))
                    }
                }
            }
            try await group.waitForAll()
        }
        let cache = MemoryLevel<String, String>(limit: .entries(16)).compose(source.level(policy))
        _ = try await cache.get("k")
        try clock.advance(by: .seconds(3_600))
        _ = try await cache.get("k")
        #expect(source.calls == 1)
    }
}
