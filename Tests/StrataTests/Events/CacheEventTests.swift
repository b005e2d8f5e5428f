import StrataTesting
import Testing

@testable import Strata

@Suite("What observers of a cache are told", .timeLimit(.minutes(5)))
struct CacheEventTests {
    private struct Down: Error {}

    /// What an event says, as `memory miss (absent) k`.
    private func text(_ event: CacheEvent) -> String {
        "\(event.level) \(event.kind)\(event.reason.map { " (\($0))" } ?? "")\((event.key as? String).map { " \($0)" } ?? "")"
    }

    /// The next events of a sequence.
    private func next(_ count: Int, _ iterator: inout AsyncStream<CacheEvent>.Iterator) async -> [String] {
        var texts: [String] = []
        while texts.count < count, let event = await iterator.next(isolation: #isolation) { texts.append(text(event)) }
        return texts
    }

    @Test("a read that fetches: a miss with its reason, the fetch from its begin to its end; then hits")
    func fetched() async throws {
        let cache = MemoryLevel<String, Int>(limit: .entries(10)).compose(Source<String, Int> { _ in 1 })
        let events = cache.observe(.all)
        var iterator = events.makeAsyncIterator()
        _ = try await cache.get("k")
        #expect(await next(3, &iterator) == ["memory miss (absent) k", "source fetch began k", "source fetch ended k"])
        // By the short way, by the long one, and among others: each is told once.
        _ = try await cache.get("k")
        _ = try await cache.getWithTrace("k")
        _ = try await cache.get(["k"])
        #expect(await next(3, &iterator) == Array(repeating: "memory hit k", count: 3))
        try await cache.remove("k")
        _ = try await cache.get("k")
        #expect(await next(1, &iterator) == ["memory miss (removed) k"])
        #expect(events.dropped == 0)
    }

    @Test("a level by itself tells its hits, too, and a level between others none twice")
    func nested() async throws {
        let level = MemoryLevel<String, Int>(limit: .entries(10))
        var alone = level.observe(.all).makeAsyncIterator()
        _ = try await level.get("k")
        try await level.set(1, for: "k")
        _ = try await level.get("k")
        _ = try await level.getWithTrace("k")
        #expect(await next(3, &alone) == ["memory miss (absent) k", "memory hit k", "memory hit k"])
        let upper = MemoryLevel<String, Int>(limit: .entries(10))
        let middle = MemoryLevel<String, Int>(limit: .entries(10))
        for cache in [
            AnyLevel(upper.compose(middle).compose(Source { _ in 1 })),
            AnyLevel(upper.compose(middle.compose(Source { _ in 1 }))),
            // The pair is filled as a level of its own: a read waits for that, however busy the machine is.
            AnyLevel(AnyLevel(upper.compose(middle)).compose(Source { _ in 1 }, fillWaitLimit: .seconds(600))),
        ] {
            try await cache.remove("k")
            var events = cache.observe([.hit, .miss, .fetchEnded]).makeAsyncIterator()
            _ = try await cache.get("k")
            let misses = ["memory miss (absent) k", "memory miss (absent) k"]
            let first = await next(3, &events).map { $0.replacing("removed", with: "absent") }
            #expect(first == misses + ["source fetch ended k"])
            _ = try await cache.get("k")
            _ = try await cache.getWithTrace("k")
            try await upper.remove("k")
            _ = try await cache.getWithTrace("k")
            #expect(
                await next(4, &events) == ["memory hit k", "memory hit k", "memory miss (removed) k", "memory hit k"]
            )
        }
    }

    @Test("a fetch that fails is told with its error and its duration, and without its text")
    func failed() async throws {
        let cache = MemoryLevel<String, Int>(limit: .entries(10)).compose(Source<String, Int> { _ in throw Down() })
        var events = cache.observe([.fetchEnded]).makeAsyncIterator()
        await #expect(throws: Down.self) { try await cache.get("k") }
        let event = try #require(await events.next())
        #expect(event.error == "Down" && event.duration != nil)
        #expect(
            event.description.hasPrefix("source: fetch ended, failed with Down in ")
                && !event.description.contains(" k")
        )
    }

    @Test("what leaves for want of room or time is told; what is removed or replaced is not")
    func evicted() async throws {
        let time = HandMovedTime()
        let level = MemoryLevel<String, Int>(
            limit: .entries(2),
            lifetime: .seconds(5),
            time: time.clock,
            isTended: false
        )
        var events = level.observe([.evicted]).makeAsyncIterator()
        try await level.set(1, for: "a")
        try await level.set(2, for: "a")
        try await level.remove("a")
        try await level.set(1, for: "a")
        try await level.clear()
        for key in ["a", "b", "c"] { try await level.set(1, for: key) }
        let first = try #require(await events.next())
        #expect(first.kind == .evicted && first.reason == .evicted && first.level == .memory)
        time.advance(by: .seconds(6))
        _ = level.sweep(at: time.now)
        let expired = await next(2, &events)
        #expect(expired.allSatisfy { $0.hasPrefix("memory evicted (expired)") })
        try await level.set(1, for: "d")
        level.relieve(.critical)
        #expect(await next(1, &events) == ["memory evicted (evicted) d"])
        try await level.set(1, for: "e")
        level.resize(to: 0)
        #expect(await next(1, &events) == ["memory evicted (evicted) e"])
    }

    @Test("a level that is not filled tells why")
    func refused() async throws {
        let gate = AsyncGate()
        let source = Source<String, Int> { _ in
            try await gate.pass()
            return 1
        }
        let cache = MemoryLevel<String, Int>(limit: .entries(10)).compose(source)
        var events = cache.observe([.storeRefused]).makeAsyncIterator()
        let read = Task { try await cache.get("k") }
        await gate.arrivals()
        try await cache.remove("k")
        gate.open()
        _ = try await read.value
        #expect(await next(1, &events) == ["memory store refused (changed meanwhile) k"])
        let small = MemoryLevel<String, Int>(limit: .cost(10) { _ in 11 })
        var refusals = small.observe([.storeRefused]).makeAsyncIterator()
        try? await small.set(1, for: "k")
        #expect(await next(1, &refusals) == ["memory store refused (too large) k"])
    }

    @Test("of a buffer that is full nothing is lost but what comes then, and that is counted")
    func full() async throws {
        let level = MemoryLevel<String, Int>(limit: .entries(10))
        let events = level.observe([.miss], buffering: 3)
        for number in 0..<10 { _ = try await level.get("\(number)") }
        #expect(events.dropped == 7)
        var iterator = events.makeAsyncIterator()
        #expect(await next(3, &iterator) == (0..<3).map { "memory miss (absent) \($0)" })
        _ = try await level.get("x")
        #expect(await next(1, &iterator) == ["memory miss (absent) x"])
        #expect(events.dropped == 7)
    }

    @Test(
        "observers have their own kinds and buffers, and end by themselves: with the loop, the task, or the last reference"
    )
    func ends() async throws {
        let level = MemoryLevel<String, Int>(limit: .entries(10))
        let hub = try #require(level.label.hubs.first)
        #expect(!hub.wants(.miss))
        let hits = level.observe([.hit])
        var misses: CacheEvents? = level.observe([.miss])
        #expect(hub.wants(.hit) && hub.wants(.miss) && !hub.wants(.evicted))
        #expect(misses?.dropped == 0)
        misses = nil
        #expect(!hub.wants(.miss) && hub.wants(.hit))
        let loop = Task {
            for await _ in hits { break }
        }
        try await level.set(1, for: "k")
        _ = try await level.get("k")
        await loop.value
        // The sequence is still here, and its stream begun.
        let cancelled = Task { for await _ in level.observe([.miss]) {} }
        while !hub.wants(.miss) { try await nextTurn() }
        cancelled.cancel()
        await cancelled.value
        #expect(!hub.wants(.miss))
        withExtendedLifetime(hits) {}
    }

    @Test("each kind has a name and a bit of its own; hits are left out where nothing is said")
    func kinds() {
        let kinds = CacheEvent.Kind.allCases
        #expect(Set(kinds.map(\.description)).count == kinds.count)
        #expect(Set(kinds.map(\.bit)).count == kinds.count)
        #expect(Set<CacheEvent.Kind>.allButHits.count == kinds.count - 1)
        #expect(!Set<CacheEvent.Kind>.allButHits.contains(.hit))
    }
}
