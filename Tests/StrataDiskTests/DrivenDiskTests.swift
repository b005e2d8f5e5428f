#if Disk
import Strata
import StrataTesting
import Testing

@testable import StrataDisk

@Suite("A level on disk whose clock a test moves", .timeLimit(.minutes(5)))
struct DrivenDiskTests {
    private let clock = ManualClock()
    private let folder: DiskFolder

    init() throws {
        folder = try DiskFolder()
    }

    /// The level after a restart, too: nothing of it is in memory.
    private func level(_ freshness: FreshnessPolicy? = nil) -> DiskLevel<String, String> {
        clock.driving { DiskLevel(folder.store(), namespace: "test", codec: .text, freshness: freshness) }
    }

    @Test("entries end by the clock, to the millisecond, over a restart")
    func lifetimes() async throws {
        let policy = FreshnessPolicy(freshFor: .seconds(60), staleIfError: .seconds(30), jitter: 0)
        try await level(policy).set("v", for: "k")
        try clock.advance(by: .seconds(60) - .milliseconds(1))
        let now = clock.cacheClock.now
        #expect(try await level().entry(for: "k", ReadRequest())?.isFresh(at: now) == true)
        try clock.advance(by: .milliseconds(1))
        #expect(try await level().entry(for: "k", ReadRequest())?.isFresh(at: clock.cacheClock.now) == false)
        try clock.advance(by: .seconds(30) - .milliseconds(1))
        #expect(try await level().get("k") == "v")
        try clock.advance(by: .milliseconds(1))
        #expect(try await level().get("k") == nil)
    }

    @Test("the system's time does not count")
    func standsStill() async throws {
        let level = level()
        try await level.set("v", for: "k", lifetime: EntryLifetime(freshFor: .milliseconds(1)))
        let end = MonotonicInstant.now.advanced(by: .milliseconds(20))
        while MonotonicInstant.now < end { try await nextTurn() }
        #expect(try await level.get("k") == "v")
        try clock.advance(by: .milliseconds(1))
        #expect(try await level.get("k") == nil)
    }

    @Test("what comes from a level below is as old as it was there")
    func age() async throws {
        let (disk, cache) = clock.driving {
            let disk = level()
            return (disk, disk.compose(MemoryLevel<String, String>(limit: .entries(10))))
        }
        let made = clock.cacheClock.now
        let entry = Entry(.value("v"), freshUntil: made.advanced(by: .seconds(60)), storedAt: made)
        try await cache.lower.store(entry, for: "k")
        try clock.advance(by: .seconds(20))
        #expect(try await cache.get("k") == "v")
        #expect(try await disk.entry(for: "k", ReadRequest())?.age(at: clock.cacheClock.now) == .seconds(20))
        var recent = ReadOptions()
        recent.maximumAge = .seconds(10)
        #expect(try await cache.get("k", recent) == nil)
    }

    @Test("memory above, touches and the removal of what has expired go by the clock, over years")
    func composed() async throws {
        let cache = clock.driving { MemoryLevel<String, String>(limit: .entries(10)).compose(level()) }
        try await cache.set("v", for: "k", lifetime: EntryLifetime(freshFor: .seconds(86_400)))
        try await cache.set("v", for: "l", lifetime: EntryLifetime(freshFor: .seconds(86_400)))
        try clock.advance(by: .seconds(86_399))
        #expect(try await cache.touch("k", lifetime: EntryLifetime(freshFor: .seconds(10 * 366 * 86_400))))
        try clock.advance(by: .seconds(9 * 366 * 86_400))
        #expect(try await cache.get(["k", "l"]) == ["v", nil])
        var gone: [[UInt8]] = []
        #expect(try await cache.lower.removeExpired { gone.append($0) } == 1)
        #expect(gone == ["l".keyBytes])
    }
}
#endif
