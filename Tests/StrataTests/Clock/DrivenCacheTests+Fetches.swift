import StrataTesting
import Testing

@testable import Strata

/// Back-off, timeouts and fetches that go on.
extension DrivenCacheTests {
    @Test("after a failure the key is not asked for again until its back-off has passed, doubled each time")
    func backOff() async throws {
        let cache = cache(policy, failureBackOff: .milliseconds(100) ... .seconds(5))
        source.fail()
        func reads(_ calls: Int) async {
            for _ in 0..<3 { await #expect(throws: ToldSource.Failure.self) { try await cache.get("k") } }
            #expect(source.calls == calls)
        }
        await reads(1)
        try clock.advance(by: .milliseconds(99))
        await reads(1)
        try clock.advance(by: .milliseconds(1))
        await reads(2)
        try clock.advance(by: .milliseconds(199))
        await reads(2)
        source.answer(.value("back"))
        try clock.advance(by: .milliseconds(1))
        #expect(try await cache.get("k") == "back")
    }

    @Test("the back-off of a source ends when it says")
    func retryAfter() async throws {
        let cache = cache(policy, failureBackOff: .milliseconds(100) ... .seconds(5))
        source.answer(.failure(ToldSource.Failure(), retryAfter: .seconds(120)))
        await #expect(throws: ToldSource.Failure.self) { try await cache.get("k") }
        source.answer(.value("back"))
        try clock.advance(by: .seconds(119))
        await #expect(throws: ToldSource.Failure.self) { try await cache.get("k") }
        try clock.advance(by: .seconds(1))
        #expect(try await cache.get("k") == "back")
    }

    @Test("after a refresh has failed, the stale value is served without asking until its back-off has passed")
    func refreshBackOff() async throws {
        var policy = policy
        policy.staleIfError = .seconds(3_600)
        let cache = cache(policy, failureBackOff: .seconds(10) ... .seconds(10))
        _ = try await cache.get("k")
        source.fail()
        try clock.advance(by: .seconds(61))
        for _ in 0..<3 { #expect(try await cache.get("k") == "value") }
        #expect(source.calls == 2)
        try clock.advance(by: .seconds(10))
        source.answer(.value("new"))
        #expect(try await cache.get("k") == "new" && source.calls == 3)
    }

    @Test("where there is a stale value, a caller waits for the soft timeout, and the fetch goes on")
    func softTimeout() async throws {
        var policy = policy
        policy.staleIfError = .seconds(3_600)
        policy.softTimeout = .milliseconds(500)
        let cache = cache(policy)
        _ = try await cache.get("k")
        try clock.advance(by: .seconds(61))
        source.hold(gate)
        source.answer(.value("new"))
        async let late = cache.getWithTrace("k")
        await gate.arrivals()
        try clock.advance(by: .milliseconds(500))
        let (value, trace) = try await late
        #expect(value == "value" && trace.staleReason == .late)
        gate.open()
        while try await cache.get("k") != "new" { try await nextTurn() }
    }

    @Test("a caller without a stale value waits for the hard timeout, to the nanosecond; later callers join the fetch")
    func hardTimeout() async throws {
        let cache = cache(policy)
        source.hold(gate)
        let read = Task { try await cache.get("k") }
        await gate.arrivals()
        try clock.advance(by: .seconds(30) - .nanoseconds(1))
        #expect(cache.lower.waiting == 1)
        try clock.advance(by: .nanoseconds(1))
        let error = await #expect(throws: CacheError.self) { try await read.value }
        #expect(error?.code == .timeout)
        let joined = Task { try await cache.get("k") }
        // What fills memory waits, too.
        while cache.lower.waiting < 2 { try await nextTurn() }
        gate.open()
        #expect(try await joined.value == "value" && source.calls == 1)
    }

    @Test("a fetch without callers is cancelled when its time is over")
    func completionLimit() async throws {
        let cache = cache(policy)
        source.hold(gate)
        let read = Task { try await cache.get("k") }
        await gate.arrivals()
        try clock.advance(by: .seconds(30))
        _ = await read.result
        #expect(source.cancellations == 0)
        try clock.advance(by: .seconds(30))
        try await source.cancelled()
    }

    @Test("a value that arrives after the clock was moved lives from its arrival on")
    func movedMeanwhile() async throws {
        var policy = policy
        policy.hardTimeout = nil
        let cache = cache(policy)
        source.hold(gate)
        async let first = cache.get("k")
        await gate.arrivals()
        try clock.advance(by: .seconds(3_600))
        gate.open()
        #expect(try await first == "value")
        source.hold(nil)
        try clock.advance(by: .seconds(59))
        #expect(try await cache.get("k") == "value" && source.calls == 1)
        try clock.advance(by: .seconds(1))
        _ = try await cache.get("k")
        #expect(source.calls == 2)
    }

    @Test("a source that comes with a call has the same lifetimes, limits and back-off")
    func perCall() async throws {
        let policy = policy
        let cache = clock.driving {
            MemoryLevel<String, String>(limit: .entries(16))
                .compose(Source.perCall(freshness: policy, failureBackOff: .seconds(10) ... .seconds(10)))
        }
        #expect(try await cache.get("k") { "first" } == "first")
        try clock.advance(by: .seconds(59))
        #expect(try await cache.get("k") { "second" } == "first")
        try clock.advance(by: .seconds(1))
        await #expect(throws: ToldSource.Failure.self) { try await cache.get("k") { throw ToldSource.Failure() } }
        await #expect(throws: ToldSource.Failure.self) { try await cache.get("k") { "third" } }
        try clock.advance(by: .seconds(10))
        #expect(try await cache.get("k") { "fourth" } == "fourth")
    }
}
