import StrataTestSupport
import StrataTesting
import Testing

@testable import Strata

@Suite("Writing through to the source", .timeLimit(.minutes(5)))
struct WritingThroughTests {
    private typealias Failure = WrittenSource<Int>.Failure

    let memory = MemoryLevel<String, Int>(limit: .entries(100))
    let source = WrittenSource<Int>(["k": 1])

    var cache: WritingThrough<MemoryLevel<String, Int>> { writer(to: memory) }

    /// Each has turns of its own, as each process has.
    func writer<Base: AtomicLevel<String, Int>>(to level: Base) -> WritingThrough<Base> {
        let source = source
        return level.writing { key, value in try await source.write(key, value) }
    }

    private func counter(_ name: String, _ level: some CacheLevel) -> Int? {
        level.label.counters.first { $0.name == name }?.value
    }

    @Test("set writes both, delete ends both, and what forgets leaves the source alone")
    func verbs() async throws {
        let cache = cache
        try await cache.set(2, for: "k")
        try await cache.set(3, for: "k", tags: ["t"])
        #expect(source.writes == [2, 3])
        #expect(cache.resident("k", at: .coarse)?.value == 3)
        try await cache.invalidate(tag: "t")
        #expect(try await memory.get("k") == nil)
        try await cache.set(4, for: "k", lifetime: EntryLifetime(freshFor: .seconds(60)))
        try await cache.remove("k")
        #expect(try await memory.get("k") == nil)
        try await cache.set(5, for: "k")
        try await cache.clear()
        #expect(try await memory.get("k") == nil)
        #expect(source.values == ["k": 5] && source.writes == [2, 3, 4, 5])
        try await memory.set(5, for: "k")
        try await cache.delete("k")
        #expect(source.values.isEmpty && source.writes.last == .some(nil))
        #expect(try await cache.get("k") == nil)
        #expect(counter("written", cache) == 5 && counter("uncached_writes", cache) == 0)
    }

    @Test("tags that are not valid are an error before anything is written")
    func tags() async throws {
        let error = await #expect(throws: CacheError.self) {
            try await cache.set(2, for: "k", tags: [String(repeating: "x", count: 100_000)])
        }
        #expect(error?.code == .invalidTags && source.writes.isEmpty)
    }

    @Test("a source that fails is the caller's error, and nothing is cached: it may have written", arguments: [0, 1])
    func failing(which: Int) async throws {
        let cache = cache
        try await memory.set(1, for: "k")
        source.fail(which == 0 ? .before : .after)
        await #expect(throws: Failure.self) { try await cache.set(2, for: "k") }
        #expect(cache.resident("k", at: .coarse) == nil)
        #expect(source.values == ["k": which == 0 ? 1 : 2])
        try await memory.set(1, for: "k")
        await #expect(throws: Failure.self) { try await cache.delete("k") }
        #expect(cache.resident("k", at: .coarse) == nil)
        #expect(counter("failed_writes", cache) == 2 && counter("written", cache) == 0)
    }

    @Test(
        "memory above keeps nothing that the source has refused, or was not asked for",
        arguments: [false, true]
    )
    func refused(isCancelled: Bool) async throws {
        let above = MemoryLevel<String, Int>(limit: .entries(10))
        let stack = above.compose(AnyLevel(cache))
        try await stack.set(1, for: "k")
        if !isCancelled { source.fail(.before) }
        let set = Task {
            if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
            try await stack.set(2, for: "k")
        }
        let error = await #expect(throws: (any Error).self) { try await set.value }
        #expect(isCancelled ? error is CancellationError : error is Failure)
        #expect(above.resident("k", at: .coarse) == nil)
        #expect(try await stack.get("k") == (isCancelled ? 1 : nil))
        #expect(source.writes == [1])
    }

    @Test("a read that was under way when a write failed, which was made all the same, is kept by no memory above")
    func readBesideRefusal() async throws {
        let above = MemoryLevel<String, Int>(limit: .entries(10))
        let gate = AsyncGate()
        let reads = Locked(0)
        let below = ClosureFetcher<String, Int> { [source] key in
            let value = try await source.read(key) ?? 0
            if reads.withLock({
                $0 += 1; return $0
            }) == 1 {
                try await gate.pass()
            }
            return value
        }
        let stack = above.compose(writer(to: MemoryLevel<String, Int>(limit: .entries(0)).compose(below)))
        let read = Task { try await stack.get("k") }
        await gate.arrivals()
        source.fail(.after)
        await #expect(throws: Failure.self) { try await stack.set(2, for: "k") }
        gate.open()
        #expect(try await read.value == 1)
        #expect(above.resident("k", at: .coarse) == nil)
        #expect(try await stack.get("k") == 2)
    }

    @Test("a writer that is cancelled leaves nothing in the cache, whether it has written or not", arguments: [0, 1])
    func cancelled(which: Int) async throws {
        let cache = cache
        try await memory.set(1, for: "k")
        let gate = AsyncGate()
        source.holdNextWrite(before: which == 0 ? gate : nil, after: which == 1 ? gate : nil)
        let task = Task { try await cache.set(2, for: "k") }
        await gate.arrivals()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(cache.resident("k", at: .coarse) == nil)
        #expect(cache.turns.count == 0)
        #expect(source.values == ["k": which == 0 ? 1 : 2])
    }

    @Test("a source that does not mind its cancellation has written: the value is not cached, and that is no error")
    func cancelledLate() async throws {
        let source = source
        let cache = memory.writing { key, value in
            try await source.write(key, value)
            withUnsafeCurrentTask { $0?.cancel() }
        }
        try await memory.set(1, for: "k")
        try await Task { try await cache.set(2, for: "k") }.value
        #expect(source.values == ["k": 2])
        #expect(try await memory.get("k") != 1)
    }

    @Test("of two writers that overlap, none leaves what the other has replaced", arguments: [false, true], [0, 1])
    func overlapping(isCached: Bool, order: Int) async throws {
        if isCached { try await memory.set(1, for: "k") }
        let (one, other) = (writer(to: memory), writer(to: memory))
        let gate = AsyncGate()
        // The first is held before the source has its value, or after.
        source.holdNextWrite(before: order == 0 ? gate : nil, after: order == 1 ? gate : nil)
        let task = Task { try await one.set(2, for: "k") }
        await gate.arrivals()
        try await other.set(3, for: "k")
        #expect(try await memory.get("k") == 3)
        gate.open()
        try await task.value
        #expect(source.writes == (order == 0 ? [3, 2] : [2, 3]))
        #expect(try await memory.get("k") == nil)
        #expect(counter("uncached_writes", one) == 1)
        // Nor does one that is held leave what another has deleted.
        try await memory.set(9, for: "k")
        let next = AsyncGate()
        source.holdNextWrite(after: next)
        let late = Task { try await one.set(4, for: "k") }
        await next.arrivals()
        try await other.delete("k")
        next.open()
        try await late.value
        #expect(try await memory.get("k") == nil)
    }

    @Test("writers of one key take turns, in this process, and one that is cancelled leaves the queue")
    func turns() async throws {
        let cache = cache
        let gate = AsyncGate()
        source.holdNextWrite(before: gate)
        let first = Task { try await cache.set(2, for: "k") }
        await gate.arrivals()
        let second = Task { try await cache.set(3, for: "k") }
        while cache.turns.waiting < 1 { try await nextTurn() }
        let third = Task { try await cache.set(4, for: "k") }
        while cache.turns.waiting < 2 { try await nextTurn() }
        try await cache.set(5, for: "other")
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        gate.open()
        try await first.value
        try await third.value
        #expect(source.writes == [5, 2, 4])
        #expect(try await memory.get("k") == 4)
        #expect(cache.turns.count == 0)
    }

    @Test("a fetch that began before the write does not leave what it has read")
    func fetching() async throws {
        let source = source
        let cached = memory.compose(Source { key in try await source.read(key) })
        let cache = writer(to: cached)
        let gate = AsyncGate()
        source.holdReads(gate)
        let read = Task { try await cache.get("k") }
        await gate.arrivals()
        try await cache.set(2, for: "k")
        #expect(cache.resident("k", at: .coarse)?.value == 2)
        gate.open()
        source.holdReads(nil)
        #expect(try await read.value == 1)
        #expect(try await cache.get("k") == 2)
    }

    @Test("what is forgotten while the source is written is not cached by that write", arguments: [0, 1, 2])
    func forgottenMeanwhile(which: Int) async throws {
        let source = source
        let cache = writer(to: memory.compose(Source { key in try await source.read(key) }))
        let gate = AsyncGate()
        source.holdNextWrite(after: gate)
        let write = Task { try await cache.set(2, for: "k", tags: ["t"]) }
        await gate.arrivals()
        switch which {
        case 0: try await cache.remove("k")
        case 1: try await cache.invalidate(tag: "t")
        default: try await cache.clear()
        }
        gate.open()
        try await write.value
        #expect(cache.resident("k", at: .coarse) == nil)
        #expect(try await cache.get("k") == 2)
    }

    @Test("a lifetime of zero writes and does not cache, also through levels above and transformed")
    func uncached() async throws {
        let cache = cache
        let none = EntryLifetime(freshFor: .zero)
        try await cache.set(1, for: "k")
        try await cache.set(2, for: "k", lifetime: none)
        #expect(source.values == ["k": 2])
        #expect(try await memory.get("k") == nil)
        let above = MemoryLevel<String, Int>(limit: .entries(10)).compose(cache)
        try await above.set(3, for: "k")
        #expect(above.resident("k", at: .coarse)?.value == 3)
        try await above.set(4, for: "k", lifetime: none)
        #expect(source.values == ["k": 4])
        #expect(above.resident("k", at: .coarse) == nil)
        let texts = cache.transformValues(
            TwoWayTransformer<Int, String>({ "\($0)" }, inverse: { Int($0) ?? 0 })
        )
        try await texts.set("5", for: "k")
        #expect(source.values == ["k": 5])
        try await texts.set("6", for: "k", lifetime: none)
        #expect(source.values == ["k": 6])
        #expect(try await memory.get("k") == nil)
        // Of the same type, and another value all the same.
        let doubled = cache.transformValues(TwoWayTransformer<Int, Int>({ 2 * $0 }, inverse: { $0 / 2 }))
        try await doubled.set(14, for: "k", lifetime: none)
        #expect(source.values == ["k": 7])
    }

    @Test("a removal writes nothing, also where values are transformed to optional ones")
    func removalOfOptional() async throws {
        let cache = cache
        let texts = cache.transformValues(
            TwoWayTransformer<Int, String?>({ "\($0)" }, inverse: { $0.flatMap { Int($0) } ?? 0 })
        )
        try await texts.set("5", for: "k")
        try await texts.remove("k")
        #expect(source.values == ["k": 5] && source.writes.count == 1)
        #expect(try await memory.get("k") == nil)
    }

    @Test("reads write and delete nothing, wherever the level stands")
    func reads() async throws {
        let source = source
        let cache = cache.compose(Source { key in try await source.read(key) })
        #expect(try await cache.get("k") == 1)
        #expect(try await memory.get("k") == 1)
        #expect(try await cache.get("none") == nil)
        #expect(try await cache.get("k", .reload) == 1)
        try await cache.remove("k")
        #expect(source.writes.isEmpty && source.values == ["k": 1])
        // What is set there is written.
        try await cache.set(2, for: "k")
        #expect(source.values == ["k": 2])
        #expect(try await cache.get("k") == 2)
        #expect(source.writes.count == 1)
    }

    @Test("what was read is written where it is stored under another key, wherever it came from")
    func copied() async throws {
        let source = source
        let cache = writer(to: memory.compose(Source { key in try await source.read(key) }))
        for key in ["fetched", "hit"] {
            let entry = try #require(try await cache.entry(for: "k", ReadRequest()))
            try await cache.store(entry, for: key)
        }
        #expect(source.values == ["k": 1, "fetched": 1, "hit": 1])
    }

    @Test("a set without a lifetime writes its own key, whatever is forgotten beside it")
    func forgotten() async throws {
        let cache = Composed(
            upper: writer(to: ProbeLevel().normalized()),
            lower: Source<String, Int> { _ in 1 },
            fillWaitLimit: .seconds(600),
            logger: nil,
            rememberedFills: 100
        )
        for number in 0..<200 { _ = try await cache.get("old \(number)") }
        cache.fillGate.voidAll()
        for number in 0..<200 {
            try await cache.set(number, for: "new \(number)", lifetime: EntryLifetime(freshFor: .zero))
        }
        #expect(source.writes.count == 200)
        #expect(source.values.keys.allSatisfy { $0.hasPrefix("new") || $0 == "k" })
    }

    @Test("what is set above a level that is being changed is written, although it is not cached")
    func overtaken() async throws {
        let (level, gate) = (ProbeLevel(), AsyncGate())
        let cache = cache.compose(level)
        level.holdSets(gate)
        let set = Task { try await cache.set(2, for: "k") }
        await gate.arrivals()
        try await cache.remove("k")
        gate.open()
        try await set.value
        #expect(source.values == ["k": 2] && memory.resident("k", at: .now) == nil)
    }

    @Test("a cache that cannot compare is left without the value; one that cannot forget says so")
    func helpless() async throws {
        let level = ProbeLevel(["k": 1])
        let cache = writer(to: level.normalized())
        try await cache.set(2, for: "k")
        #expect(level.values.isEmpty && source.values == ["k": 2])
        level.failRemoves("away")
        let error = await #expect(throws: CacheError.self) { try await cache.set(3, for: "k") }
        #expect(error?.code == .notForgotten && error?.causes.first is ProbeLevel.Failure)
        #expect(source.values == ["k": 3])
        source.fail(.before)
        await #expect(throws: Failure.self) { try await cache.set(4, for: "k") }
    }

    @Test("a writer that uses another such cache is not taken for it")
    func nested() async throws {
        let inner = WrittenSource<Int>(["k": 7])
        let second = MemoryLevel<String, Int>(limit: .entries(10)).writing { try await inner.write($0, $1) }
        let cache = memory.writing { key, _ in try await second.remove(key) }
        try await cache.set(1, for: "k", lifetime: EntryLifetime(freshFor: .zero))
        #expect(inner.writes.isEmpty && inner.values == ["k": 7])
    }

    @Test("is a level like any other")
    func conforms() async {
        let suite = CacheLevelConformance {
            MemoryLevel<String, String>(limit: .entries(1_000)).writing { _, _ in }
        }
        expectNone(await suite.run())
        let above = CacheLevelConformance {
            MemoryLevel<String, String>(limit: .entries(1_000))
                .compose(MemoryLevel<String, String>(limit: .entries(1_000)).writing { _, _ in })
        }
        expectNone(await above.run())
    }
}
