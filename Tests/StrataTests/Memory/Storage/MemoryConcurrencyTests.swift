import Foundation
import Strata
import StrataTesting
import Testing

@Suite("A memory level under a mixed load", .timeLimit(.minutes(5)))
struct MemoryConcurrencyTests {
    /// How long, in seconds: a minute is for runs by hand (`STRATA_MEMORY_SECONDS=60`).
    private static let seconds =
        ProcessInfo.processInfo.environment["STRATA_MEMORY_SECONDS"].flatMap(Double.init) ?? 0.3

    /// A value whose parts belong together, on the heap.
    struct Whole: Sendable {
        let key: Int
        let parts: [Int]

        init(_ key: Int, _ number: Int) {
            self.key = key
            parts = [key, number, key &+ number]
        }

        var isWhole: Bool { parts.count == 3 && parts[0] == key && parts[2] == parts[0] &+ parts[1] }
    }

    @Test("Eight tasks tear nothing, mix up nothing, and keep within the limit", arguments: [64, 5000])
    func mixed(limit: Int) async throws {
        let left = Locked(0)
        let level = MemoryLevel<Int, Whole>(
            limit: .cost(limit * 3) { $0.parts.count },
            lifetime: .milliseconds(250),
            idleLifetime: .milliseconds(200)
        ) { removal in
            if removal.value?.isWhole != true { Issue.record("a torn value left") }
            left.withLock { $0 += 1 }
        }
        let end = MonotonicInstant.now.advanced(by: .seconds(Self.seconds))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask { try await Self.work(level, task, limit, until: end) }
            }
            try await group.waitForAll()
        }
        // What expires leaves in the background, and is told of a moment later.
        var statistics = level.statistics
        while left.withLock({ $0 }) != statistics.insertions - statistics.entries {
            try await nextTurn()
            statistics = level.statistics
        }
        #expect(statistics.weight <= limit * 3)
        #expect(statistics.weight == statistics.entries * 3)
        #expect(level.contents.count(where: { _ in true }) <= statistics.entries)
    }

    private static func work(
        _ level: MemoryLevel<Int, Whole>,
        _ task: Int,
        _ limit: Int,
        until end: MonotonicInstant
    ) async throws {
        var random = TestRandom(seed: UInt64(task))
        var number = 0
        while number % 64 != 0 || MonotonicInstant.now < end {
            number += 1
            let key = Int.random(in: 0..<limit * 2, using: &random)
            switch Int.random(in: 0..<1000, using: &random) {
            case 0..<600:
                if let value = try await level.get(key) { #expect(value.key == key && value.isWhole) }
            case 600..<650:
                if let value = try await level.entry(for: key, ReadRequest())?.value {
                    #expect(value.key == key && value.isWhole)
                }
            case 650..<900: try await level.set(Whole(key, number), for: key)
            case 900..<950:
                let entry = Entry(.value(Whole(key, number)), version: .random(), tags: ["a"])
                try await level.store(entry, for: key)
            case 950..<990: try await level.remove(key)
            case 990..<994: #expect(level.statistics.weight <= limit * 3)
            case 994..<996: #expect(level.hottest(5).count <= 5)
            case 996: level.shed(0.1)
            case 997: #expect(level.contents.allSatisfy { $0.value?.isWhole == true })
            case 998: if number % 50 == 0 { level.relieve(.critical) }
            default: if number % 50 == 0 { try await level.removeAll() }
            }
        }
    }
}
