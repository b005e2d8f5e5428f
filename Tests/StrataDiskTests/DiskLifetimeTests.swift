#if Disk
import Strata
import StrataTesting
import Testing

@testable import StrataDisk

@Suite("Lifetimes on disk", .timeLimit(.minutes(5)))
struct DiskLifetimeTests {
    private let folder: DiskFolder
    private let hand = HandClock()

    init() throws {
        folder = try DiskFolder()
    }

    private func level(_ freshness: FreshnessPolicy? = nil, limit: Int = 1 << 20) -> DiskLevel<String, String> {
        var level = DiskLevel<String, String>(
            folder.store(),
            namespace: "test",
            codec: .text,
            limit: limit,
            freshness: freshness
        )
        level.wall = hand.clock
        return level
    }

    private func entry(_ value: String, freshFor: Int64, staleFor: Int64 = 0) -> Entry<String> {
        let now = hand.clock.now().monotonic
        return Entry(
            .value(value),
            freshUntil: now.advanced(byNanoseconds: freshFor * 1_000_000),
            staleUntil: now.advanced(byNanoseconds: (freshFor + staleFor) * 1_000_000)
        )
    }

    private func now() -> MonotonicInstant { hand.clock.now().monotonic }

    @Test("an entry keeps its lifetimes over a restart, to the millisecond, and is gone when they are over")
    func kept() async throws {
        try await level().store(entry("v", freshFor: 1_000, staleFor: 500), for: "k")
        hand.advance(999)
        let fresh = try #require(try await level().entry(for: "k", ReadRequest()))
        #expect(fresh.isFresh(at: now()) && fresh.origin == .disk)
        #expect(now().nanoseconds(to: fresh.freshUntil) == 1_000_000)
        hand.advance(1)
        let stale = try #require(try await level().entry(for: "k", ReadRequest()))
        #expect(!stale.isFresh(at: now()) && stale.isUsable(at: now()))
        hand.advance(499)
        #expect(try await level().entry(for: "k", ReadRequest()) != nil)
        hand.advance(1)
        #expect(try await level().entry(for: "k", ReadRequest()) == nil)
    }

    @Test("without a lifetime an entry stays for ever, or as long as the policy says; an absence too")
    func policy() async throws {
        let level = level()
        try await level.set("v", for: "k")
        hand.advance(100 * 365 * 86_400_000)
        let entry = try #require(try await level.entry(for: "k", ReadRequest()))
        #expect(entry.freshUntil == .distantFuture)
        let strict = self.level(FreshnessPolicy(freshFor: .seconds(10), absentFor: .seconds(1), jitter: 0))
        try await strict.set("v", for: "k")
        try await strict.store(Entry(.absent), for: "none")
        let absent = try #require(try await strict.entry(for: "none", ReadRequest()))
        #expect(absent.value == nil)
        hand.advance(1_000)
        #expect(try await strict.entry(for: "none", ReadRequest()) == nil)
        #expect(try await strict.get("k") == "v")
        hand.advance(9_000)
        #expect(try await strict.get("k") == nil)
    }

    @Test("memory above keeps what was set as long as the policy says")
    func above() async throws {
        let memory = MemoryLevel<String, String>(limit: .entries(10))
        let policy = FreshnessPolicy(freshFor: .seconds(100), jitter: 0)
        try await memory.compose(level(policy)).set("v", for: "k")
        let entry = try #require(try await memory.entry(for: "k", ReadRequest()))
        // Memory keeps when an entry was made in few bits.
        #expect(abs(entry.storedAt.duration(to: entry.freshUntil) / .seconds(1) - 100) < 0.001)
    }

    @Test(
        "a clock that is set back: what comes from the future is a miss, and nothing lives longer than it was meant to"
    )
    func setBack() async throws {
        let level = level()
        try await level.store(entry("v", freshFor: 10_000), for: "k")
        hand.set(by: -1_000)
        let entry = try #require(try await level.entry(for: "k", ReadRequest()))
        #expect(now().nanoseconds(to: entry.freshUntil) == 10_000_000_000)
        hand.set(by: -3_600_000)
        #expect(try await level.get("k") == nil)
        hand.set(by: 3_601_000)
        #expect(try await level.get("k") == "v")
        hand.set(by: 3_600_000)
        #expect(try await level.get("k") == nil)
    }

    @Test("a clock that is set back takes away nothing that never ends, and no change of that begins anew")
    func endless() async throws {
        let level = level()
        try await level.set("v", for: "k")
        try await level.store(entry("v", freshFor: 100 * 365 * 86_400_000), for: "century")
        hand.set(by: -3_600_000)
        for key in ["k", "century"] {
            #expect(try await level.get(key) == "v")
            #expect(try await level.update(key) { ($0 ?? "") + "w" } == "vw")
            #expect(try await level.get(key) == "vw")
        }
    }

    @Test("times at the ends of their range are held, not trapped on")
    func extremes() async throws {
        let level = level()
        for (fresh, stale) in [(Int64.min, Int64.min), (.min, .max - 1), (0, .max - 1), (.max - 1, .max)] {
            let entry = Entry(
                .value("v"),
                freshUntil: MonotonicInstant(nanoseconds: fresh),
                staleUntil: MonotonicInstant(nanoseconds: stale)
            )
            try await level.store(entry, for: "k")
            _ = try await level.entry(for: "k", ReadRequest())
        }
        for number in [Int64.min, -1, 0, 1, .max - 1, .max] {
            _ = hand.clock.now().instant(number, longest: .max)
            _ = hand.clock.now().milliseconds(MonotonicInstant(nanoseconds: number))
        }
    }

    @Test("expired entries make room first, before any that is still good")
    func expiredFirst() async throws {
        let level = level(limit: 4 * (StoredEntry.overhead + 2 + 1_000))
        for key in ["a", "b", "c"] { try await level.set(String(repeating: key, count: 1_000), for: key) }
        try await level.store(entry(String(repeating: "d", count: 1_000), freshFor: 10), for: "d")
        hand.advance(10)
        try await level.set(String(repeating: "e", count: 1_000), for: "e")
        #expect(try await level.get(["a", "b", "c", "e"]).allSatisfy { $0 != nil })
    }

    @Test("expired entries can be removed without a read of them")
    func sweep() async throws {
        let level = level()
        try await level.set("for ever", for: "k")
        for number in 0..<5 { try await level.store(entry("v", freshFor: Int64(number) * 10 + 5), for: "\(number)") }
        hand.advance(25)
        #expect(try await level.removeExpired() == 3)
        #expect(try await level.usage().entries == 3)
        #expect(try await level.removeExpired() == 0)
    }

    @Test("A207 a sweep after a restart leaves what may still be served as stale")
    func sweepAfterRestart() async throws {
        try await level().store(entry("stale", freshFor: 10, staleFor: 500), for: "k")
        try await level().store(entry("expired", freshFor: 10), for: "other")
        hand.advance(10)
        let restarted = level()
        #expect(try await restarted.removeExpired() == 1)
        let entry = try #require(try await restarted.entry(for: "k", ReadRequest()))
        #expect(entry.value == "stale" && !entry.isFresh(at: now()) && entry.isUsable(at: now()))
    }
}
#endif
