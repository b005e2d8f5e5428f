import Strata
import Testing

@Suite("Levels that hear of changes, anywhere in a composition")
struct NestedGateTests {
    /// A read waits for a level in the middle, however long filling it takes on a busy machine.
    private static let patience = Duration.seconds(600)

    private let memory = MemoryLevel<String, Int>(limit: .entries(8))
    private let gated = GatedLevel()
    private let source = ProbeLevel(["k": 1])

    @Test("a change made elsewhere in a level between two others reaches the memory above")
    func hearingInTheMiddle() async throws {
        let cache = memory.compose(gated).compose(source, fillWaitLimit: Self.patience)
        #expect(try await cache.get("k") == 1)
        #expect(gated.values == ["k": 1])
        gated.changeElsewhere(2, for: "k")
        #expect(try await cache.get("k") == 2)
        gated.changeElsewhere(3, for: "k")
        #expect(try await cache.get("k") == 3)
        #expect(source.gets == 1)
    }

    @Test("what was filled or set above such a level is kept: the second read stops there")
    func keptAboveTheMiddle() async throws {
        let cache = memory.compose(gated).compose(source, fillWaitLimit: Self.patience)
        #expect(try await cache.get("k") == 1)
        #expect(memory.resident("k", at: .now) != nil)
        #expect(cache.resident("k", at: .now)?.value == 1)
        try await cache.set(5, for: "j")
        #expect(cache.resident("j", at: .now)?.value == 5)
        gated.changeElsewhere(6, for: "j")
        #expect(cache.resident("j", at: .now) == nil)
        #expect(try await cache.get("j") == 6)
        #expect(cache.resident("j", at: .now)?.value == 6)
    }

    @Test("a set that the level in the middle has refused is not kept above it with a live ticket")
    func refusedInTheMiddle() async throws {
        let cache = memory.compose(gated).compose(source, fillWaitLimit: Self.patience)
        gated.failWrites(true)
        await #expect(throws: (any Error).self) { try await cache.set(5, for: "k") }
        gated.failWrites(false)
        gated.changeElsewhere(7, for: "k")
        #expect(try await cache.get("k") == 7)
    }

    @Test("a pair that hears of changes, above another level: what it has from before is served from it")
    func hearingPairAbove() async throws {
        gated.changeElsewhere(9, for: "k")
        let cache = memory.compose(gated).normalized().compose(source, fillWaitLimit: Self.patience)
        for _ in 0..<3 { #expect(try await cache.get("k") == 9) }
        #expect(source.gets == 0)
        gated.changeElsewhere(8, for: "k")
        #expect(try await cache.get("k") == 8)
        #expect(cache.resident("k", at: .now)?.value == 8)
    }

    @Test("a pair of memories above a level that hears of changes")
    func memoriesAbove() async throws {
        let second = MemoryLevel<String, Int>(limit: .entries(8))
        let cache = memory.compose(second).normalized().compose(gated, fillWaitLimit: Self.patience)
        gated.changeElsewhere(1, for: "k")
        #expect(try await cache.get("k") == 1)
        try await memory.remove("k")
        #expect(try await cache.get("k") == 1)
        #expect(gated.reads == ["k"])
        gated.changeElsewhere(2, for: "k")
        #expect(try await cache.get("k") == 2)
        try await cache.remove("k")
        #expect(try await cache.get("k") == nil)
    }

    @Test("memory above a pair above another level")
    func memoryAboveNested() async throws {
        let second = MemoryLevel<String, Int>(limit: .entries(8))
        let pair = second.compose(gated).normalized()
        let cache = memory.compose(pair.compose(source, fillWaitLimit: Self.patience).normalized())
        #expect(try await cache.get("k") == 1)
        #expect(memory.resident("k", at: .now) != nil)
        gated.changeElsewhere(2, for: "k")
        #expect(try await cache.get("k") == 2)
        gated.changeElsewhere(nil, for: "k")
        source.put(3, for: "k")
        #expect(try await cache.get("k") == 3)
    }

    @Test("of two levels that hear of changes, either one's changes are seen above both")
    func twoHear() async throws {
        let lower = GatedLevel(["k": 1])
        let cache = memory.compose(gated.compose(lower, fillWaitLimit: Self.patience))
        #expect(try await cache.get("k") == 1)
        lower.changeElsewhere(2, for: "k")
        #expect(try await cache.get("k") == 2)
        gated.changeElsewhere(3, for: "k")
        #expect(try await cache.get("k") == 3)
        try await cache.set(4, for: "k")
        gated.changeElsewhere(5, for: "k")
        #expect(try await cache.get("k") == 5)
    }

    @Test("several keys at once: the same")
    func batch() async throws {
        let cache = memory.compose(gated).compose(source, fillWaitLimit: Self.patience)
        source.put(2, for: "j")
        #expect(try await cache.get(["k", "j", "none"]) == [1, 2, nil])
        #expect(cache.resident("k", at: .now)?.value == 1)
        gated.changeElsewhere(7, for: "j")
        #expect(try await cache.get(["k", "j", "none"]) == [1, 7, nil])
        #expect(source.calls.filter { $0 == .get("k") || $0 == .get("j") }.count == 2)
    }
}
