import StrataTesting
import Testing

@testable import Strata

@Suite("A source with each call", .timeLimit(.minutes(5)))
struct CallSourceTests {
    private typealias Cache = Composed<MemoryLevel<String, String>, Source<String, String>>

    private let memory = MemoryLevel<String, String>(limit: .entries(16))
    private let source = ToldSource()
    private let other = ToldSource()
    private let gate = AsyncGate()

    private func cache(
        _ freshness: FreshnessPolicy = FreshnessPolicy(),
        failureBackOff: ClosedRange<Duration>? = nil
    ) -> Cache {
        memory.compose(Source.perCall(freshness: freshness, failureBackOff: failureBackOff))
    }

    private func get(_ cache: Cache, _ options: ReadOptions? = nil, from source: ToldSource) async throws -> String? {
        try await cache.get("k", options) { context in try await source.fetch("k", context) }
    }

    // MARK: Which source is asked

    @Test("what memory has is returned without asking, and without making the closure")
    func hit() async throws {
        let cache = cache()
        let made = Tally()
        @Sendable func make() -> @Sendable () async throws -> String {
            made.add()
            return { "value" }
        }
        let first = try await cache.get("k", or: make())
        let second: String = try await cache.get("k", or: make())
        #expect(first == "value" && second == "value")
        #expect(made.count == 1)
    }

    @Test("calls that overlap, each with a source of its own: one is asked, all get its value")
    func oneFlight() async throws {
        let cache = cache()
        source.hold(gate)
        let leader = Task { try await get(cache, from: source) }
        await gate.arrivals()
        other.answer(.value("other"))
        let others = (0..<63).map { _ in Task { try await get(cache, from: other) } }
        while cache.lower.waiting < 64 { try await nextTurn() }
        gate.open()
        #expect(try await leader.value == "value")
        for task in others { #expect(try await task.value == "value") }
        #expect(source.calls == 1 && other.calls == 0)
        #expect(try await memory.get("k") == "value")
    }

    @Test("a read without a source finds what memory has; it joins no fetch, and is no fetch that others join")
    func without() async throws {
        let cache = cache()
        #expect(try await cache.get("k") == nil)
        #expect(try await cache.get(["k", "l"]) == [nil, nil])
        let error = await #expect(throws: CacheError.self) { try await cache.require("k") }
        #expect(error?.code == .miss)
        source.hold(gate)
        let fetch = Task { try await get(cache, from: source) }
        await gate.arrivals()
        #expect(try await cache.get("k") == nil)
        #expect(try await cache.get("k", .reload) == nil)
        gate.open()
        #expect(try await fetch.value == "value")
        #expect(try await cache.get("k") == "value")
        #expect(try await cache.get("k", .reload) == "value")
        #expect(source.calls == 1)
    }

    @Test("a level that has a source of its own asks the call's in this call, and its own in others")
    func inPlaceOfTheBound() async throws {
        let cache = memory.compose(other.level())
        other.answer(.value("bound"))
        #expect(try await get(cache, from: source) == "value")
        try await cache.remove("k")
        #expect(try await cache.get("k") == "bound")
        #expect(source.calls == 1 && other.calls == 1)
    }

    // MARK: What comes back

    @Test("an error reaches all who wait as it is; during the back-off no call's source is asked")
    func failure() async throws {
        let cache = cache(failureBackOff: .seconds(600) ... .seconds(600))
        source.fail()
        source.hold(gate)
        let tasks = (0..<10).map { _ in Task { try await get(cache, from: source) } }
        while cache.lower.waiting < 10 { try await nextTurn() }
        gate.open()
        for task in tasks { await #expect(throws: ToldSource.Failure()) { try await task.value } }
        await #expect(throws: ToldSource.Failure()) { try await get(cache, from: other) }
        #expect(source.calls == 1 && other.calls == 0)
    }

    @Test("who is cancelled leaves alone; with the last one the source is cancelled")
    func cancelled() async throws {
        let cache = cache()
        source.hold(gate)
        let first = Task { try await get(cache, from: source) }
        await gate.arrivals()
        let second = Task { try await get(cache, from: other) }
        while cache.lower.waiting < 2 { try await nextTurn() }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(source.cancellations == 0)
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        try await source.cancelled()
        #expect(other.calls == 0)
    }

    @Test("no value: remembered for its own time, an error where the source of the call always has one")
    func absent() async throws {
        let cache = cache()
        source.answer(.absent())
        #expect(try await get(cache, from: source) == nil)
        #expect(try await get(cache, from: other) == nil)
        let missing: String? = try await cache.get("k") { nil }
        #expect(missing == nil)
        let error = await #expect(throws: CacheError.self) { () async throws -> String in
            try await cache.get("k") { "value" }
        }
        #expect(error?.code == .miss)
        #expect(source.calls == 1 && other.calls == 0)
        let forgetful = MemoryLevel<String, String>(limit: .entries(4))
            .compose(Source.perCall(freshness: FreshnessPolicy(absentFor: .zero)))
        #expect(try await get(forgetful, from: source) == nil)
        #expect(try await get(forgetful, from: other) == "value")
    }

    @Test("a closure that always has a value gives one, and one that may have none gives an optional")
    func shapes() async throws {
        let cache = cache()
        let there: String = try await cache.get("there") { "value" }
        let optional: String? = try await cache.get("optional") {
            let row = try await cache.get("none")
            guard let row else { return nil }
            return row + "!"
        }
        let told = try await cache.get("told") { _ in .value("told", tags: ["t"]) }
        let erased: any SourcedLevel<String, String> = cache
        let found: String = try await erased.get("there") { "another" }
        #expect(there == "value" && optional == nil && told == "told" && found == "value")
    }

    // MARK: Freshness, tags, options, traces

    @Test("in the stale window: the old value at once, and a refresh with the source of the call that noticed")
    func whileRevalidating() async throws {
        try await memory.store(.aged("old", fresh: -1, stale: 60, revalidate: 30), for: "k")
        let cache = cache()
        source.hold(gate)
        #expect(try await get(cache, from: source) == "old")
        await gate.arrivals()
        #expect(try await get(cache, from: other) == "old")
        gate.open()
        await cache.drain(within: .seconds(30))
        #expect(try await cache.get("k") == "value")
        #expect(source.calls == 1 && other.calls == 0)
        #expect(source.olds == ["old"])
    }

    @Test(
        "a read without a source starts no refresh, and takes nothing away; the next call with one does at once",
        arguments: [(fresh: 60.0, refresh: -1.0), (fresh: -1.0, refresh: -1.0)],
        [false, true]
    )
    func noRefreshWithout(_ times: (fresh: Double, refresh: Double), isErased: Bool) async throws {
        try await memory.store(
            .aged("old", fresh: times.fresh, stale: 60, refresh: times.refresh, revalidate: 30),
            for: "k"
        )
        let bottom = Source<String, String>.perCall()
        if isErased {
            try await readsPlainly(memory.compose(bottom.normalized()))
        } else {
            let cache = memory.compose(bottom)
            try await readsPlainly(cache)
            #expect(try await get(cache, from: source) == "old")
            await cache.drain(within: .seconds(30))
            #expect(source.calls == 1)
            #expect(try await cache.get("k") == "value")
        }
    }

    private func readsPlainly(_ cache: some CacheLevel<String, String>) async throws {
        for _ in 0..<10 {
            #expect(try await cache.get("k") == "old")
            #expect(try await cache.get(["k"]) == ["old"])
            await cache.drain(within: .seconds(30))
        }
    }

    @Test("an old value is the fallback when the call's source fails")
    func ifError() async throws {
        try await memory.store(.aged("old", fresh: -1, stale: 60), for: "k")
        let cache = cache()
        source.fail()
        #expect(try await get(cache, from: source) == "old")
        #expect(try await cache.get("k") == nil)
        #expect(try await get(cache, from: other) == "value")
    }

    @Test("a lifetime passes, and the next call's source is asked")
    func expires() async throws {
        let clock = ManualClock()
        let cache = clock.driving {
            MemoryLevel<String, String>(limit: .entries(16))
                .compose(Source.perCall(freshness: FreshnessPolicy(freshFor: .seconds(60), jitter: 0, earlyRefresh: 0)))
        }
        #expect(try await get(cache, from: source) == "value")
        other.answer(.value("new"))
        try clock.advance(by: .seconds(60))
        #expect(try await get(cache, from: other) == "new")
    }

    @Test("tags that the call's source gives end its value; a value that is not modified is fresh again")
    func outcomes() async throws {
        let cache = cache()
        source.answer(.value("tagged", tags: ["t"]))
        #expect(try await get(cache, from: source) == "tagged")
        other.answer(.notModified())
        #expect(try await get(cache, .reload, from: other) == "tagged")
        #expect(other.olds == ["tagged"])
        try await cache.invalidate(tag: "t")
        #expect(try await cache.get("k") == nil)
    }

    @Test("options count as with a bound source")
    func options() async throws {
        let cache = cache()
        #expect(try await get(cache, .cached, from: source) == nil)
        #expect(source.calls == 0)
        let error = await #expect(throws: CacheError.self) { () async throws -> String in
            try await cache.get("k", .cached) { "value" }
        }
        #expect(error?.code == .miss)
        #expect(try await get(cache, .fresh, from: source) == "value")
        other.answer(.value("new"))
        #expect(try await get(cache, .fresh, from: other) == "value")
        #expect(try await get(cache, ReadOptions(skipsFilling: [.memory]), from: other) == "value")
        #expect(try await get(cache, ReadOptions(skipsReading: [.memory]), from: other) == "new")
        #expect(try await get(cache, .reload, from: source) == "value")
        #expect(source.calls == 2 && other.calls == 1)
        let bare = Source<String, String>.perCall()
        let value: String? = try await bare.get("k", .cached) { nil }
        #expect(value == nil)
    }

    @Test("the trace tells of the fetch, and then of memory")
    func trace() async throws {
        let cache = cache()
        let (value, trace) = try await cache.getWithTrace("k") { "value" }
        #expect(value == "value" && trace.origin == .source)
        #expect(trace.steps.contains { $0.event == .fetched && $0.origin == .source })
        let (again, second) = try await cache.getWithTrace("k") { "another" }
        #expect(again == "value" && second.origin == .memory)
    }

    // MARK: Levels between the call and the place

    @Test("through levels that transform keys and values, the source gives and gets what the call sees")
    func transformed() async throws {
        let texts = MemoryLevel<String, String>(limit: .entries(4))
            .compose(Source.perCall(freshness: FreshnessPolicy(freshFor: .seconds(60))))
        let numbers = texts.transformValues(Self.number, inverse: { "\($0)" })
            .transformKeys { (number: Int) in "\(number)" }
        let first: Int = try await numbers.get(1) { 11 }
        let kept = try await texts.get("1")
        #expect(first == 11 && kept == "11")
        let next = try await numbers.get(1, .reload) { context in .value((context.old ?? 0) + 1) }
        #expect(next == 12)
        try await texts.set("no number", for: "1")
        let anew = try await numbers.get(1, .reload) { context in context.old == nil ? .value(0) : .notModified() }
        #expect(anew == 0)
        let failure = ToldSource.Failure()
        await #expect(throws: failure) { () async throws -> Int in try await numbers.get(2) { throw failure } }
    }

    private static func number(_ text: String) throws -> Int {
        guard let number = Int(text) else { throw ToldSource.Failure() }
        return number
    }

    @Test("through levels that retry, limit, recover, switch and condition")
    func wrapped() async throws {
        let bottom = Source<String, String>.perCall(failureBackOff: nil)
            .retry(RetryPolicy(times: 1, delay: .zero))
            .capped(4)
            .timeout(.seconds(60))
            .conditioned { $0 != "never" }
        let cache = memory.compose(bottom)
        let attempts = Tally()
        let value: String = try await cache.get("k") {
            attempts.add()
            if attempts.count == 1 { throw ToldSource.Failure() }
            return "value"
        }
        #expect(value == "value" && attempts.count == 2)
        #expect(cache.lacksSource)
        #expect(!memory.compose(source.level()).lacksSource)
        let switched = switchLevels(cache, self.cache()) { $0 == "k" ? .first : .second }
        let first: String = try await switched.get("k") { "first" }
        let second: String = try await switched.get("second") { "second" }
        #expect(first == "value" && second == "second" && switched.lacksSource)
    }
}
