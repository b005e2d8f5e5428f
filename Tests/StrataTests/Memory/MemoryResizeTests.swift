import Synchronization
import Testing

@testable import Strata

@Suite("A memory level whose limit changes")
struct MemoryResizeTests {
    @Test("a smaller limit sends away what exceeds it at once, and tells so")
    func smaller() async throws {
        let log = RemovalLog<Int, Int>()
        let level = MemoryLevel<Int, Int>(limit: .entries(100), onRemoval: log.add)
        for key in 0..<100 { try await level.set(key, for: key) }
        level.resize(to: 10)
        #expect(level.statistics.entries == 10)
        #expect(level.limit.total == 10)
        #expect(log.causes == Array(repeating: .size, count: 90))
        for key in 100..<200 { try await level.set(key, for: key) }
        #expect(level.statistics.entries == 10)
    }

    @Test("a larger limit holds, however small the level was made", arguments: [0, 1, 10, 1_000])
    func larger(first: Int) async throws {
        let level = MemoryLevel<Int, Int>(limit: .entries(first))
        for key in 0..<20 { try await level.set(key, for: key) }
        level.resize(to: 20_000)
        for key in 0..<20_000 { try await level.set(key, for: key) }
        #expect(level.statistics.entries == 20_000)
        for key in 0..<20_000 { #expect(try await level.get(key) == key) }
        for key in 20_000..<30_000 { try await level.set(key, for: key) }
        #expect(level.statistics.entries == 20_000)
    }

    @Test("the gate above has room for the largest limit that there was, and no more for being told again")
    func toAndFro() {
        let memory = MemoryLevel<Int, Int>(limit: .entries(50))
        let cache = memory.compose(ClosureFetcher { (key: Int) in key })
        for _ in 0..<10 {
            memory.resize(to: 100)
            memory.resize(to: 50)
        }
        #expect(cache.fillGate.ceiling.load(ordering: .relaxed) == 16 * 100)
    }

    @Test("costs are limited by the new total, and one entry too large for it is refused")
    func costs() async throws {
        let level = MemoryLevel<Int, Int>(limit: .cost(100) { $0 })
        try await level.set(60, for: 1)
        level.resize(to: 50)
        #expect(level.statistics.entries == 0)
        await #expect { try await level.set(60, for: 1) } throws: { ($0 as? CacheError)?.code == .tooLarge }
        level.resize(to: 1_000)
        for key in 0..<10 { try await level.set(100, for: key) }
        #expect(level.statistics.weight == 1_000)
    }

    @Test("a level that shares a budget is the budget's to limit")
    func budget() async throws {
        let budget = MemoryBudget(100)
        let level = MemoryLevel<Int, Int>(limit: .share(of: budget))
        level.resize(to: 10)
        for key in 0..<100 { try await level.set(key, for: key) }
        #expect(level.statistics.entries > 10)
        #expect(level.limit.total == 100)
    }

    @Test("switched off, it keeps nothing, and neither a set nor a read of the cache fails for it")
    func off() async throws {
        let below = MemoryLevel<Int, Int>(limit: .entries(100))
        let memory = MemoryLevel<Int, Int>(limit: .entries(100))
        let cache = memory.compose(below.compose(Source { $0 * 2 }))
        #expect(try await cache.get(1) == 2)
        #expect(memory.statistics.entries == 1)
        memory.resize(to: 0)
        #expect(memory.statistics.entries == 0)
        #expect(try await cache.get(1) == 2)
        #expect(try await cache.get(2) == 4)
        try await cache.set(7, for: 3)
        #expect(try await cache.get(3) == 7)
        #expect(try await cache.update(3) { ($0 ?? 0) + 1 } == 8)
        #expect(try await cache.get(3) == 8)
        #expect(memory.statistics.entries == 0)
        #expect(cache.failedFills == 0)
        memory.resize(to: 100)
        #expect(try await cache.get(3) == 8)
        #expect(memory.statistics.entries == 1)
    }

    @Test("readers and writers go on while the limit changes, and it holds in the end")
    func concurrent() async throws {
        let level = MemoryLevel<Int, Int>(limit: .entries(1_000))
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<3 {
                group.addTask {
                    for key in 0..<3_000 {
                        try? await level.set(key, for: key * 3 + writer)
                        if let found = try? await level.get(key) { #expect(found == key / 3) }
                    }
                }
            }
            for _ in 0..<2 {
                group.addTask {
                    for step in 1...200 {
                        level.resize(to: step * 37 % 1_500 + 1)
                        await Task.yield()
                    }
                }
            }
        }
        level.resize(to: 50)
        #expect(level.statistics.entries <= 50)
        for key in 0..<100 { try await level.set(key, for: key) }
        #expect(level.statistics.entries == 50)
    }

    @Test("entries whose keys satisfy a condition go, the others stay, and each is told once")
    func condition() async throws {
        let log = RemovalLog<Int, Int>()
        let level = MemoryLevel<Int, Int>(limit: .entries(1_000), onRemoval: log.add)
        for key in 0..<1_000 { try await level.set(key, for: key) }
        level.removeAll { $0.isMultiple(of: 3) }
        #expect(level.statistics.entries == 666)
        #expect(Set(log.keys) == Set(stride(from: 0, to: 1_000, by: 3)) && log.keys.count == 334)
        #expect(try await level.get(3) == nil)
        #expect(try await level.get(4) == 4)
    }
}
