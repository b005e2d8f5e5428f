import StrataTesting
import Testing

@testable import Strata

@Suite("Options of one read")
struct ReadOptionsTests {
    private let memory = MemoryLevel<String, String>(limit: .entries(16))
    private let source = ToldSource()

    private var cache: some CacheLevel<String, String> { memory.compose(source.level()) }

    @Test("fresh only: no stale value, whatever the policy; a failure is a failure")
    func freshOnly() async throws {
        try await memory.store(.aged("old", fresh: -1, stale: 60, revalidate: 30), for: "k")
        #expect(try await cache.get("k", .fresh) == "value")
        try await memory.store(.aged("old", fresh: -1, stale: 60, revalidate: 30), for: "k")
        source.fail()
        await #expect(throws: ToldSource.Failure.self) { try await cache.get("k", .fresh) }
        #expect(try await memory.get("k", .fresh) == nil)
    }

    @Test("cached only: the source is not asked; stale values only where they would be served anyway")
    func cachedOnly() async throws {
        try await memory.store(.aged("fresh", fresh: 60, refresh: -1), for: "a")
        try await memory.store(.aged("old", fresh: -1, stale: 60, revalidate: 30), for: "b")
        try await memory.store(.aged("old", fresh: -1, stale: 60), for: "c")
        let cache = cache
        #expect(try await cache.get(["a", "b", "c", "d"], .cached) == ["fresh", "old", nil, nil])
        #expect(try await cache.get("c", .cached.with(staleness: .allowed)) == "old")
        #expect(try await cache.get("b", .cached.with(staleness: .never)) == nil)
        await cache.drain(within: .seconds(30))
        #expect(source.calls == 0)
    }

    /// A source as a user writes one: it looks at no options.
    private struct OwnFetcher: Fetcher {
        let calls = CallLog()

        func entry(for key: String, _ request: ReadRequest) async throws -> Entry<String>? {
            calls.add(key)
            return Entry(value: "fetched")
        }
    }

    /// Gives values that are stale at once.
    private struct BriefFetcher: Fetcher {
        func entry(for key: String, _ request: ReadRequest) async throws -> Entry<String>? {
            let now = MonotonicInstant.now
            return Entry(.value("brief"), freshUntil: now, staleUntil: now.advanced(by: .seconds(60)), origin: .source)
        }
    }

    @Test("what the source has just given is fresh enough for whoever wants nothing stale, however short it lives")
    func brief() async throws {
        #expect(try await BriefFetcher().get("k", .fresh) == "brief")
        let cache = memory.compose(BriefFetcher())
        for _ in 0..<2 { #expect(try await cache.get("k", .fresh) == "brief") }
        #expect(try await cache.get(["k", "l"], .fresh) == ["brief", "brief"])
        #expect(try await cache.reloadOrRemove("k") == "brief")
        // From memory it is not.
        #expect(try await cache.get("k", .cached.with(staleness: .never)) == nil)
    }

    @Test("cached only: no source is asked, however it is built in")
    func noSourceIsAsked() async throws {
        let own = OwnFetcher()
        func expectNotAsked(
            _ cache: some CacheLevel<String, String>,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            #expect(try await cache.get("k", .cached) == nil, sourceLocation: sourceLocation)
            #expect(try await cache.get(["k", "l"], .cached) == [nil, nil], sourceLocation: sourceLocation)
            #expect(try await cache.getWithTrace("k", .cached).value == nil, sourceLocation: sourceLocation)
            #expect(own.calls.calls == [], sourceLocation: sourceLocation)
        }
        try await expectNotAsked(own)
        try await expectNotAsked(own.normalized())
        try await expectNotAsked(memory.compose(own))
        try await expectNotAsked(memory.compose(own.normalized()).normalized())
        try await expectNotAsked(memory.compose(own.capped(2).retry().timeout(.seconds(60)).pooled()))
        try await expectNotAsked(memory.compose(memory).compose(own.conditioned { _ in true }))
        try await expectNotAsked(own.recover(with: own))
        try await expectNotAsked(memory.recover(with: own))
        try await expectNotAsked(memory.race(own, .firstValue))
        try await expectNotAsked(own.race(memory))
        try await expectNotAsked(switchLevels(own, memory) { _ in .first })
        try await expectNotAsked(switchLevels(memory, own) { $0 == "k" ? .first : .second })
        try await expectNotAsked(memory.compose(WrappedSource(base: own)))
        try await expectNotAsked(memory.compose(WrappedSource(base: WrappedSource(base: own)).normalized()))
        let asked = CallLog()
        let closure = ClosureFetcher<String, String> { key in
            asked.add(key)
            return key
        }
        #expect(try await closure.entry(for: "k", ReadRequest(options: .cached)) == nil)
        #expect(asked.calls == [])
        #expect(try await memory.compose(own).get("k") == "fetched")
        #expect(try await memory.compose(own).get("k", .cached) == "fetched")
    }

    @Test("options mean the same over every source")
    func conformance() async {
        expectNone(
            await SourceConformance { source in
                MemoryLevel<String, String>(limit: .entries(1_000)).compose(ClosureFetcher(source))
            }
            .run()
        )
        expectNone(
            await SourceConformance { source in
                MemoryLevel<String, String>(limit: .entries(1_000)).compose(Source(source)).normalized()
            }
            .run()
        )
        expectNone(
            await SourceConformance { source in
                MemoryLevel<String, String>(limit: .entries(1_000)).compose(ClosureFetcher(source).pooled().capped(2))
            }
            .run()
        )
        // One that asks in spite of what a read wants is found out.
        let findings = await SourceConformance { source in
            MemoryLevel<String, String>(limit: .entries(1_000))
                .compose(ClosureLevel<String, String>(get: source, set: { _, _ in }))
        }
        .run()
        #expect(!findings.isEmpty)
    }

    @Test("stale allowed: whatever there is, at once; it is fetched anew in the background")
    func staleAllowed() async throws {
        try await memory.store(.aged("old", fresh: -1, stale: 60), for: "k")
        let cache = cache
        #expect(try await cache.get("k", .stale) == "old")
        await cache.drain(within: .seconds(30))
        #expect(try await cache.get("k") == "value")
        #expect(source.calls == 1)
    }

    @Test("A209 reload: the source's value replaces a fresh one; when it fails the old one stays")
    func reload() async throws {
        try await memory.store(.aged("old", fresh: 60, stale: 60), for: "k")
        let cache = cache
        #expect(try await cache.get("k", .reload) == "value")
        #expect(try await cache.get("k") == "value")
        source.fail()
        await #expect(throws: ToldSource.Failure.self) { try await cache.get("k", .reload) }
        #expect(try await cache.get("k") == "value")
    }

    @Test("A204 a reload whose source fails: an error, or the old value where stale ones may be served")
    func failingReload() async throws {
        try await memory.store(.aged("old", fresh: 60), for: "k")
        try await memory.store(.aged("old", fresh: 60, stale: 600), for: "kept")
        source.fail()
        let cache = cache
        await #expect(throws: ToldSource.Failure.self) { try await cache.get("k", .reload) }
        #expect(try await cache.get("k") == "old")
        let read = try await cache.getWithTrace("kept", .reload)
        #expect(read.value == "old")
        #expect(read.trace.staleReason == .failed)
        #expect(try await cache.getWithTrace("kept").trace.staleReason == nil)
        await #expect(throws: ToldSource.Failure.self) {
            try await cache.get("kept", .reload.with(staleness: .never))
        }
    }

    @Test("a read that allows no age that is to be had gets the source's error, and no miss")
    func tooOld() async throws {
        try await memory.store(.aged("old", fresh: 600, stale: 600, stored: -100), for: "k")
        source.fail()
        let cache = cache
        await #expect(throws: ToldSource.Failure.self) {
            try await cache.get("k", ReadOptions(maximumAge: .seconds(50)))
        }
        #expect(try await cache.get("k", ReadOptions(source: .never, maximumAge: .seconds(50))) == nil)
    }

    @Test("so it is where the source is to be asked, and where changes are not told: no value is no answer")
    func tooOldAndReplaced() async throws {
        source.fail()
        let cache = cache
        for isSuspect in [false, true] {
            var entry = Entry<String>.aged("old", fresh: 600, stale: 600, stored: -100)
            entry.isSuspect = isSuspect
            try await memory.store(entry, for: "k")
            let options = ReadOptions(source: isSuspect ? .whenMissing : .always, maximumAge: .seconds(50))
            await #expect(throws: ToldSource.Failure.self) { try await cache.get("k", options) }
            await #expect(throws: ToldSource.Failure.self) { try await cache.get(["k"], options) }
        }
    }

    @Test("A198 the age that a read allows decides, whatever lifetime the value was stored with")
    func maximumAge() async throws {
        try await memory.store(.aged("old", fresh: 600, stale: 600, stored: -100), for: "k")
        let cache = cache
        #expect(try await cache.get("k", ReadOptions(maximumAge: .seconds(3600))) == "old")
        #expect(try await cache.get("k", ReadOptions(maximumAge: .seconds(50))) == "value")
        #expect(try await cache.get("k", ReadOptions(maximumAge: .seconds(50))) == "value")
        #expect(source.calls == 1)
    }

    @Test("a level can be left out of a read, or of being filled")
    func skipping() async throws {
        try await memory.store(.aged("old", fresh: 60), for: "k")
        let cache = cache
        #expect(try await cache.get("k", ReadOptions(skipsReading: [.memory], skipsFilling: [.memory])) == "value")
        #expect(try await cache.get("k") == "old")
        #expect(try await cache.get("k", ReadOptions(skipsReading: [.memory])) == "value")
        #expect(try await cache.get("k") == "value")
        #expect(try await cache.get("k", ReadOptions(skipsReading: ["disk"])) == "value")
        #expect(source.calls == 2)
    }

    @Test("a level without others below it can be left out, too: then there is nothing")
    func skippingLowest() async throws {
        let skipping = ReadOptions(skipsReading: [.memory])
        for level in [AnyLevel(memory), AnyLevel(MemoryLevel(limit: .entries(4)).compose(memory))] {
            try await level.set("value", for: "k")
            #expect(try await level.get("k", skipping) == nil)
            #expect(try await level.get(["k", "k"], skipping) == [nil, nil])
            let (value, trace) = try await level.getWithTrace("k", skipping)
            #expect(value == nil)
            #expect(trace.steps.allSatisfy { $0.event == .skipped && $0.origin == .memory } && !trace.steps.isEmpty)
            let batch = try await level.getWithTrace(["k"], skipping)
            #expect(batch.trace.traces.map { $0.steps.map(\.event) } == [trace.steps.map(\.event)])
            #expect(try await level.get("k") == "value")
        }
    }
}

/// A level of a user's around a source.
private struct WrappedSource<Base: CacheLevel<String, String>>: ForwardingLevel {
    typealias Key = String
    typealias Value = String

    let base: Base

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<String>? {
        try await base.entry(for: key, request)
    }
}
