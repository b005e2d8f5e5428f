import Strata
import Testing

@Suite("A budget that levels share")
struct MemoryBudgetTests {
    private func fill(_ level: MemoryLevel<Int, Int>, _ keys: Range<Int>) async throws {
        for key in keys { try? await level.set(1, for: key) }
    }

    @Test("One busy level gets all that the others leave")
    func unused() async throws {
        let budget = MemoryBudget(6400)
        let busy = MemoryLevel<Int, Int>(limit: .share(of: budget))
        let calm = MemoryLevel<Int, Int>(limit: .share(of: budget, atLeast: 640))
        try await fill(busy, 0..<20_000)
        #expect(busy.statistics.entries == 6400 - 640)
        try await fill(calm, 0..<100)
        #expect(calm.statistics.entries == 100)
        #expect(busy.statistics.entries == 6400 - 640)
        #expect(budget.allowances.reduce(0, +) <= 6400)
    }

    @Test("Levels that are all busy come to their fair shares, and never exceed the total on the way")
    func fair() async throws {
        let budget = MemoryBudget(6400)
        let levels = [
            MemoryLevel<Int, Int>(limit: .share(of: budget)),
            MemoryLevel<Int, Int>(limit: .share(of: budget, atLeast: 1600)),
            MemoryLevel<Int, Int>(limit: .share(of: budget)),
        ]
        try await fill(levels[0], 0..<10_000)
        for round in 0..<40 {
            for level in levels {
                try await fill(level, round * 2000..<(round + 1) * 2000)
                let held = levels.reduce(0) { $0 + $1.statistics.entries }
                #expect(held <= 6400)
            }
        }
        let fair = [1600, 3200, 1600]
        for (level, share) in zip(levels, fair) {
            #expect(abs(level.statistics.entries - share) <= 400, "\(budget.allowances)")
        }
    }

    @Test("What a level is guaranteed it gets, also when others have it")
    func guaranteed() async throws {
        let budget = MemoryBudget(1000)
        let first = MemoryLevel<Int, Int>(limit: .share(of: budget))
        try await fill(first, 0..<3000)
        #expect(first.statistics.entries == 1000)
        let log = RemovalLog<Int, Int>()
        let second = MemoryLevel<Int, Int>(limit: .share(of: budget, atLeast: 700), onRemoval: log.add)
        #expect(first.statistics.entries <= 300)
        try await fill(second, 0..<700)
        #expect(second.statistics.entries == 700)
        #expect(log.all.isEmpty)
        // There is no more to be guaranteed than there is.
        let third = MemoryLevel<Int, Int>(limit: .share(of: budget, atLeast: 700))
        #expect(budget.allowances.reduce(0, +) <= 1000)
        #expect(budget.allowances[2] == 300)
        try await fill(third, 0..<300)
        #expect(third.statistics.entries == 300)
    }

    @Test("An entry for which there is no room takes none from others, and one for which there is gets it")
    func refused() async throws {
        let budget = MemoryBudget(100)
        let large = MemoryLevel<Int, Int>(limit: .share(of: budget, cost: { $0 }))
        let full = MemoryLevel<Int, Int>(limit: .share(of: budget))
        try await fill(full, 0..<2_000)
        #expect(full.statistics.weight == 100)
        await #expect(throws: CacheError.self) { try await large.set(60, for: 1) }
        #expect(full.statistics.weight == 100 && budget.allowances == [0, 100])
        try await large.set(40, for: 1)
        #expect(large.statistics.weight == 40 && full.statistics.weight <= 60)
    }

    @Test("A quota is never exceeded, and an entry larger than it is refused")
    func quota() async throws {
        let budget = MemoryBudget(1000)
        let level = MemoryLevel<Int, Int>(limit: .share(of: budget, atMost: 300, cost: { $0 }))
        for key in 0..<100 { try await level.set(10, for: key) }
        #expect(level.statistics.weight == 300)
        let error = await #expect(throws: CacheError.self) { try await level.set(301, for: 1) }
        #expect(error?.code == .tooLarge)
        try await level.set(300, for: 2)
        #expect(level.statistics.weight <= 300)
    }

    @Test("An entry larger than the present allowance makes it grow")
    func largeEntry() async throws {
        let budget = MemoryBudget(6400)
        let level = MemoryLevel<Int, Int>(limit: .share(of: budget, cost: { $0 }))
        try await level.set(5000, for: 1)
        #expect(try await level.get(1) == 5000)
        #expect(budget.allowances == [5000])
    }

    @Test("A level that goes gives back what it had")
    func gone() async throws {
        let budget = MemoryBudget(1000)
        do {
            let short = MemoryLevel<Int, Int>(limit: .share(of: budget, atLeast: 900))
            try await fill(short, 0..<900)
        }
        let level = MemoryLevel<Int, Int>(limit: .share(of: budget))
        try await fill(level, 0..<4000)
        #expect(level.statistics.entries == 1000)
        #expect(budget.allowances == [1000])
    }

    @Test("A budget of nothing keeps nothing, which is no error", arguments: [0, -5])
    func nothing(total: Int) async throws {
        let level = MemoryLevel<Int, Int>(limit: .share(of: MemoryBudget(total), atLeast: 10))
        try await level.set(1, for: 1)
        #expect(try await level.get(1) == nil && level.statistics.entries == 0)
    }
}
