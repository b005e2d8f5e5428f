import StrataTesting
import Testing

@testable import Strata

@Suite("Taking a value out")
struct TakeTests {
    private let memory = MemoryLevel<String, Int>(limit: .entries(100))

    @Test("the value is returned and gone; what is none stays as it is, and what may be served as stale is one")
    func values() async throws {
        let past = MonotonicInstant.coarse.advanced(by: .seconds(-1))
        let later = past.advanced(by: .seconds(600))
        try await memory.set(1, for: "k")
        #expect(try await memory.take("k") == 1)
        #expect(try await memory.entry(for: "k", ReadRequest()) == nil)
        #expect(try await memory.take("k") == nil)
        try await memory.store(Entry(.value(2), freshUntil: past, staleUntil: later), for: "stale")
        #expect(try await memory.take("stale") == 2)
        #expect(try await memory.take("stale") == nil)
        try await memory.store(Entry(.absent), for: "absent")
        #expect(try await memory.take("absent") == nil)
        #expect(try await memory.entry(for: "absent", ReadRequest()) != nil)
    }

    @Test("of eight callers over two memories with one level below, one gets the value")
    func concurrent() async throws {
        let lower = MemoryLevel<String, Int>(limit: .entries(100))
        let other = MemoryLevel<String, Int>(limit: .entries(100))
        let caches = [memory.compose(lower), other.compose(lower)]
        for round in 0..<20 {
            for cache in caches { try await cache.set(round, for: "k") }
            let answers = try await withThrowingTaskGroup(of: Int?.self) { group in
                for task in 0..<8 {
                    let cache = caches[task % 2]
                    group.addTask { try await cache.take("k", within: .seconds(60)) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.compactMap { $0 } == [round])
            #expect(try await lower.get("k") == nil)
        }
    }

    @Test("above a source the value in memory is taken, and the source is not asked")
    func overSource() async throws {
        let cache = memory.compose(
            ClosureFetcher<String, Int> { _ in
                Issue.record("asked")
                return 9
            }
        )
        try await cache.set(1, for: "k")
        #expect(try await cache.take("k") == 1)
        #expect(try await cache.take("k") == nil)
    }
}
