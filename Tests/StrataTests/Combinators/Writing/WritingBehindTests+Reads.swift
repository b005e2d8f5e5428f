import StrataTestSupport
import StrataTesting
import Testing

@testable import Strata

/// What is read while writes are on their way.
extension WritingBehindTests {
    @Test("while a write is pending the source is not asked for its key, whatever the cache has lost")
    func reading() async throws {
        let source = source
        // Room for one entry.
        let small = MemoryLevel<String, Int>(limit: .entries(1))
        let cache = writer(to: small.compose(Source { key in try await source.read(key) }))
        let gate = AsyncGate()
        source.holdNextWrite(before: gate)
        try await cache.set(2, for: "k")
        await gate.arrivals()
        try await cache.remove("k")
        #expect(try await cache.get("k") == 2)
        let (value, trace) = try await cache.getWithTrace("k", .reload)
        #expect(value == 2 && trace.origin == .pendingWrite && trace.state == .fresh)
        #expect(try await cache.get(["k", "other"]) == [2, nil])
        #expect(try await cache.get("k", .cached) == 2)
        #expect(source.reads == 1)
        // Memory above keeps nothing of it.
        let above = MemoryLevel<String, Int>(limit: .entries(10)).compose(cache)
        #expect(try await above.get("k") == 2)
        #expect(above.resident("k", at: .coarse) == nil)
        gate.open()
        try await cache.flush()
        #expect(try await cache.get("k") == 2)
        #expect(source.reads == 2)
    }

    @Test("a fetch that began before the write, and a fill from below, do not leave what they have read")
    func fetching() async throws {
        let source = source
        let hold = AsyncGate()
        let cache = writer(to: memory.compose(Source { key in try await source.read(key) }))
        let reads = AsyncGate()
        source.holdReads(reads)
        let read = Task { try await cache.get("k") }
        await reads.arrivals()
        source.holdNextWrite(before: hold)
        try await cache.set(2, for: "k")
        await hold.arrivals()
        reads.open()
        source.holdReads(nil)
        #expect(try await read.value == 1)
        #expect(try await cache.get("k") == 2)
        hold.open()
        try await cache.flush()
        #expect(try await cache.get("k") == 2)
        // A source below the writer fills it, but not while a write of the key is pending.
        let other = MemoryLevel<String, Int>(limit: .entries(10))
        let writer = writer(to: other)
        let filled = writer.compose(Source { key in try await source.read(key) })
        let next = AsyncGate()
        source.holdNextWrite(before: next)
        try await writer.set(3, for: "k")
        await next.arrivals()
        #expect(try await filled.get("k", .reload) == 2)
        #expect(try await filled.get("k") == 3)
        next.open()
        try await writer.flush()
        #expect(try await filled.get("k") == 3)
        try await filled.set(4, for: "k")
        try await writer.flush()
        #expect(try await source.read("k") == 4)
    }

    @Test("a read that has looked before a set does not fill the cache after it", arguments: [false, true])
    func readBeforeSet(isBatch: Bool) async throws {
        let shelf = Shelf()
        let cache = writer(to: shelf.compose(ClosureFetcher { [source] in try await source.read($0) }))
        let written = try await setDuringRead(of: cache, shelf, isBatch: isBatch)
        #expect(shelf.values == ["k": 2])
        written.open()
        try await cache.flush()
        #expect(try await cache.get("k") == 2)
        #expect(shelf.values == ["k": 2])
    }

    @Test("nor does memory above such a level keep it, where that hears of changes", arguments: [false, true])
    func readBeforeSetAbove(isBatch: Bool) async throws {
        let shelf = Shelf(gate: FillGate())
        let cache = writer(
            to: memory.compose(shelf.compose(ClosureFetcher { [source] in try await source.read($0) }))
        )
        let written = try await setDuringRead(of: cache, shelf, isBatch: isBatch)
        #expect(cache.resident("k", at: .coarse)?.value != 1)
        #expect(try await cache.get("k") == 2)
        written.open()
        try await cache.flush()
        #expect(try await cache.get("k") == 2)
    }

    @Test("a level inside that ends by itself as if it were cancelled fails neither reads nor sets")
    func endedInside() async throws {
        let cache = writer(to: Quitter().normalized())
        let written = AsyncGate()
        source.holdNextWrite(before: written)
        try await cache.set(2, for: "k")
        await written.arrivals()
        #expect(try await cache.get("k") == 2)
        #expect(try await cache.get(["k"]) == [2])
        written.open()
        try await cache.flush()
        let level = ClosureLevel<String, Int>(get: { _ in nil }, set: { _, _ in throw CancellationError() })
        let refused = writer(to: level.normalized())
        try await refused.set(3, for: "k")
        try await refused.flush()
        #expect(source.values == ["k": 3] && refused.statistics.uncached == 1)
    }

    /// Sets a key while a read of it has found nothing and not asked the source yet.
    ///
    /// - Returns: What holds the write up.
    private func setDuringRead(
        of cache: WritingBehind<some AtomicLevel<String, Int>>,
        _ shelf: Shelf,
        isBatch: Bool
    ) async throws -> AsyncGate {
        let (looked, written) = (AsyncGate(), AsyncGate())
        shelf.hold(looked)
        let read = Task { isBatch ? try await cache.get(["k"])[0] : try await cache.get("k") }
        await looked.arrivals()
        shelf.hold(nil)
        source.holdNextWrite(before: written)
        try await cache.set(2, for: "k")
        await written.arrivals()
        looked.open()
        #expect(try await read.value == 1)
        return written
    }
}

/// A level that hears of changes, keeps nothing, and ends each read as if its caller were cancelled.
private final class Quitter: CacheLevel {
    let gate: FillGate? = FillGate()

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<Int>? { throw CancellationError() }

    func entries(for keys: [String], _ request: ReadRequest) async throws -> [Entry<Int>?] {
        throw CancellationError()
    }

    func store(_ entry: Entry<Int>, for key: String) async throws {}

    func remove(_ key: String) async throws {}

    func removeAll() async throws {}
}

/// A level that holds a read after it has looked; with a gate one that hears of changes.
private final class Shelf: CacheLevel {
    private let state = Locked<(values: [String: Int], hold: AsyncGate?)>(([:], nil))
    let gate: FillGate?

    init(gate: FillGate? = nil) {
        self.gate = gate
    }

    var values: [String: Int] { state.withLock { $0.values } }

    func hold(_ gate: AsyncGate?) { state.withLock { $0.hold = gate } }

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<Int>? {
        guard request.rights == nil else { return nil }
        let ticket = gate?.ticket(for: fingerprint(of: key)) ?? .none
        let (value, hold) = state.withLock { ($0.values[key], $0.hold) }
        try await hold?.pass()
        return value.map { Entry(.value($0), ticket: ticket) }
    }

    func store(_ entry: Entry<Int>, for key: String) async throws { _ = try await commit(entry, for: key) }

    func commit(_ entry: Entry<Int>, for key: String) async throws -> Ticket? {
        let before = gate?.ticket(for: fingerprint(of: key))
        state.withLock { $0.values[key] = entry.value }
        guard let gate, let before else { return nil }
        return gate.renew(before, for: fingerprint(of: key)) ?? .void
    }

    func remove(_ key: String) async throws {
        state.withLock { $0.values[key] = nil }
        gate?.void(fingerprint(of: key))
    }

    func removeAll() async throws {
        state.withLock { $0.values = [:] }
        gate?.voidAll()
    }
}
