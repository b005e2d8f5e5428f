import Testing

@testable import Strata

@Suite("Hits of memory in a composition", .timeLimit(.minutes(5)))
struct ComposedHitTests {
    @Test("what the composition finds void is a miss", arguments: [false, true])
    func void(isBatch: Bool) async throws {
        let memory = MemoryLevel<Int, Int>(limit: .entries(16))
        let cache = memory.compose(ClosureFetcher { (key: Int) in key })
        func read() async throws {
            if isBatch { _ = try await cache.get([1]) } else { _ = try await cache.get(1) }
        }
        func counts() -> [Int] { [memory.statistics.hits, memory.statistics.misses] }
        try await read()
        try await read()
        let before = counts()
        cache.fillGate.void(cache.lower.fingerprint(of: 1))
        try await read()
        #expect(counts() == [before[0], before[1] + 1])
        try await read()
        #expect(counts() == [before[0] + 1, before[1] + 1])
    }

    @Test("so it is where something stands around memory")
    func wrapped() async throws {
        func check<Upper: CacheLevel<Int, Int>>(_ memory: MemoryLevel<Int, Int>, _ upper: Upper) async throws {
            let cache = upper.compose(ClosureFetcher { (key: Int) in key })
            for _ in 0..<2 { #expect(try await cache.get(1) == 1) }
            let (hits, misses) = (memory.statistics.hits, memory.statistics.misses)
            cache.fillGate.void(cache.lower.fingerprint(of: 1))
            #expect(try await cache.get(1) == 1)
            #expect(memory.statistics.hits == hits && memory.statistics.misses == misses + 1, "\(Upper.self)")
        }
        func level() -> MemoryLevel<Int, Int> { MemoryLevel(limit: .entries(16)) }
        let (erased, conditioned, keyed, twice) = (level(), level(), level(), level())
        try await check(erased, erased.normalized())
        try await check(conditioned, conditioned.conditioned { _ in true })
        try await check(keyed, keyed.transformKeys { (key: Int) in key })
        try await check(twice, twice.conditioned { _ in true }.normalized())
    }
}
