import Testing

@testable import Strata

@Suite("Hits of memory in a composition", .timeLimit(.minutes(1)))
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
}
