import Strata
import StrataTesting
import Testing

@Suite("Expiry in memory")
struct MemoryExpiryTests {
    private let time = HandMovedTime()
    private let log = RemovalLog<String, Int>()

    private func level(
        _ limit: Int = 100,
        lifetime: Duration? = nil,
        idle: Duration? = nil
    ) -> MemoryLevel<String, Int> {
        MemoryLevel(
            limit: .entries(limit),
            lifetime: lifetime,
            idleLifetime: idle,
            time: time.clock,
            isTended: false,
            onRemoval: log.add
        )
    }

    @Test("An entry is fresh to the end of its lifetime and gone at it")
    func lifetime() async throws {
        let level = level(lifetime: .seconds(10))
        try await level.set(1, for: "a")
        time.advance(by: .seconds(10) - .nanoseconds(1))
        #expect(try await level.value("a") == 1)
        time.advance(by: .nanoseconds(1))
        #expect(try await level.value("a") == nil)
        #expect(level.resident("a", at: time.now) == nil)
    }

    @Test("The level's lifetime shortens an entry's and never prolongs it")
    func shorter() async throws {
        let level = level(lifetime: .seconds(10))
        try await level.store(Entry(.value(1), freshUntil: time.now.advanced(by: .seconds(3))), for: "a")
        try await level.store(Entry(.value(2), freshUntil: time.now.advanced(by: .seconds(30))), for: "b")
        #expect(try await level.entry(for: "a", ReadRequest())?.freshUntil == time.now.advanced(by: .seconds(3)))
        #expect(try await level.entry(for: "b", ReadRequest())?.freshUntil == time.now.advanced(by: .seconds(10)))
    }

    @Test("A stale entry stays while it may be served, and is no resident")
    func stale() async throws {
        let level = level()
        let now = time.now
        let entry = Entry(
            .value(1),
            freshUntil: now.advanced(by: .seconds(1)),
            staleUntil: now.advanced(by: .seconds(5))
        )
        try await level.store(entry, for: "a")
        time.advance(by: .seconds(2))
        #expect(level.resident("a", at: time.now) == nil)
        #expect(try await level.value("a") == 1)
        #expect(level.statistics.hits == 0)
        time.advance(by: .seconds(4))
        #expect(try await level.value("a") == nil)
    }

    @Test("What has expired leaves at the next write of another key")
    func leavesOnWrite() async throws {
        let level = level(lifetime: .seconds(1))
        for number in 0..<20 { try await level.set(number, for: "\(number)") }
        time.advance(by: .milliseconds(1200))
        try await level.remove("another")
        #expect(level.statistics.entries == 0)
        #expect(level.statistics.expirations == 20)
        #expect(Set(log.causes) == [.expired])
    }

    @Test("What has expired leaves at a miss of another key")
    func leavesOnMiss() async throws {
        let level = level(lifetime: .seconds(1))
        try await level.set(1, for: "a")
        time.advance(by: .milliseconds(1200))
        #expect(try await level.value("b") == nil)
        #expect(level.statistics.entries == 0)
    }

    @Test("A write after a long pause does not pay for all that is due")
    func bounded() async throws {
        let level = level(1000, lifetime: .seconds(1))
        for number in 0..<1000 { try await level.set(number, for: "\(number)") }
        time.advance(by: .seconds(5))
        try await level.remove("another")
        let left = level.statistics.entries
        #expect(left > 0 && left < 1000)
        #expect(level.sweep(at: time.now) == .distantFuture)
        #expect(level.statistics.entries == 0)
    }

    @Test("A sweep says when to come again, never too late")
    func nextSweep() async throws {
        let level = level()
        let start = time.now
        try await level.store(Entry(.value(1), freshUntil: start.advanced(by: .seconds(3600))), for: "a")
        var rounds = 0
        while level.statistics.entries > 0 {
            let next = level.sweep(at: time.now)
            guard next != .distantFuture else { break }
            time.advance(by: time.now.duration(to: next))
            rounds += 1
            try #require(rounds < 20)
        }
        #expect(level.statistics.entries == 0)
        let late = start.advanced(by: .seconds(3600)).duration(to: time.now)
        #expect(late >= .zero && late < .milliseconds(200))
    }

    @Test("An entry that is not read leaves, one that is read stays")
    func idle() async throws {
        let level = level(idle: .seconds(10))
        try await level.set(1, for: "asked")
        try await level.set(2, for: "forgotten")
        for _ in 0..<5 {
            time.advance(by: .seconds(4))
            #expect(try await level.value("asked") == 1)
            _ = level.sweep(at: time.now)
        }
        #expect(try await level.value("forgotten") == nil)
        #expect(log.keys == ["forgotten"] && log.causes == [.idle])
        #expect(level.statistics.idleExpirations == 1)
        time.advance(by: .seconds(10))
        #expect(try await level.value("asked") == nil)
        #expect(level.resident("asked", at: time.now) == nil)
    }

    @Test("A resident read counts as use")
    func idleResident() async throws {
        let level = level(idle: .seconds(10))
        try await level.set(1, for: "a")
        for _ in 0..<5 {
            time.advance(by: .seconds(9))
            #expect(level.resident("a", at: time.now)?.value == 1)
            _ = level.sweep(at: time.now)
        }
        #expect(level.statistics.entries == 1)
    }

    @Test("A new lifetime takes the place of the old one")
    func replaced() async throws {
        let level = level()
        try await level.store(Entry(.value(1), freshUntil: time.now.advanced(by: .seconds(1))), for: "a")
        try await level.store(Entry(.value(2), freshUntil: time.now.advanced(by: .seconds(100))), for: "a")
        try await level.store(Entry(.value(3), freshUntil: time.now.advanced(by: .seconds(1))), for: "b")
        try await level.set(4, for: "b")
        time.advance(by: .seconds(50))
        _ = level.sweep(at: time.now)
        #expect(try await level.value("a") == 2)
        #expect(try await level.value("b") == 4)
    }

    @Test("Instants at the ends of time do no harm", arguments: [MonotonicInstant.distantPast, .distantFuture])
    func extremes(end: MonotonicInstant) async throws {
        let level = level()
        try await level.store(Entry(.value(1), freshUntil: end), for: "a")
        #expect(try await level.value("a") == (end == .distantPast ? nil : 1))
        _ = level.sweep(at: .distantPast)
        _ = level.sweep(at: MonotonicInstant(nanoseconds: .max - 1))
        #expect(level.statistics.entries == (end == .distantPast ? 0 : 1))
    }

    @Test("Entries of an idle level leave memory by themselves", .timeLimit(.minutes(5)))
    func unattended() async throws {
        let gone = AsyncStream.makeStream(of: MemoryRemoval<Int, Int>.self)
        let level = MemoryLevel<Int, Int>(limit: .entries(100), lifetime: .milliseconds(20)) {
            gone.continuation.yield($0)
        }
        try await level.set(1, for: 1)
        try await level.set(2, for: 2)
        var removals = gone.stream.makeAsyncIterator()
        let causes = [await removals.next()?.cause, await removals.next()?.cause]
        #expect(causes == [.expired, .expired])
        // And again, after it had nothing to do.
        try await level.set(3, for: 3)
        #expect(await removals.next()?.key == 3)
        #expect(level.statistics.entries == 0)
    }

    @Test("The background thread keeps no level alive", .timeLimit(.minutes(5)))
    func notKept() async throws {
        let freed = AsyncStream.makeStream(of: Void.self)
        do {
            let level = MemoryLevel<Int, Farewell>(limit: .entries(100), lifetime: .seconds(1000))
            try await level.set(Farewell { freed.continuation.yield() }, for: 1)
        }
        // The thread may be looking at the level in this very moment: it lets go then, not a thousand seconds later.
        var farewells = freed.stream.makeAsyncIterator()
        #expect(await farewells.next() != nil)
    }
}
