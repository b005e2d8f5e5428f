import StrataTesting
import Testing

@testable import Strata

@Suite("A source and what it says", .timeLimit(.minutes(5)))
struct SourceTests {
    private let memory = MemoryLevel<String, String>(limit: .entries(16))
    private let source = ToldSource()

    private func cache(_ freshness: FreshnessPolicy = FreshnessPolicy()) -> some CacheLevel<String, String> {
        memory.compose(source.level(freshness))
    }

    /// Expects that an entry that has come since an instant is fresh for so long, in seconds.
    private func expectLifetime(_ seconds: Int, of key: String, since start: MonotonicInstant) async throws {
        let end = try #require(try await memory.entry(for: key, ReadRequest())).freshUntil
        // Memory keeps short spans, which are not exact.
        #expect(start.duration(to: end) > .seconds(seconds - 1))
        #expect(MonotonicInstant.now.duration(to: end) <= .seconds(seconds))
    }

    @Test("A182 A183 A184 the source's value is stored; then memory answers, and the source is not asked")
    func stored() async throws {
        let cache = cache()
        let (value, trace) = try await cache.getWithTrace("k")
        #expect(value == "value" && trace.origin == .source)
        let (again, second) = try await cache.getWithTrace("k")
        #expect(again == "value" && second.origin == .memory)
        #expect(source.calls == 1)
    }

    @Test("A186 A199 when a lifetime has passed the source is asked again; reading does not renew it")
    func expires() async throws {
        let clock = ManualClock()
        let cache = clock.driving {
            MemoryLevel<String, String>(limit: .entries(16))
                .compose(source.level(FreshnessPolicy(freshFor: .seconds(60), jitter: 0, earlyRefresh: 0)))
        }
        #expect(try await cache.get("k") == "value")
        source.answer(.value("new"))
        for _ in 0..<3 {
            try clock.advance(by: .seconds(19))
            #expect(try await cache.get("k") == "value")
        }
        try clock.advance(by: .seconds(3))
        #expect(try await cache.get("k") == "new")
        #expect(source.calls == 2)
    }

    @Test("A188 a read that is not awaited looks at nothing")
    func lazy() async throws {
        let cache = cache()
        let read = { try await cache.get("k") }
        #expect(source.calls == 0)
        #expect(try await read() == "value")
        #expect(source.calls == 1)
    }

    @Test("A189 A190 a failing source: its own error where there is nothing, no matter where there is a live value")
    func failure() async throws {
        let cache = cache()
        source.fail()
        await #expect(throws: ToldSource.Failure.self) { try await cache.get("k") }
        source.answer(.value("live"))
        #expect(try await cache.get("k") == "live")
        source.fail()
        #expect(try await cache.get("k") == "live")
    }

    @Test("A191 no value: a read is nil, one that requires a value fails with a typed error")
    func nothing() async throws {
        source.answer(.absent())
        let cache = cache()
        #expect(try await cache.get("k") == nil)
        let error = await #expect(throws: CacheError.self) { try await cache.require("k") }
        #expect(error?.code == .miss)
        #expect(source.calls == 1)
    }

    @Test("A192 an empty list is a value")
    func empty() async throws {
        let calls = Counter()
        let lists = MemoryLevel<String, [Int]>(limit: .entries(4))
            .compose(
                Source { _ -> [Int]? in
                    calls.increment()
                    return []
                }
            )
        #expect(try await lists.get("k") == [])
        #expect(try await lists.get("k") == [])
        #expect(calls.value == 1)
    }

    @Test("A197 without a lifetime nothing expires")
    func forever() async throws {
        let cache = memory.compose(ClosureFetcher { _ in "value" })
        _ = try await cache.get("k")
        #expect(try await memory.entry(for: "k", ReadRequest())?.freshUntil == .distantFuture)
    }

    @Test("A201 when one key has expired, only that key is dropped")
    func alone() async throws {
        try await memory.store(.aged("a", fresh: -1, stale: -1), for: "a")
        try await memory.store(.aged("b", fresh: 60), for: "b")
        let cache = cache()
        #expect(try await cache.get("a") == "value")
        #expect(try await cache.get("b") == "b")
        #expect(source.calls == 1)
    }

    @Test("A200 expired, and nothing stale allowed: it is missing, and leaves memory")
    func dropped() async throws {
        try await memory.store(.aged("a", fresh: -1, stale: -1), for: "a")
        #expect(try await memory.get("a") == nil)
        while memory.statistics.entries > 0 { try await nextTurn() }
    }

    @Test("A208 whether stale values are served is each source's own affair")
    func perSource() async throws {
        let policy = FreshnessPolicy(freshFor: .milliseconds(1), staleIfError: .seconds(60))
        let tolerant = memory.compose(source.level(policy))
        let other = ToldSource()
        let strict = MemoryLevel<String, String>(limit: .entries(4))
            .compose(other.level(FreshnessPolicy(freshFor: .milliseconds(1))))
        _ = try await (tolerant.get("k"), strict.get("k"))
        while tolerant.resident("k", at: .coarse) != nil { try await nextTurn() }
        while strict.resident("k", at: .coarse) != nil { try await nextTurn() }
        source.fail()
        other.fail()
        #expect(try await tolerant.get("k") == "value")
        await #expect(throws: ToldSource.Failure.self) { try await strict.get("k") }
    }

    @Test("a lifetime of its own counts for more than the policy", arguments: [100, 86_400])
    func ownLifetime(seconds: Int) async throws {
        source.answer(.value("value", lifetime: EntryLifetime(freshFor: .seconds(seconds)), tags: ["t"]))
        let cache = cache(FreshnessPolicy(jitter: 0))
        let start = MonotonicInstant.now
        _ = try await cache.get("k")
        try await expectLifetime(seconds, of: "k", since: start)
        #expect(try await memory.entry(for: "k", ReadRequest())?.tags == ["t"])
    }

    @Test("a lifetime of zero or less: the value is handed out and kept nowhere", arguments: [0, -1, Int64.min / 2])
    func noLifetime(seconds: Int64) async throws {
        source.answer(.value("value", lifetime: EntryLifetime(freshFor: .seconds(seconds))))
        let cache = cache()
        #expect(try await cache.get("k") == "value")
        #expect(try await cache.get("k") == "value")
        #expect(source.calls == 2)
        #expect(memory.statistics.entries == 0)
    }

    @Test("a lifetime of thousands of years is cut at a hundred")
    func endless() async throws {
        let lifetime = EntryLifetime(freshFor: .seconds(Int64.max), staleFor: .seconds(Int64.max))
        source.answer(.value("value", lifetime: lifetime))
        _ = try await cache(FreshnessPolicy(jitter: 0)).get("k")
        let entry = try #require(try await memory.entry(for: "k", ReadRequest()))
        let century = EntryLifetime.longest
        #expect(entry.freshUntil < MonotonicInstant.now.advanced(by: century + .seconds(60)))
        #expect(entry.staleUntil > entry.freshUntil && entry.staleUntil < .distantFuture)
    }

    @Test("do not store: waiting reads get the value, no level keeps it")
    func doNotStore() async throws {
        source.answer(.doNotStore("once"))
        let cache = cache()
        #expect(try await cache.get("k") == "once")
        #expect(memory.statistics.entries == 0)
    }

    @Test("not modified: the old value is fresh again; the source was told of it")
    func notModified() async throws {
        try await memory.store(.aged("old", fresh: -1, stale: 60), for: "k")
        source.answer(.notModified(lifetime: EntryLifetime(freshFor: .seconds(90))))
        let cache = cache(FreshnessPolicy(jitter: 0))
        let start = MonotonicInstant.now
        #expect(try await cache.get("k") == "old")
        #expect(source.olds == ["old"])
        try await expectLifetime(90, of: "k", since: start)
    }

    @Test("not modified where there is nothing: a typed error, and nothing is kept")
    func notModifiedNothing() async throws {
        source.answer(.notModified())
        let error = await #expect(throws: CacheError.self) { try await cache().get("k") }
        #expect(error?.code == .notModified)
        #expect(memory.statistics.entries == 0)
    }

    @Test("A195 a thousand reads of one missing key cause one fetch")
    func once() async throws {
        let gate = AsyncGate()
        source.hold(gate)
        let level = source.level()
        let cache = memory.compose(level)
        let reads = (0..<1000).map { _ in Task { try await cache.get("k") } }
        while level.waiting < 1000 { try await nextTurn() }
        gate.open()
        for read in reads { #expect(try await read.value == "value") }
        #expect(source.calls == 1)
    }

    @Test("a fetcher that ignores its cancellation does not keep callers, nor its key")
    func untrustedFetcher() async throws {
        let gate = AsyncGate()
        let calls = Counter()
        let clock = ManualClock()
        let level = clock.driving {
            Source<String, String>(
                freshness: FreshnessPolicy(hardTimeout: .seconds(5), completionLimit: .seconds(5))
            ) { _ in
                if calls.increment() > 1 { return "second" }
                // A task of its own does not hear of the cancellation.
                try await Task { try await gate.pass() }.value
                return "first"
            }
        }
        let first = Task { try await level.get("k") }
        await gate.arrivals()
        try clock.advance(by: .seconds(5))
        await #expect(throws: CacheError.self) { try await first.value }
        // The fetch has had its time.
        try clock.advance(by: .seconds(5))
        #expect(try await level.get("k") == "second")
        gate.open()
        await level.drain(within: .seconds(30))
    }

    @Test("a source that has an error of its own for its cancellation has not failed: the next read asks it")
    func cancelledInItsOwnWords() async throws {
        struct Gone: Error {}
        let gate = AsyncGate()
        let calls = Counter()
        let level = Source<String, String>(failureBackOff: .seconds(600) ... .seconds(600)) { _ in
            if calls.increment() > 1 { return "second" }
            do { try await gate.pass() } catch { throw Gone() }
            return "first"
        }
        let first = Task { try await level.get("k") }
        await gate.arrivals()
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(try await level.get("k") == "second")
        #expect(level.label.counters.first { $0.name == "failed_fetches" }?.value == 0)
    }

    @Test("callers whose limits pass at almost the same time leave together, so that all fetches of a batch go on")
    func together() async throws {
        let (clock, gate) = (ManualClock(), AsyncGate())
        let level = clock.driving { source.level(FreshnessPolicy(hardTimeout: .seconds(1))) }
        source.hold(gate)
        var reads: [Task<String?, any Error>] = []
        for (key, later) in [("a", 2), ("b", 18), ("c", 980)] {
            reads.append(Task { try await level.get(key) })
            while level.waiting < reads.count { try await nextTurn() }
            try clock.advance(by: .milliseconds(later))
        }
        // The limit of the first has passed, that of the second does in 2 ms, that of the third in 20.
        for read in reads.prefix(2) { await #expect(throws: CacheError.self) { try await read.value } }
        #expect(level.waiting == 1)
        gate.open()
        #expect(try await reads[2].value == "value")
        await level.drain(within: .seconds(30))
        #expect(source.cancellations == 0)
    }

    @Test("a caller without a timeout keeps waiting after a caller with one has left and the time of the fetch is over")
    func patient() async throws {
        let (clock, gate) = (ManualClock(), AsyncGate())
        let level = clock.driving { source.level(FreshnessPolicy(hardTimeout: nil, completionLimit: .seconds(5))) }
        source.hold(gate)
        let patient = Task { try await level.get("k") }
        await gate.arrivals()
        let hasty = Task { try await level.get("k", ReadOptions(hardTimeout: .seconds(5))) }
        while level.waiting < 2 { try await nextTurn() }
        try clock.advance(by: .seconds(5))
        await #expect(throws: CacheError.self) { try await hasty.value }
        try clock.advance(by: .seconds(60))
        #expect(level.waiting == 1)
        gate.open()
        #expect(try await patient.value == "value")
        #expect(source.calls == 1 && source.cancellations == 0)
    }

    @Test("while the source wants not to be asked, every caller gets the error that it threw")
    func pause() async throws {
        source.answer(.failure(ToldSource.Failure(), retryAfter: .seconds(600)))
        let level = source.level()
        let cache = memory.compose(level)
        for _ in 0..<3 { await #expect(throws: ToldSource.Failure()) { try await cache.get("k") } }
        #expect(source.calls == 1)
        // With an old value at hand no read asks below for nothing.
        try await memory.store(.aged("old", fresh: -1, stale: 60), for: "k")
        for _ in 0..<3 { #expect(try await cache.get("k") == "old") }
        let (_, trace) = try await cache.getWithTrace("k")
        #expect(trace.staleReason == .paused)
        #expect(source.calls == 1)
    }

    @Test("after an error the key is not asked for again for a while, also where the source says nothing of that")
    func backOff() async throws {
        source.fail()
        let level = source.level(failureBackOff: .seconds(600) ... .seconds(1_000))
        for _ in 0..<3 { await #expect(throws: ToldSource.Failure()) { try await level.get("k") } }
        #expect(source.calls == 1)
        await #expect(throws: ToldSource.Failure()) { try await level.get("other") }
        #expect(source.calls == 2)
        let eager = source.level(failureBackOff: nil)
        for _ in 0..<3 { await #expect(throws: ToldSource.Failure()) { try await eager.get("k") } }
        #expect(source.calls == 5)
    }

    @Test("removing a key ends the memory of its failure; an invalidation of a tag does not")
    func removedFailure() async throws {
        source.fail()
        let cache = memory.compose(source.level(failureBackOff: .seconds(600) ... .seconds(1_000)))
        for key in ["k", "l"] { await #expect(throws: ToldSource.Failure()) { try await cache.get(key) } }
        source.answer(.value("value"))
        try await cache.invalidate(tag: "t")
        await #expect(throws: ToldSource.Failure()) { try await cache.get("k") }
        try await cache.remove("k")
        #expect(try await cache.get("k") == "value")
        await #expect(throws: ToldSource.Failure()) { try await cache.get("l") }
        try await cache.clear()
        #expect(try await cache.get("l") == "value")
    }

    @Test("pauses are doubled up to the longest, and end with a success")
    func doubling() throws {
        let pauses = Pauses<String>(steps: .seconds(100) ... .seconds(300))
        func expectPause(_ seconds: Int) throws {
            pauses.pause("k")
            let left = try #require(pauses.left(for: "k", at: .now)?.duration)
            #expect(left <= .seconds(seconds) && left > .seconds(seconds - 90))
        }
        for seconds in [100, 200, 300, 300] { try expectPause(seconds) }
        pauses.end("k")
        #expect(pauses.left(for: "k", at: .now) == nil)
        try expectPause(100)
    }

    @Test("fetches that hang, and do not heed their cancellation, give their slots back")
    func hangingFetches() async throws {
        let gate = AsyncGate()
        let clock = ManualClock()
        let level = clock.driving {
            Source<String, String>(
                freshness: FreshnessPolicy(hardTimeout: .seconds(5), completionLimit: .seconds(5)),
                limit: 2
            ) { key in
                // A task of its own does not hear of the cancellation.
                if key != "healthy" { try await Task { try await gate.pass() }.value }
                return key
            }
        }
        let hanging = ["a", "b"].map { key in Task { try await level.get(key) } }
        await gate.arrivals(2)
        try clock.advance(by: .seconds(5))
        for read in hanging { await #expect(throws: CacheError.self) { try await read.value } }
        let healthy = Task { try await level.get("healthy") }
        while level.waiting == 0 { try await nextTurn() }
        // They are cancelled, and then the grace is over that a cancelled fetch has.
        try clock.advance(by: .seconds(5))
        await #expect(throws: CacheError.self) { try await healthy.value }
        try clock.advance(by: .seconds(1))
        #expect(try await level.get("healthy") == "healthy")
        gate.open()
        await level.drain(within: .seconds(30))
    }
}

/// A count that tasks can share.
private final class Counter: Sendable {
    private let count = Locked(0)

    var value: Int { count.withLock { $0 } }

    @discardableResult
    func increment() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
