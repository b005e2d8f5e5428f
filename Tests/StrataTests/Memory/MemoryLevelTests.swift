import Strata
import Testing

@Suite("A memory level")
struct MemoryLevelTests {
    @Test("A134 an empty level has nothing, and setting one key makes no other appear")
    func empty() async throws {
        let level = MemoryLevel<String, Int>(limit: .entries(10))
        #expect(try await level.get("a") == nil)
        let error = await #expect(throws: CacheError.self) { try await level.require("a") }
        #expect(error?.code == .miss)
        try await level.set(1, for: "a")
        #expect(try await level.get("b") == nil)
    }

    @Test("A135 what was set is returned, and setting again replaces it")
    func set() async throws {
        let level = MemoryLevel<String, Int>(limit: .entries(10))
        try await level.set(1, for: "a")
        #expect(try await level.get("a") == 1)
        try await level.set(2, for: "a")
        #expect(try await level.get("a") == 2)
        #expect(level.statistics.entries == 1)
        #expect(level.statistics.replacements == 1)
    }

    @Test("A136 more than fits makes others leave in the order that is told, until it fits", arguments: [1, 7, 100])
    func limit(cost: Int) async throws {
        let log = RemovalLog<Int, Int>()
        let level = MemoryLevel<Int, Int>(limit: .cost(10 * cost) { $0 }, onRemoval: log.add)
        for key in 0..<40 {
            try await level.set(cost, for: key)
            #expect(level.statistics.weight <= 10 * cost)
        }
        #expect(level.statistics.entries == 10)
        #expect(level.statistics.weight == 10 * cost)
        #expect(level.statistics.evictions == 30)
        #expect(log.causes == Array(repeating: .size, count: 30))
        // What is told to leave first is what shedding takes first.
        let coldest = level.coldest(10)
        _ = log.take()
        level.shed(0.35)
        #expect(log.keys == Array(coldest.prefix(4)))
        #expect(level.statistics.entries == 6)
    }

    @Test("A136 a popular key stays while others come and go")
    func popular() async throws {
        let level = MemoryLevel<Int, Int>(limit: .entries(100), seed: 1, time: .system)
        for round in 0..<20 {
            for key in 0..<10 {
                if try await level.get(key) == nil { try await level.set(key, for: key) }
            }
            for key in 0..<50 { try await level.set(0, for: 1000 + round * 50 + key) }
        }
        for key in 0..<10 { #expect(try await level.get(key) == key) }
    }

    @Test("A137 one value dearer than the limit is refused, and the others stay")
    func tooLarge() async throws {
        let log = RemovalLog<String, Int>()
        let level = MemoryLevel<String, Int>(limit: .cost(10) { $0 }, onRemoval: log.add)
        try await level.set(4, for: "a")
        try await level.set(5, for: "b")
        let error = await #expect(throws: CacheError.self) { try await level.set(11, for: "c") }
        #expect(error?.code == .tooLarge)
        #expect(try await level.get("a") == 4)
        #expect(try await level.get("b") == 5)
        #expect(try await level.get("c") == nil)
        #expect(level.statistics.refusals == 1)
        // What the key had before would be out of date.
        await #expect(throws: CacheError.self) { try await level.set(11, for: "a") }
        #expect(try await level.get("a") == nil)
        #expect(log.causes == [.removed])
        // Exactly the limit fits, alone.
        try await level.set(10, for: "d")
        #expect(level.statistics.entries <= 1)
    }

    @Test("A137 costs that are absurd are refused or count as one", arguments: [Int.max, .min, 0, -1, 1 << 40])
    func absurdCost(cost: Int) async throws {
        let level = MemoryLevel<Int, Int>(limit: .cost(1 << 33) { _ in cost })
        if cost > 1 {
            await #expect(throws: CacheError.self) { try await level.set(1, for: 1) }
        } else {
            try await level.set(1, for: 1)
            #expect(level.statistics.weight == 1)
        }
    }

    @Test("A level without room keeps nothing, which is no error", arguments: [0, -1, .min])
    func noRoom(limit: Int) async throws {
        let level = MemoryLevel<Int, Int>(limit: .entries(limit))
        try await level.set(1, for: 1)
        #expect(try await level.get(1) == nil && level.statistics.entries == 0)
        #expect(level.limit.total == 0)
    }

    @Test("A138 after a clear every get misses", arguments: [1, 10, 5000])
    func clear(count: Int) async throws {
        let log = RemovalLog<Int, String>()
        let level = MemoryLevel<Int, String>(limit: .entries(10_000), onRemoval: log.add)
        for key in 0..<count { try await level.set("\(key)", for: key) }
        try await level.clear()
        for key in 0..<count { #expect(try await level.get(key) == nil) }
        #expect(level.statistics.entries == 0)
        #expect(Set(log.keys) == Set(0..<count))
        #expect(log.all.allSatisfy { $0.cause == .cleared && $0.value == "\($0.key)" })
        for key in 0..<count { try await level.set("new \(key)", for: key) }
        for key in 0..<count { #expect(try await level.get(key) == "new \(key)") }
    }

    @Test("A139 under memory pressure the level sheds the coldest quarter, then everything")
    func pressure() async throws {
        let log = RemovalLog<Int, Int>()
        let level = MemoryLevel<Int, Int>(limit: .entries(4000), onRemoval: log.add)
        for key in 0..<4000 { try await level.set(key, for: key) }
        let coldest = level.coldest(1000)
        level.relieve(.moderate)
        #expect(level.statistics.entries == 3000)
        #expect(level.statistics.sheddings == 1000)
        #expect(log.keys == coldest)
        #expect(Set(log.causes) == [.pressure])
        level.relieve(.critical)
        #expect(level.statistics.entries == 0)
        level.relieve(.critical)
        level.relieve(.moderate)
        #expect(level.statistics.sheddings == 4000)
    }

    @Test("Shedding a share that makes no sense sheds nothing or all", arguments: [-1.0, 0, .nan, 1, 2, .infinity])
    func shed(share: Double) async throws {
        let level = MemoryLevel<Int, Int>(limit: .entries(10))
        for key in 0..<10 { try await level.set(key, for: key) }
        level.shed(share)
        #expect(level.statistics.entries == (share >= 1 ? 0 : 10))
    }

    @Test("A140 a removed key misses, and removing an absent key succeeds")
    func remove() async throws {
        let log = RemovalLog<String, Int>()
        let level = MemoryLevel<String, Int>(limit: .entries(10), onRemoval: log.add)
        try await level.set(1, for: "a")
        try await level.set(2, for: "b")
        try await level.remove("a")
        #expect(try await level.get("a") == nil)
        #expect(try await level.get("b") == 2)
        try await level.remove("a")
        try await level.remove("never there")
        #expect(log.keys == ["a"] && log.causes == [.removed])
        #expect(level.statistics.removals == 1)
    }

    @Test("An entry comes back as it was stored")
    func wholeEntry() async throws {
        let level = MemoryLevel<String, Int>(limit: .entries(10))
        let now = MonotonicInstant.now
        let gate = FillGate()
        var entry = Entry(
            .value(1),
            freshUntil: now.advanced(by: .seconds(100)),
            staleUntil: now.advanced(by: .seconds(200)),
            version: .random(),
            tags: ["x", "y"],
            fetchDuration: .microseconds(1234),
            origin: .memory,
            ticket: gate.ticket(for: 7),
            isSuspect: true
        )
        try await level.store(entry, for: "a")
        var found = try #require(try await level.entry(for: "a", ReadRequest()))
        // Memory seals what has tags.
        #expect(found.seal?.isLive == true)
        found.seal = nil
        #expect(found == entry)
        #expect(level.resident("a", at: now) == nil, "an entry that may be void is not served without a look")
        entry.isSuspect = false
        try await level.store(entry, for: "a")
        #expect(level.resident("a", at: now)?.ticket == entry.ticket)
        let absence = Entry<Int>(.absent, freshUntil: now.advanced(by: .seconds(100)), origin: .memory)
        try await level.store(absence, for: "a")
        #expect(try await level.entry(for: "a", ReadRequest()) == absence)
        #expect(level.resident("a", at: now) == nil)
        let plain = Entry(.value(2), origin: .memory)
        try await level.store(plain, for: "a")
        #expect(try await level.entry(for: "a", ReadRequest()) == plain)
    }

    @Test("Keys that all have one hash are told apart")
    func collisions() async throws {
        struct Colliding: Hashable {
            let number: Int
            func hash(into hasher: inout Hasher) {}
        }
        let level = MemoryLevel<Colliding, Int>(limit: .entries(300))
        for number in 0..<200 { try await level.set(number, for: Colliding(number: number)) }
        for number in stride(from: 0, to: 200, by: 2) { try await level.remove(Colliding(number: number)) }
        for number in 0..<200 {
            #expect(try await level.get(Colliding(number: number)) == (number % 2 == 0 ? nil : number))
        }
    }

    @Test("Values are let go when they leave, and when the level does")
    func letGo() async throws {
        final class Token: Sendable {}
        weak var replaced: Token?
        weak var evicted: Token?
        weak var last: Token?
        do {
            let level = MemoryLevel<Int, Token>(limit: .entries(1))
            var token: Token? = Token()
            replaced = token
            try await level.set(token!, for: 1)
            token = Token()
            evicted = token
            try await level.set(token!, for: 1)
            token = nil
            #expect(replaced == nil)
            try await level.remove(1)
            #expect(evicted == nil)
            token = Token()
            last = token
            try await level.store(Entry(.value(token!), tags: ["with details"]), for: 2)
            token = nil
            #expect(last != nil)
        }
        #expect(last == nil)
    }

    @Test("A listener may use the level")
    func listenerUsesLevel() async throws {
        let box = Locked(MemoryLevel<Int, Int>?.none)
        let level = MemoryLevel<Int, Int>(limit: .entries(2)) { removal in
            // Not stored again: every removal would make another.
            _ = box.withLock { $0 }?.resident(removal.key, at: .coarse)
            _ = box.withLock { $0 }?.statistics
        }
        box.withLock { $0 = level }
        defer { box.withLock { $0 = nil } }
        for key in 0..<10 { try await level.set(key, for: key) }
        #expect(level.statistics.entries == 2)
    }
}
