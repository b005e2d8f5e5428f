import StrataTesting
import Testing

@testable import Strata

@Suite("Tags in compositions")
struct ComposedTagTests {
    private let source = TaggedSource(["k": (1, ["red"]), "other": (10, ["green"])])

    private func expectForgets<Cache: CacheLevel<String, Int>>(
        _ cache: Cache,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(try await cache.get(["k", "other"]) == [1, 10], sourceLocation: sourceLocation)
        let reads = source.reads
        source.put(2, for: "k", tags: ["red"])
        source.put(20, for: "other", tags: ["green"])
        #expect(try await cache.get(["k", "other"]) == [1, 10], sourceLocation: sourceLocation)
        try await cache.invalidate(tag: "red")
        #expect(try await cache.get("k") == 2, sourceLocation: sourceLocation)
        #expect(try await cache.get("other") == 10, sourceLocation: sourceLocation)
        #expect(source.reads == reads + 1, sourceLocation: sourceLocation)
    }

    @Test("what was fetched with the tag is fetched anew, and nothing else")
    func overMemory() async throws {
        try await expectForgets(MemoryLevel(limit: .entries(4)).compose(source))
    }

    @Test("an absence that a source tells of goes with its tag, and is fetched anew")
    func absence() async throws {
        let told = ToldSource()
        let cache = MemoryLevel<String, String>(limit: .entries(4)).compose(told.level())
        told.answer(.absent(tags: ["red"]))
        #expect(try await cache.get("k") == nil)
        told.answer(.value("new", tags: ["red"]))
        #expect(try await cache.get("k") == nil)
        try await cache.invalidate(tag: "green")
        #expect(try await cache.get("k") == nil)
        #expect(told.calls == 1)
        try await cache.invalidate(tag: "red")
        #expect(try await cache.get("k") == "new")
        #expect(told.calls == 2)
    }

    @Test("through three levels, however they are nested")
    func nested() async throws {
        let (one, two) = (MemoryLevel<String, Int>(limit: .entries(4)), MemoryLevel<String, Int>(limit: .entries(4)))
        try await expectForgets(one.compose(two).compose(source))
        let (three, four) = (MemoryLevel<String, Int>(limit: .entries(4)), MemoryLevel<String, Int>(limit: .entries(4)))
        source.put(1, for: "k", tags: ["red"])
        source.put(10, for: "other", tags: ["green"])
        try await expectForgets(three.compose(four.compose(source)))
    }

    @Test("through wrappers")
    func wrapped() async throws {
        let memory = MemoryLevel<String, Int>(limit: .entries(4))
        try await expectForgets(AnyLevel(memory.compose(source).pooled().transformKeys { (key: String) in key }))
    }

    @Test("an upper level that keeps neither tickets nor seals")
    func ledger() async throws {
        let upper = ProbeLevel()
        let cache = upper.compose(source)
        #expect(try await cache.get("k") == 1)
        source.put(2, for: "k", tags: ["red"])
        #expect(try await cache.get("k") == 1)
        try await cache.invalidate(tag: "red")
        // It cannot tell which entries bear the tag.
        #expect(upper.values == [:])
        // Nor is what comes back there after the invalidation served.
        upper.put(1, for: "k")
        #expect(try await cache.get("k") == 2)
    }

    @Test("a fetch that began before an invalidation is returned and not kept", arguments: [false, true])
    func racingFetch(losesTickets: Bool) async throws {
        let gate = AsyncGate()
        source.hold(gate)
        let upper: AnyLevel<String, Int> =
            losesTickets ? AnyLevel(ProbeLevel()) : AnyLevel(MemoryLevel(limit: .entries(4)))
        let cache = upper.compose(source)
        let slow = Task { try await cache.get("k") }
        await gate.arrivals()
        try await cache.invalidate(tag: "red")
        gate.open()
        #expect(try await slow.value == 1)
        source.put(2, for: "k", tags: ["red"])
        #expect(try await cache.get("k") == 2)
    }

    @Test("the same from below two levels")
    func racingFetchNested() async throws {
        let gate = AsyncGate()
        source.hold(gate)
        let top = MemoryLevel<String, Int>(limit: .entries(4))
        let inner = MemoryLevel<String, Int>(limit: .entries(4)).compose(source)
        let cache = top.compose(inner)
        let slow = Task { try await cache.get("k") }
        await gate.arrivals()
        // Told to the inner composition alone.
        try await inner.invalidate(tag: "red")
        gate.open()
        #expect(try await slow.value == 1)
        source.put(2, for: "k", tags: ["red"])
        #expect(try await cache.get("k") == 2)
    }

    @Test("a set with a tag that is invalidated while it is written is not kept")
    func racingSet() async throws {
        let lower = ProbeLevel()
        let gate = AsyncGate()
        lower.holdSets(gate)
        let cache = MemoryLevel<String, Int>(limit: .entries(4)).compose(lower)
        let slow = Task { try await cache.set(1, for: "k", tags: ["red"]) }
        await gate.arrivals()
        try await cache.invalidate(tag: "red")
        gate.open()
        try await slow.value
        lower.put(nil, for: "k")
        #expect(try await cache.get("k") == nil)
    }

    @Test("a later caller does not join a read that began before the invalidation")
    func flights() async throws {
        let gate = AsyncGate()
        source.hold(gate)
        let cache = source.pooled()
        let early = Task { try await cache.get("k") }
        await gate.arrivals()
        try await cache.invalidate(tag: "anything")
        source.put(2, for: "k", tags: ["red"])
        let late = Task { try await cache.get("k") }
        await gate.arrivals(2)
        gate.open()
        #expect(try await early.value == 1)
        #expect(try await late.value == 2)
    }

    @Test("an invalidation that a lower level hears of elsewhere reaches memory and flights")
    func heardElsewhere() async throws {
        let lower = TaggedGate(source)
        let cache = MemoryLevel<String, Int>(limit: .entries(4)).compose(lower.pooled())
        #expect(try await cache.get("k") == 1)
        source.put(2, for: "k", tags: ["red"])
        #expect(cache.resident("k", at: .coarse)?.value == 1)
        lower.fillGate.void(tags: ["red"])
        #expect(cache.resident("k", at: .coarse) == nil)
        let gate = AsyncGate()
        source.hold(gate)
        let early = Task { try await cache.get("k") }
        await gate.arrivals()
        lower.fillGate.void(tags: ["red"])
        source.put(3, for: "k", tags: ["red"])
        let late = Task { try await cache.get("k") }
        await gate.arrivals(2)
        gate.open()
        #expect(try await early.value == 2)
        #expect(try await late.value == 3)
        #expect(try await cache.get("k") == 3)
    }

    @Test("both branches are told; every failure is")
    func branches() async throws {
        let (one, other) = (ProbeLevel(["k": 1]), ProbeLevel(["k": 2]))
        try await switchLevels(one, other) { _ in .first }.invalidate(tag: "red")
        #expect(one.calls == [.removeAll])
        #expect(other.calls == [.removeAll])
    }

    @Test("no tags invalidate nothing")
    func noTags() async throws {
        let probe = ProbeLevel(["k": 1])
        try await MemoryLevel<String, Int>(limit: .entries(4)).compose(probe).invalidate(tags: [])
        #expect(probe.calls.isEmpty)
    }

    @Test("an entry of several keys bears the tags of all, and falls with one")
    func batches() async throws {
        let memory = MemoryLevel<[String], [Int]>(limit: .entries(4))
        let cache = memory.compose(MemoryLevel<String, Int>(limit: .entries(4)).compose(source).allBatch())
        #expect(try await cache.get(["k", "other"]) == [1, 10])
        source.put(20, for: "other", tags: ["green"])
        #expect(try await cache.get(["k", "other"]) == [1, 10])
        try await cache.invalidate(tag: "green")
        #expect(try await cache.get(["k", "other"]) == [1, 20])
    }
}

/// A source with a gate, as of a level that hears of invalidations made elsewhere.
private struct TaggedGate: ForwardingLevel, Fetcher {
    let base: TaggedSource
    let fillGate = FillGate()

    init(_ base: TaggedSource) {
        self.base = base
    }

    var gate: FillGate? { fillGate }

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<Int>? {
        try await base.entry(for: key, request)
    }
}
