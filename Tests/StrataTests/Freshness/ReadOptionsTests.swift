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

    @Test("stale allowed: whatever there is, at once; it is fetched anew in the background")
    func staleAllowed() async throws {
        try await memory.store(.aged("old", fresh: -1, stale: 60), for: "k")
        let cache = cache
        #expect(try await cache.get("k", .stale) == "old")
        await cache.drain(within: .seconds(30))
        #expect(try await cache.get("k") == "value")
        #expect(source.calls == 1)
    }

    @Test("A209 A204 reload: the source's value replaces a fresh one; when it fails the old one stays, or not")
    func reload() async throws {
        try await memory.store(.aged("old", fresh: 60, stale: 60), for: "k")
        let cache = cache
        #expect(try await cache.get("k", .reload) == "value")
        #expect(try await cache.get("k") == "value")
        source.fail()
        #expect(try await cache.get("k", .reload) == "value")
        await #expect(throws: ToldSource.Failure.self) { try await cache.get("k", .reload.with(staleness: .never)) }
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
}
