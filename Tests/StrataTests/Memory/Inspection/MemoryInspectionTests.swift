import Strata
import Testing

@Suite("Inspection of a memory level")
struct MemoryInspectionTests {
    @Test("Hits and misses are counted, however a key was asked for")
    func counts() async throws {
        let level = MemoryLevel<Int, Int>(limit: .entries(100))
        try await level.set(1, for: 1)
        for _ in 0..<3 { _ = try await level.get(1) }
        _ = try await level.entry(for: 1, ReadRequest())
        _ = try await level.get(2)
        _ = try await level.entries(for: [1, 2, 3], ReadRequest())
        let statistics = level.statistics
        #expect(statistics.hits == 5)
        #expect(statistics.misses == 3)
        #expect(statistics.hitRatio == 5.0 / 8)
        #expect(MemoryStatistics().hitRatio == 0)
    }

    @Test("The hottest keys are those that are asked for, the coldest those that are not")
    func hottest() async throws {
        let level = MemoryLevel<Int, Int>(limit: .entries(100))
        for key in 0..<100 { try await level.set(key, for: key) }
        for _ in 0..<20 { for key in 40..<50 { _ = try await level.get(key) } }
        let hottest = Set(level.hottest(30))
        #expect(hottest.isSuperset(of: 40..<50))
        #expect(Set(level.coldest(50)).isDisjoint(with: 40..<50))
        #expect(level.hottest(0).isEmpty && level.hottest(-1).isEmpty)
        #expect(level.hottest(1000).count == 100)
        let frequencies = level.contents.filter { (40..<50).contains($0.key) }.map(\.frequency)
        #expect(frequencies.allSatisfy { $0 > 1 })
    }

    @Test("The oldest keys are those that were stored first; replacing makes young")
    func oldest() async throws {
        let time = HandMovedTime()
        let level = MemoryLevel<Int, Int>(limit: .entries(100), time: time.clock, isTended: false)
        for key in 0..<10 {
            try await level.set(key, for: key)
            time.advance(by: .seconds(5))
        }
        try await level.set(0, for: 0)
        #expect(level.oldest(3) == [1, 2, 3])
        #expect(level.oldest(100).last == 0)
        #expect(level.oldest(0).isEmpty)
        let ages = Dictionary(uniqueKeysWithValues: level.contents.map { ($0.key, $0.age) })
        #expect(ages[1].map { $0 > .seconds(42) && $0 < .seconds(48) } == true)
    }

    @Test("A look at all entries sees those that stay exactly once, while others come and go")
    func iteration() async throws {
        let level = MemoryLevel<Int, String>(limit: .cost(100_000) { $0.count })
        for key in 0..<1000 { try await level.set("ten  bytes", for: key) }
        var seen: [Int: Int] = [:]
        for (number, item) in level.contents.enumerated() {
            seen[item.key, default: 0] += 1
            #expect(item.weight == 10 && item.freshUntil == .distantFuture)
            // Writers are not kept out: these would wait for ever.
            try await level.set("new", for: 100_000 + number)
            try await level.remove(500 + number)
            if number > 200 { break }
        }
        for item in level.contents { seen[item.key, default: 0] += 1 }
        for key in 0..<500 { #expect(try #require(seen[key]) >= 1) }
        #expect(Set(level.contents.map(\.key)).count == level.statistics.entries)
        #expect(level.contents.reduce(0) { $0 + $1.weight } == level.statistics.weight)
    }
}
