import StrataTestSupport
import StrataTesting
import Testing

@testable import Strata

@Suite("Writing behind, in one process", .timeLimit(.minutes(5)))
struct WritingBehindTests {
    private typealias Failure = WrittenSource<Int>.Failure

    let memory = MemoryLevel<String, Int>(limit: .entries(100))
    let source = WrittenSource<Int>(["k": 1])
    let lost = LostWrites<Int>()

    /// Quick to try again, and slow to give up.
    static var patient: WriteBehindOptions {
        WriteBehindOptions(
            delay: .zero,
            waitLimit: .seconds(60),
            timeout: .seconds(60),
            backOff: .milliseconds(1) ... .milliseconds(2),
            givenUpAfter: .seconds(600)
        )
    }

    func writer<Base: AtomicLevel<String, Int>>(
        to level: Base,
        _ adjust: (inout WriteBehindOptions) -> Void = { _ in }
    ) -> WritingBehind<Base> {
        var options = Self.patient
        adjust(&options)
        return level.writingBehind(options) { [lost] in
            lost.add($0)
        } write: { [source] key, value in
            try await source.write(key, value)
        }
    }

    private func counter(_ name: String, _ level: some CacheLevel) -> Int? {
        level.label.counters.first { $0.name == name }?.value
    }

    @Test("set and delete change the cache at once and the source later; what forgets leaves the source alone")
    func verbs() async throws {
        let cache = writer(to: memory)
        let gate = AsyncGate()
        source.holdNextWrite(before: gate)
        try await cache.set(2, for: "k")
        #expect(cache.resident("k", at: .coarse)?.value == 2)
        await gate.arrivals()
        #expect(source.values == ["k": 1] && cache.statistics.pending == 1)
        gate.open()
        try await cache.flush()
        #expect(source.values == ["k": 2] && cache.statistics.pending == 0)
        try await cache.set(3, for: "k", tags: ["t"])
        try await cache.invalidate(tag: "t")
        try await cache.flush()
        try await cache.remove("k")
        try await cache.clear()
        #expect(source.values == ["k": 3])
        #expect(try await cache.get("k") == nil)
        try await cache.set(4, for: "k")
        let next = AsyncGate()
        source.holdNextWrite(before: next)
        try await cache.delete("k")
        await next.arrivals()
        #expect(try await cache.get("k") == nil)
        next.open()
        try await cache.flush()
        #expect(source.values.isEmpty && counter("written", cache) ?? 0 >= 3)
        #expect(counter("pending_writes", cache) == 0 && lost.isEmpty)
    }

    @Test("of several writes of a key the last is made, in the order of the calls")
    func coalescing() async throws {
        let cache = writer(to: memory)
        let gate = AsyncGate()
        source.holdNextWrite(before: gate)
        try await cache.set(2, for: "k")
        await gate.arrivals()
        for value in 3...50 { try await cache.set(value, for: "k") }
        gate.open()
        try await cache.flush()
        #expect(source.writes == [2, 50])
        #expect(cache.statistics.coalesced == 47 && cache.statistics.written == 2)
    }

    @Test("a set and then a deletion, and the other way round, reach the source as they were called")
    func alternating() async throws {
        let cache = writer(to: memory)
        for round in 0..<50 {
            try await cache.set(round, for: "k")
            try await cache.delete("k")
            if round % 2 == 0 { try await cache.set(round, for: "k") }
            #expect(try await cache.get("k") == (round % 2 == 0 ? round : nil))
            if round % 5 == 0 {
                try await cache.flush()
                #expect(source.values["k"] == (round % 2 == 0 ? round : nil))
            }
        }
        try await cache.flush()
        #expect(source.values.isEmpty)
        // The absence stays, as it does with Redis below.
        let kept = try #require(try await memory.entry(for: "k", ReadRequest()))
        #expect(kept.value == nil)
    }

    @Test("what fails is tried again, and its key is read from what is pending", arguments: [0, 1])
    func failing(which: Int) async throws {
        let cache = writer(to: memory)
        source.fail(which == 0 ? .before : .after)
        try await cache.set(2, for: "k")
        while cache.statistics.failed < 3 { try await nextTurn() }
        try await cache.set(3, for: "k")
        #expect(try await cache.get("k") == 3)
        source.fail(nil)
        try await cache.flush()
        #expect(source.values == ["k": 3] && lost.isEmpty)
        #expect(counter("given_up_writes", cache) == 0 && counter("failed_writes", cache) ?? 0 >= 3)
    }

    @Test("what is given up is told, once, and the cache forgets it; flush says so")
    func givingUp() async throws {
        let cache = writer(to: memory) { $0.isTransient = { !($0 is Failure) } }
        source.fail(.before)
        let gate = AsyncGate()
        source.holdNextWrite(before: gate)
        try await cache.set(2, for: "k")
        await gate.arrivals()
        let flush = Task { try await cache.flush() }
        // After the write has been given up there is nothing to wait for.
        while cache.queue.state.withLock({ $0.waits.isEmpty }) { try await nextTurn() }
        gate.open()
        let error = await #expect(throws: CacheError.self) { try await flush.value }
        #expect(error?.code == .notWritten && error?.causes.first is Failure)
        let told = lost.all
        #expect(told.count == 1 && told[0].key == "k" && told[0].value == 2 && told[0].attempts == 1)
        #expect(told[0].error is Failure)
        #expect(try await cache.get("k") == nil && cache.statistics.givenUp == 1)
    }

    @Test("time is over for what a source never takes")
    func late() async throws {
        let cache = writer(to: memory) {
            $0.timeout = .milliseconds(20)
            $0.givenUpAfter = .milliseconds(200)
        }
        let gate = AsyncGate()
        source.holdNextWrite(before: gate)
        source.fail(.before)
        try await cache.set(2, for: "k")
        while lost.isEmpty { try await nextTurn() }
        #expect(cache.statistics.pending == 0 && cache.statistics.givenUp == 1)
        #expect(try await cache.get("k") == nil)
    }

    @Test("no room: the call waits, then throws and has changed nothing; it goes on when there is room")
    func overloaded() async throws {
        let cache = writer(to: memory) {
            $0.limit = 1
            $0.waitLimit = .milliseconds(20)
        }
        let gate = AsyncGate()
        source.holdNextWrite(before: gate)
        try await cache.set(2, for: "k")
        await gate.arrivals()
        let error = await #expect(throws: CacheError.self) { try await cache.set(5, for: "other") }
        #expect(error?.code == .overloaded && cache.statistics.refused == 1)
        #expect(try await cache.get("other") == nil)
        // The key that has a write already takes no more room.
        try await cache.set(3, for: "k")
        let patient = writer(to: memory) { $0.limit = 1 }
        let next = AsyncGate()
        source.holdNextWrite(before: next)
        try await patient.set(7, for: "k")
        await next.arrivals()
        let waiting = Task { try await patient.set(8, for: "other") }
        let cancelled = Task { try await patient.set(9, for: "third") }
        while patient.queue.state.withLock({ $0.writes.callers.count }) < 2 { try await nextTurn() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        next.open()
        try await waiting.value
        try await patient.flush()
        #expect(source.values["other"] == 8 && source.values["third"] == nil)
        gate.open()
        try await cache.flush()
    }

    @Test("a lifetime of zero writes and does not cache, also transformed")
    func uncached() async throws {
        let cache = writer(to: memory)
        let none = EntryLifetime(freshFor: .zero)
        let gate = AsyncGate()
        source.holdNextWrite(before: gate)
        try await cache.set(2, for: "k", lifetime: none)
        await gate.arrivals()
        #expect(cache.resident("k", at: .coarse) == nil)
        #expect(try await cache.get("k") == 2)
        gate.open()
        try await cache.flush()
        #expect(source.values == ["k": 2])
        #expect(try await cache.get("k") == nil)
        let texts = cache.transformValues(TwoWayTransformer<Int, String>({ "\($0)" }, inverse: { Int($0) ?? 0 }))
        try await texts.set("6", for: "k", lifetime: none)
        try await cache.flush()
        #expect(source.values == ["k": 6])
        // The cache was not to take them.
        #expect(cache.statistics.uncached == 0)
    }

    @Test("a value lives at least as long as its write may be pending")
    func lifetime() async throws {
        let cache = writer(to: memory)
        try await cache.set(2, for: "k", lifetime: EntryLifetime(freshFor: .milliseconds(1)))
        let entry = try #require(try await memory.entry(for: "k", ReadRequest()))
        #expect(MonotonicInstant.now.duration(to: entry.freshUntil) > .seconds(500))
        try await cache.set(2, for: "k", lifetime: EntryLifetime(freshFor: .seconds(5_000)))
        let longer = try #require(try await memory.entry(for: "k", ReadRequest()))
        #expect(MonotonicInstant.now.duration(to: longer.freshUntil) > .seconds(4_000))
    }

    @Test("a cache that cannot take the value is no reason not to write it")
    func helpless() async throws {
        let level = ProbeLevel(["k": 1])
        let cache = writer(to: level.normalized())
        level.failSets("away")
        let gate = AsyncGate()
        source.holdNextWrite(before: gate)
        try await cache.set(2, for: "k")
        await gate.arrivals()
        #expect(level.values.isEmpty)
        #expect(try await cache.get("k") == 2)
        gate.open()
        try await cache.flush()
        #expect(source.values == ["k": 2] && cache.statistics.uncached == 1)
        level.failRemoves("away")
        try await cache.set(3, for: "k")
        try await cache.flush()
        #expect(source.values == ["k": 3] && cache.statistics.untold > 0)
    }

    @Test(
        "several keys go by one call, each once; one that can never be written fails alone",
        arguments: [false, true]
    )
    func several(batchIsTold: Bool) async throws {
        let calls = Locked<[[String]]>([])
        var options = Self.patient
        // Nothing goes before it is flushed.
        options.delay = .seconds(600)
        options.batch = 8
        options.concurrency = 1
        options.isTransient = { ($0 as? CacheError)?.code != .conflict }
        let cache = memory.writingBehindSeveral(options) { [lost] in
            lost.add($0)
        } write: { [source] writes in
            calls.withLock { $0.append(writes.map(\.key).sorted()) }
            if writes.contains(where: { $0.key == "bad" }) {
                throw batchIsTold || writes.count == 1 ? CacheError.conflict : Failure()
            }
            for (key, value) in writes { try await source.write(key, value) }
        }
        for (index, key) in ["a", "b", "bad", "c"].enumerated() { try await cache.set(index, for: key) }
        let error = await #expect(throws: CacheError.self) { try await cache.flush() }
        #expect(error?.code == .notWritten)
        #expect(lost.all.map(\.key) == ["bad"])
        #expect(source.values == ["k": 1, "a": 0, "b": 1, "c": 3])
        let sizes = calls.withLock { $0.map(\.count) }
        #expect(sizes.first == 4 && sizes.dropFirst().allSatisfy { $0 <= 2 })
    }

    @Test("many writers of few keys, over a source that fails at random: source and cache agree in the end")
    func many() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed of WritingBehindTests.many: \(seed)")
        let dice = Dice(seed: seed)
        let source = WrittenSource<Int>()
        var options = Self.patient
        options.batch = 5
        options.limit = 7
        let cache = memory.writingBehindSeveral(options) { _ in
            Issue.record("nothing is given up")
        } write: { writes in
            let fault = dice.roll(0..<8)
            if fault == 0 { throw Failure() }
            await Task.yield()
            for (key, value) in writes { try await source.write(key, value) }
            if fault == 1 { throw Failure() }
        }
        try await withThrowingTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    for step in 0..<60 {
                        let key = "k\(dice.roll(0..<12))"
                        if step % 7 == 6 {
                            try await cache.delete(key)
                        } else {
                            try await cache.set(task * 1_000 + step, for: key)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        try await cache.flush()
        for number in 0..<12 {
            let (kept, written) = (try await memory.get("k\(number)"), source.values["k\(number)"])
            #expect(kept == written, "\(String(describing: kept)) and \(String(describing: written))")
        }
    }

    @Test("a write waits for its delay")
    func delay() async throws {
        let cache = writer(to: memory) { $0.delay = .seconds(600) }
        for number in 0..<20 { try await cache.set(number, for: "k") }
        for _ in 0..<200 { try await nextTurn() }
        #expect(source.writes.isEmpty && cache.statistics.pending == 1)
        try await cache.flush()
        #expect(source.writes == [19])
    }

    // When it has begun to drain, a set waits for the source, and so nothing is pending that a removal would leave.
    @Test("is a level like any other, but that it makes lifetimes longer")
    func conforms() async {
        let suite = CacheLevelConformance(abilities: [.absences, .tags]) {
            let level = MemoryLevel<String, String>(limit: .entries(1_000))
                .writingBehind(lost: { _ in }, write: { _, _ in })
            await level.drain(within: .zero)
            return level
        }
        expectNone(await suite.run())
        let above = CacheLevelConformance(abilities: [.absences, .tags]) {
            let level = MemoryLevel<String, String>(limit: .entries(1_000))
                .writingBehind(lost: { _ in }, write: { _, _ in })
            await level.drain(within: .zero)
            return MemoryLevel<String, String>(limit: .entries(1_000)).compose(level)
        }
        expectNone(await above.run())
    }
}
