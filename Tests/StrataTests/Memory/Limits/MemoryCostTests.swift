import Foundation
import Strata
import Testing

@Suite("Costs in memory")
struct MemoryCostTests {
    @Test("A141 without a limit it is 50 MiB of cost, as values tell it when they are set; replacing replaces the cost")
    func standard() async throws {
        let level = MemoryLevel<String, [UInt8]>()
        #expect(level.limit.total == 50 * 1024 * 1024)
        try await level.set([UInt8](repeating: 0, count: 1000), for: "a")
        #expect(level.statistics.weight == 1000)
        try await level.set([UInt8](repeating: 0, count: 10), for: "a")
        #expect(level.statistics.weight == 10)
        try await level.set([UInt8](repeating: 0, count: 500), for: "a")
        #expect(level.statistics.weight == 500)
        let error = await #expect(throws: CacheError.self) {
            try await level.set([UInt8](repeating: 0, count: 50 * 1024 * 1024 + 1), for: "b")
        }
        #expect(error?.code == .tooLarge)
        try await level.set([UInt8](repeating: 0, count: 50 * 1024 * 1024), for: "b")
        #expect(level.statistics.weight <= 50 * 1024 * 1024)
    }

    @Test("A141 a value that grows makes others leave, and not itself while it fits")
    func growing() async throws {
        let level = MemoryLevel<Int, Int>(limit: .cost(100) { $0 })
        for key in 0..<10 { try await level.set(10, for: key) }
        try await level.set(60, for: 3)
        #expect(try await level.get(3) == 60)
        #expect(level.statistics.weight <= 100)
        #expect(level.statistics.entries == 5)
    }

    @Test("keys that do not exist cannot fill memory with as many entries as the limit has bytes")
    func absences() async throws {
        for (limit, weight) in [(100, 1), (8 << 20, 8), (1 << 40, 256)] {
            let level = MemoryLevel<Int, [UInt8]>(limit: .cost(limit) { $0.count })
            try await level.store(Entry(.absent, freshUntil: .distantFuture), for: 1)
            #expect(level.statistics.weight == weight)
        }
        let counted = MemoryLevel<Int, [UInt8]>(limit: .entries(1 << 24))
        try await counted.store(Entry(.absent, freshUntil: .distantFuture), for: 1)
        #expect(counted.statistics.weight == 1)
    }

    @Test("A142 keys are told apart by what they are, not by a text form")
    func customKey() async throws {
        struct Key: Hashable, CustomStringConvertible {
            let number: Int
            var description: String { "the same" }
        }
        let level = MemoryLevel<Key, Int>(limit: .entries(10))
        try await level.set(1, for: Key(number: 1))
        try await level.set(2, for: Key(number: 2))
        #expect(try await level.get(Key(number: 1)) == 1)
        #expect(try await level.get(Key(number: 2)) == 2)
    }

    @Test("A143 bytes cost their count, text its characters, URLs those of their absolute form, scalars one")
    func costs() {
        #expect([UInt8](repeating: 0, count: 7).cost == 7)
        #expect(Data(repeating: 0, count: 9).cost == 9)
        #expect("héllo".cost == 5)
        #expect(URL(string: "page", relativeTo: URL(string: "https://example.org/a/"))!.cost == 26)
        #expect(42.cost == 1 && Int64.max.cost == 1 && UInt8(200).cost == 1)
        #expect(3.5.cost == 1 && Float(1).cost == 1 && true.cost == 1)
        #expect(Date().cost == 1 && UUID().cost == 1)
    }

    @Test("A143 a type of the user's tells its own cost")
    func ownCost() async throws {
        struct Picture: Costed {
            let width: Int
            let height: Int
            var cost: Int { width * height }
        }
        let level = MemoryLevel<Int, Picture>(limit: .cost(100))
        try await level.set(Picture(width: 5, height: 9), for: 1)
        #expect(level.statistics.weight == 45)
    }

    @Test("A144 Codable values cost their encoded size, or what a closure says")
    func encodedSize() async throws {
        struct Point: Codable {
            var x = 1.5
        }
        let level = MemoryLevel<Int, Point>(limit: .encodedBytes(1000))
        try await level.set(Point(), for: 1)
        #expect(level.statistics.weight == 9)
        await #expect(throws: CacheError.self) { try await level.set(Point(x: .nan), for: 2) }
        let bytes = MemoryLevel<Int, [UInt8]>(limit: .encodedBytes(1000, by: .bytes))
        try await bytes.set([1, 2, 3], for: 1)
        #expect(bytes.statistics.weight == 3)
        let own = MemoryLevel<Int, Point>(limit: .cost(1000) { _ in 77 })
        try await own.set(Point(), for: 1)
        #expect(own.statistics.weight == 77)
    }
}
