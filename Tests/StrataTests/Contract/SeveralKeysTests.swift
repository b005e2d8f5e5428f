import StrataTesting
import Testing

@testable import Strata

@Suite("Several keys in one call, and a look into memory", .timeLimit(.minutes(5)))
struct SeveralKeysTests {
    struct Failure: Error, Equatable { var key: Int }

    /// Holds removals until its gate opens, and counts them.
    private final class Held: Sendable {
        let gate = AsyncGate()
        let log = CallLog()

        var level: ClosureLevel<Int, String> {
            ClosureLevel { _ in
                nil
            } set: { _, _ in
            } remove: { [self] key in
                log.add("\(key)")
                try await gate.pass()
            }
        }
    }

    private let memory = MemoryLevel<Int, String>(limit: .entries(1_000))

    @Test("values are set under their keys, with the lifetime and the tags that are named, and removed")
    func values() async throws {
        let expected: [String?] = (0..<200).map { "\($0)" }
        try await memory.set(Dictionary(uniqueKeysWithValues: (0..<200).map { ($0, "\($0)") }))
        #expect(try await memory.get(Array(0..<200)) == expected)
        #expect(try await memory.remove(Array(0..<150)) == .done)
        #expect(try await memory.get([0, 149, 150]) == [nil, nil, "150"])

        try await memory.set([1: "a", 2: "b"], lifetime: EntryLifetime(freshFor: .seconds(60)), tags: ["t"])
        let entry = try #require(try await memory.entry(for: 1, ReadRequest()))
        #expect(entry.tags == ["t"] && entry.freshUntil < MonotonicInstant.now.advanced(by: .seconds(90)))
        try await memory.set([3: "c"], tags: ["t"])
        try await memory.invalidate(tag: "t")
        #expect(try await memory.get([1, 2, 3, 150]) == [nil, nil, nil, "150"])
        try await memory.set([150: "d"], lifetime: EntryLifetime(freshFor: .zero))
        #expect(try await memory.get(150) == nil)

        try await memory.set([:])
        try await memory.remove([])
        let many = (0...TagLimits.tagsPerEntry).map { "tag \($0)" }
        await #expect(throws: CacheError.self) { try await memory.set([7: "e"], tags: many) }
        #expect(try await memory.get(7) == nil)
    }

    @Test("all keys are tried when some fail, and the error is that of the first in their order")
    func failures() async throws {
        let log = CallLog()
        let level = ClosureLevel<Int, String> { _ in
            nil
        } set: { _, key in
            log.add("set \(key)")
            if key == 70 { throw Failure(key: key) }
        } remove: { key in
            log.add("remove \(key)")
            if [3, 70, 100].contains(key) { throw Failure(key: key) }
        }
        let keys = Array((0..<130).reversed())
        await #expect(throws: Failure(key: 100)) { try await level.remove(keys) }
        #expect(Set(log.calls) == Set(keys.map { "remove \($0)" }))
        let values = Dictionary(uniqueKeysWithValues: keys.map { ($0, "v") })
        await #expect(throws: Failure(key: 70)) { try await level.set(values) }
        #expect(log.calls.count == 260)
    }

    @Test("sixty-four calls are under way at once; one that is cancelled begins no further ones")
    func bound() async throws {
        let held = Held()
        let level = held.level
        let task = Task { try await level.remove(Array(0..<200)) }
        await held.gate.arrivals(64)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(held.log.calls.count == 64)
        held.gate.open()
        #expect(try await level.remove(Array(0..<200)) == .done)
        #expect(held.log.calls.count == 264)
    }

    @Test("a key that is a list is one key, and a list of such keys is several")
    func lists() async throws {
        let batch = memory.allBatch()
        try await batch.set([[1, 2]: ["a", "b"], [3, 4]: ["c", "d"], [5]: ["e"]])
        try await batch.remove([1, 2])
        #expect(try await memory.get([1, 2, 3, 4, 5]) == [nil, nil, "c", "d", "e"])
        try await batch.remove([[3], [4]])
        #expect(try await memory.get([3, 4, 5]) == [nil, nil, "e"])
        let bytes = MemoryLevel<[UInt8], [UInt8]>(limit: .entries(10))
        try await bytes.set([1], for: [2])
        try await bytes.set([[3]: [4]])
        try await bytes.remove([2])
        #expect(bytes.peek([2]) == nil && bytes.peek([3]) == [4])
    }

    @Test("a mode is that of every key, and without one that of the call around it counts")
    func modes() async throws {
        let log = CallLog()
        let inner = RemovalLevel(log)
        #expect(try await inner.remove([1, 2]) == .done)
        #expect(try await inner.remove([1, 2], .deferred) == .deferred)
        let outcome = try await RemovalCall.run(.deferred) { try await inner.remove([3]) }
        #expect(outcome == .deferred)
        #expect(log.calls == ["none", "none", "deferred", "deferred", "deferred"])
    }

    @Test("a look finds what memory has and is fresh, asks nothing below, and counts only what it finds")
    func peek() async throws {
        let source = ClosureFetcher<Int, String> { _ in
            Issue.record("asked")
            return "x"
        }
        let cache = memory.compose(source)
        try await cache.set("a", for: 1)
        let past = MonotonicInstant.coarse.advanced(by: .seconds(-1))
        let stale = Entry<String>(.value("s"), freshUntil: past, staleUntil: past.advanced(by: .seconds(600)))
        try await memory.store(stale, for: 2)
        try await memory.store(Entry(.absent), for: 3)
        let before = memory.statistics
        #expect(cache.peek(1) == "a")
        for key in 2...4 { #expect(cache.peek(key) == nil) }
        let after = memory.statistics
        #expect(after.hits == before.hits + 1 && after.misses == before.misses)
        #expect(source.peek(1) == nil)
        #expect(memory.allBatch().peek([1]) == nil)
    }
}

/// Notes the mode of each removal, and keeps those that it may.
private struct RemovalLevel: CacheLevel {
    let log: CallLog

    init(_ log: CallLog) {
        self.log = log
    }

    func entry(for key: Int, _ request: ReadRequest) async throws -> Entry<Int>? { nil }

    func store(_ entry: Entry<Int>, for key: Int) async throws {}

    func remove(_ key: Int) async throws {
        let call = RemovalCall.current
        log.add(call?.mode.map { "\($0)" } ?? "none")
        if call?.mode == .deferred { call?.isKept() }
    }

    func removeAll() async throws {}
}
