import StrataTesting
import Testing

@testable import Strata

@Suite("Old values above a source", .timeLimit(.minutes(5)))
struct StaleReadTests {
    private let memory = MemoryLevel<String, String>(limit: .entries(16))
    private let source = ToldSource()
    private let gate = AsyncGate()

    private func cache(_ freshness: FreshnessPolicy = FreshnessPolicy()) -> some CacheLevel<String, String> {
        memory.compose(source.level(freshness))
    }

    @Test("within the window for it, a stale value is served at once and fetched anew in the background, once")
    func whileRevalidating() async throws {
        try await memory.store(.aged("old", fresh: -1, stale: 60, revalidate: 30), for: "k")
        source.hold(gate)
        let cache = cache()
        for _ in 0..<20 {
            let (value, trace) = try await cache.getWithTrace("k")
            #expect(value == "old")
            #expect(trace.state == .stale && trace.staleReason == .refreshing)
            #expect(trace.age ?? .zero >= .seconds(100))
        }
        gate.open()
        await cache.drain(within: .seconds(30))
        #expect(try await cache.get("k") == "value")
        #expect(source.calls == 1)
    }

    @Test("what a fetch brings that its reader has left is kept, also while an older one that is void hangs")
    func leftTwice() async throws {
        let (first, second) = (AsyncGate(), AsyncGate())
        let calls = CallLog()
        let cache = memory.compose(
            Source<String, String> { key in
                calls.add(key)
                let number = calls.calls.count
                try await (number == 1 ? first : second).pass()
                return "\(number)"
            }
        )
        let options = ReadOptions(hardTimeout: .milliseconds(1))
        await #expect(throws: CacheError.self) { try await cache.get("k", options) }
        await first.arrivals()
        try await cache.remove("k")
        await #expect(throws: CacheError.self) { try await cache.get("k", options) }
        await second.arrivals()
        second.open()
        while memory.resident("k", at: .now) == nil { try await nextTurn() }
        first.open()
        await cache.drain(within: .seconds(30))
        #expect(try await cache.get("k") == "2")
    }

    @Test("a value in demand is fetched anew before its freshness ends; no read waits, one fetches")
    func early() async throws {
        try await memory.store(.aged("old", fresh: 60, stale: 60, refresh: -1), for: "k")
        source.hold(gate)
        let cache = cache()
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<64 { group.addTask { try await cache.get("k") } }
            for try await value in group { #expect(value == "old") }
        }
        gate.open()
        await cache.drain(within: .seconds(30))
        #expect(try await cache.get("k") == "value")
        #expect(source.calls == 1)
    }

    @Test(
        "a fresh value that may be void is replaced; it is served when the source fails, and only to who takes old values"
    )
    func suspect() async throws {
        var entry = Entry.aged("old", fresh: 60, stale: 60)
        entry.isSuspect = true
        try await memory.store(entry, for: "k")
        try await memory.store(entry, for: "l")
        let cache = cache()
        #expect(try await cache.get("k") == "value")
        #expect(try await cache.get("k") == "value")
        #expect(source.calls == 1)
        source.fail()
        #expect(try await cache.get("l") == "old")
        await #expect(throws: ToldSource.Failure.self) { try await cache.get("l", .fresh) }
    }

    @Test("of an entry that may be void a read makes a spare at most, also a refresh")
    func verdictOnSuspect() {
        var entry = Entry.aged("old", fresh: 60, stale: 60, version: EntryVersion(high: 1, low: 1))
        #expect(ReadRequest().verdict(on: entry, at: .now) == .serve)
        entry.isSuspect = true
        #expect(ReadRequest().verdict(on: entry, at: .now) == .fallBack)
        #expect(ReadRequest(options: ReadOptions(staleness: .never)).verdict(on: entry, at: .now) == .useless)
    }

    @Test("A205 outside that window the source is tried first, and the old value is only the fallback")
    func ifError() async throws {
        try await memory.store(.aged("old", fresh: -1, stale: 60), for: "k")
        let cache = cache()
        #expect(try await cache.get("k") == "value")
        #expect(source.calls == 1)
    }

    @Test("A203 the old value is served when the source fails; without a window for that the read fails")
    func failing() async throws {
        source.fail()
        try await memory.store(.aged("old", fresh: -1, stale: 60), for: "k")
        try await memory.store(.aged("old", fresh: -1, stale: -1), for: "gone")
        let cache = cache()
        let (value, trace) = try await cache.getWithTrace("k")
        #expect(value == "old")
        #expect(trace.state == .stale && trace.origin == .memory && trace.staleReason == .failed)
        await #expect(throws: ToldSource.Failure.self) { try await cache.get("gone") }
    }

    @Test("A206 as long as its window lasts the old value stays available, however often the source fails")
    func stillThere() async throws {
        source.fail()
        try await memory.store(.aged("old", fresh: -1, stale: 60), for: "k")
        let cache = cache()
        for _ in 0..<50 { #expect(try await cache.get("k") == "old") }
        source.answer(.value("new"))
        #expect(try await cache.get("k") == "new")
    }

    @Test("a source that says when it wants to be asked again is not asked before, where there is an old value")
    func retryAfter() async throws {
        source.answer(.failure(ToldSource.Failure(), retryAfter: .seconds(3600)))
        try await memory.store(.aged("old", fresh: -1, stale: 60, revalidate: 30), for: "k")
        let cache = cache()
        #expect(try await cache.get("k") == "old")
        await cache.drain(within: .seconds(30))
        for _ in 0..<10 { #expect(try await cache.get("k") == "old") }
        await cache.drain(within: .seconds(30))
        #expect(source.calls == 1)
    }

    @Test("a refresh that finds nothing takes the old value away")
    func refreshedAway() async throws {
        try await memory.store(.aged("old", fresh: -1, stale: 60, revalidate: 30), for: "k")
        source.answer(.doNotStore(nil))
        let cache = cache()
        #expect(try await cache.get("k") == "old")
        await cache.drain(within: .seconds(30))
        #expect(try await cache.get("k") == nil)
    }

    @Test(
        "an answer that there is none takes the old value away, also where that is not remembered",
        arguments: [1, 2]
    )
    func takenAway(keys: Int) async throws {
        let names = Array(["a", "b"].prefix(keys))
        for read in [ReadOptions.reload, ReadOptions()] {
            let old = Entry.aged("old", fresh: read == .reload ? 60 : -1, stale: 60)
            for key in names { try await memory.store(old, for: key) }
            source.answer(read == .reload ? .absent() : .doNotStore(nil))
            let cache = cache(FreshnessPolicy(staleIfError: .seconds(60), absentFor: .zero))
            if keys == 1 {
                #expect(try await cache.get("a", read) == nil)
            } else {
                #expect(try await cache.get(names, read) == [nil, nil])
            }
            let whatever = ReadOptions(staleness: .allowed, source: .never)
            for key in names { #expect(try await cache.get(key, whatever) == nil) }
        }
    }

    @Test("a remove during a refresh: what the refresh brings is not kept")
    func removedMeanwhile() async throws {
        try await memory.store(.aged("old", fresh: -1, stale: 60, revalidate: 30), for: "k")
        source.hold(gate)
        let cache = cache()
        #expect(try await cache.get("k") == "old")
        await gate.arrivals()
        try await cache.remove("k")
        source.answer(.value("newer"))
        gate.open()
        await cache.drain(within: .seconds(30))
        #expect(memory.resident("k", at: .now) == nil)
        #expect(try await cache.get("k") == "newer")
    }

    @Test("what is changed right after a read that begins a refresh stands, also where the refresh begins later")
    func changedAtOnce() async throws {
        let keys = (0..<300).map { "\($0)" }
        let memory = MemoryLevel<String, String>(limit: .entries(1_000))
        let cache = memory.compose(source.level())
        source.answer(.notModified())
        for (number, key) in keys.enumerated() {
            try await memory.store(.aged("old", fresh: -1, stale: 60, revalidate: 30), for: key)
            #expect(try await cache.get(key) == "old")
            if number % 2 == 0 { try await cache.set("own", for: key) } else { try await cache.remove(key) }
        }
        await cache.drain(within: .seconds(30))
        for (number, key) in keys.enumerated() {
            #expect(memory.resident(key, at: .now)?.value == (number % 2 == 0 ? "own" : nil))
        }
    }

    @Test("a source's wish not to be asked for a while concerns the old value that it was asked for, and no later one")
    func pauseOfAnOlderEntry() async throws {
        try await memory.store(.aged("old", fresh: -1, stale: 60), for: "k")
        source.answer(.failure(ToldSource.Failure(), retryAfter: .seconds(3600)))
        let cache = cache()
        for _ in 0..<3 { #expect(try await cache.get("k") == "old") }
        #expect(source.calls == 1)
        try await cache.remove("k")
        try await memory.store(.aged("later", fresh: -1, stale: 60), for: "k")
        source.answer(.value("new"))
        #expect(try await cache.get("k") == "new")
    }

    @Test("after the soft timeout the old value is served; the fetch goes on and its value is there afterwards")
    func softTimeout() async throws {
        try await memory.store(.aged("old", fresh: -1, stale: 60), for: "k")
        source.hold(gate)
        let cache = cache(FreshnessPolicy(softTimeout: .milliseconds(5)))
        let (value, trace) = try await cache.getWithTrace("k")
        #expect(value == "old" && trace.staleReason == .late)
        // It is late already, so no caller waits for it again.
        for _ in 0..<10 { #expect(try await cache.get("k") == "old") }
        gate.open()
        await cache.drain(within: .seconds(30))
        #expect(memory.resident("k", at: .now)?.value == "value")
        #expect(source.calls == 1)
        #expect(source.cancellations == 0)
    }

    @Test("the soft timeout does not concern callers without an old value; the hard one does, with a typed error")
    func hardTimeout() async throws {
        source.hold(gate)
        let cache = cache(FreshnessPolicy(softTimeout: .milliseconds(1), hardTimeout: .milliseconds(30)))
        let error = await #expect(throws: CacheError.self) { try await cache.get("k") }
        #expect(error?.code == .timeout)
        gate.open()
        await cache.drain(within: .seconds(30))
        #expect(memory.resident("k", at: .now)?.value == "value")
        #expect(source.calls == 1 && source.cancellations == 0)
    }

    @Test("what late fetches of a batch bring is there afterwards", arguments: [false, true])
    func lateBatch(hasOld: Bool) async throws {
        if hasOld { for key in ["a", "b"] { try await memory.store(.aged("old", fresh: -1, stale: 60), for: key) } }
        source.hold(gate)
        let cache = cache(FreshnessPolicy(softTimeout: .milliseconds(5), hardTimeout: .milliseconds(5)))
        if hasOld {
            #expect(try await cache.get(["a", "b"]) == ["old", "old"])
        } else {
            #expect(try await cache.batchGetSome(["a", "b"]) == [])
        }
        gate.open()
        await cache.drain(within: .seconds(30))
        for key in ["a", "b"] { #expect(memory.resident(key, at: .now)?.value == "value") }
        #expect(source.calls == 2 && source.cancellations == 0)
    }

    @Test("what a late fetch brings is not kept when the key was removed meanwhile")
    func lateAndRemoved() async throws {
        source.hold(gate)
        let cache = cache(FreshnessPolicy(hardTimeout: .milliseconds(5)))
        await #expect(throws: CacheError.self) { try await cache.get("k") }
        try await cache.remove("k")
        gate.open()
        await cache.drain(within: .seconds(30))
        #expect(memory.resident("k", at: .now) == nil)
    }

    @Test("what a late fetch brings fills every level above", arguments: [true, false], [false, true])
    func lateBelowTwo(isLeft: Bool, hasOld: Bool) async throws {
        source.hold(gate)
        let middle = MemoryLevel<String, String>(limit: .entries(16))
        if hasOld { try await middle.store(.aged("old", fresh: -1, stale: 60), for: "k") }
        let cache = nested(middle, isLeft: isLeft)
        if hasOld {
            #expect(try await cache.get("k") == "old")
        } else {
            await #expect(throws: CacheError.self) { try await cache.get("k") }
        }
        gate.open()
        await cache.drain(within: .seconds(30))
        for level in [memory, middle] { #expect(level.resident("k", at: .now)?.value == "value") }
        #expect(source.calls == 1)
    }

    private func nested(_ middle: MemoryLevel<String, String>, isLeft: Bool) -> AnyLevel<String, String> {
        let source = source.level(FreshnessPolicy(softTimeout: .milliseconds(5), hardTimeout: .milliseconds(5)))
        return isLeft
            ? AnyLevel(memory.compose(middle).compose(source)) : AnyLevel(memory.compose(middle.compose(source)))
    }

    @Test("what a late fetch brings comes into no level after its key was removed", arguments: [true, false])
    func lateBelowTwoAndRemoved(isLeft: Bool) async throws {
        source.hold(gate)
        let middle = MemoryLevel<String, String>(limit: .entries(16))
        let cache = nested(middle, isLeft: isLeft)
        await #expect(throws: CacheError.self) { try await cache.get("k") }
        gate.open()
        try await cache.remove("k")
        await cache.drain(within: .seconds(30))
        for level in [memory, middle] { #expect(level.resident("k", at: .now) == nil) }
    }

    @Test("what a late fetch of a second level brings is there afterwards, though the first one fails again")
    func lateBehindFailing() async throws {
        source.hold(gate)
        let second = source.level(FreshnessPolicy(hardTimeout: .milliseconds(5)))
        let cache = memory.compose(Failing().recover(with: second))
        await #expect(throws: CacheError.self) { try await cache.get("k") }
        gate.open()
        await cache.drain(within: .seconds(30))
        #expect(memory.resident("k", at: .now)?.value == "value")
        #expect(source.calls == 1)
    }

    private struct Failing: CacheLevel {
        func entry(for key: String, _ request: ReadRequest) throws -> Entry<String>? { throw ToldSource.Failure() }
        func store(_ entry: Entry<String>, for key: String) async throws {}
        func remove(_ key: String) async throws {}
        func removeAll() async throws {}
    }

    @Test("a refresh whose fetch takes longer than any caller waits keeps what that brings")
    func lateRefresh() async throws {
        try await memory.store(.aged("old", fresh: -1, stale: 60, revalidate: 30), for: "k")
        source.hold(gate)
        let cache = cache(FreshnessPolicy(hardTimeout: .milliseconds(5)))
        #expect(try await cache.get("k") == "old")
        await gate.arrivals()
        // Longer than that.
        await #expect(throws: CacheError.self) { try await cache.get("k", .reload.with(staleness: .never)) }
        gate.open()
        await cache.drain(within: .seconds(30))
        #expect(memory.resident("k", at: .now)?.value == "value")
        #expect(source.calls == 1)
    }

    @Test("a fetch without waiters is cancelled when its time is over, and does not block its key")
    func completionLimit() async throws {
        source.hold(gate)
        let policy = FreshnessPolicy(hardTimeout: .milliseconds(5), completionLimit: .milliseconds(20))
        let cache = cache(policy)
        await #expect(throws: CacheError.self) { try await cache.get("k") }
        await cache.drain(within: .seconds(30))
        // Its time may be over before its task gets to ask.
        if source.calls > 0 { try await source.cancelled() }
        source.hold(nil)
        // The limit holds for this read, too.
        while (try? await cache.get("k")) != "value" { try await nextTurn() }
    }

    @Test("what is left of background work is cancelled when draining has taken long enough")
    func drained() async throws {
        try await memory.store(.aged("old", fresh: -1, stale: 60, revalidate: 30), for: "k")
        source.hold(gate)
        let cache = cache()
        #expect(try await cache.get("k") == "old")
        await gate.arrivals()
        await cache.drain(within: .milliseconds(5))
        // Draining cancels what is late and does not wait for it to end.
        try await source.cancelled()
    }

    @Test("several keys: stale ones are served at once and refreshed, the others asked for")
    func batch() async throws {
        try await memory.store(.aged("old", fresh: -1, stale: 60, revalidate: 30), for: "a")
        try await memory.store(.aged("fresh", fresh: 60), for: "b")
        let cache = cache()
        #expect(try await cache.get(["a", "b", "c"]) == ["old", "fresh", "value"])
        await cache.drain(within: .seconds(30))
        #expect(try await cache.get(["a", "b", "c"]) == ["value", "fresh", "value"])
        #expect(source.calls == 2)
    }
}
