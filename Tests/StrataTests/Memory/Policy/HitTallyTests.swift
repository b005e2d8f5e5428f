import Testing

@testable import Strata

@Suite("Which entries are hit most")
struct HitTallyTests {
    @Test("counts begin with the first question; the most often hit come first, then what memory would keep longest")
    func ranked() async throws {
        let memory = MemoryLevel<String, Int>(limit: .entries(100))
        for (number, key) in ["a", "b", "c", "d"].enumerated() { try await memory.set(number, for: key) }
        for _ in 0..<30 { _ = try await memory.get("d") }
        #expect(Set(memory.mostHit(4)) == ["a", "b", "c", "d"])
        for (key, hits) in [("a", 10), ("b", 20), ("c", 5)] { for _ in 0..<hits { _ = try await memory.get(key) } }
        #expect(memory.mostHit(3) == ["b", "a", "c"])
        #expect(memory.mostHit(9) == ["b", "a", "c", "d"])
        try await memory.remove("b")
        #expect(Set(memory.mostHit(9)) == ["a", "c", "d"])
        #expect(memory.mostHit(0) == [])
        // What was hit once fades with each question.
        for _ in 0..<9 { _ = memory.mostHit(1) }
        for _ in 0..<3 { _ = try await memory.get("d") }
        #expect(memory.mostHit(1) == ["d"])
    }

    @Test("slots with more than their share are found among many others, and no count is too high")
    func frequent() {
        var tally = HitTally(capacity: 16)
        var hits: [UInt32] = []
        for number in 0..<10_000 as Range<UInt32> {
            hits.append(number % 5 == 0 ? 1 : number % 7 == 0 ? 2 : 1_000 + number)
        }
        tally.add(hits) { $0 }
        #expect(tally.ranked { $0 }.prefix(2) == [1, 2])
    }

    @Test("it is over when no question comes for long")
    func over() {
        var tally = HitTally(capacity: 16, hits: 100)
        tally.add([UInt32](repeating: 1, count: 99)) { _ in 7 }
        #expect(!tally.isOver)
        tally.add([1]) { _ in 7 }
        #expect(tally.isOver)
        // The slot has another key by now.
        #expect(tally.ranked(hits: 100) { _ in 8 } == [])
        #expect(!tally.isOver)
    }
}
