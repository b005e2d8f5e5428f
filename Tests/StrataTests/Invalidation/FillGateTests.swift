import StrataTesting
import Testing

@testable import Strata

@Suite("Fills that meet an invalidation")
struct FillGateTests {
    enum Invalidation: CaseIterable {
        case remove
        case clear
        case set
    }

    private func invalidate<Cache: CacheLevel<String, Int>>(_ cache: Cache, by kind: Invalidation) async throws {
        switch kind {
        case .remove: try await cache.remove("k")
        case .clear: try await cache.clear()
        case .set: try await cache.set(2, for: "k")
        }
    }

    /// A fill whose read the lower level holds back until the key was invalidated.
    private func fill<Cache: CacheLevel<String, Int>>(
        _ cache: Cache,
        over lower: ProbeLevel,
        meets kind: Invalidation
    ) async throws {
        let gate = AsyncGate()
        lower.holdGets(gate)
        let slow = Task { try await cache.get("k") }
        await gate.arrivals()
        try await invalidate(cache, by: kind)
        gate.open()
        #expect(try await slow.value == 1)
        lower.put(2, for: "k")
        #expect(try await cache.get("k") == 2)
    }

    @Test("a fill that was read before an invalidation is returned and not kept", arguments: Invalidation.allCases)
    func fillOverMemory(kind: Invalidation) async throws {
        let lower = ProbeLevel(["k": 1])
        try await fill(MemoryLevel<String, Int>(limit: .entries(4)).compose(lower), over: lower, meets: kind)
    }

    @Test("the same where the upper level keeps no tickets", arguments: Invalidation.allCases)
    func fillOverProbe(kind: Invalidation) async throws {
        let lower = ProbeLevel(["k": 1])
        try await fill(ProbeLevel().compose(lower), over: lower, meets: kind)
    }

    @Test("an invalidation that comes while a slow fill is being written still wins", arguments: Invalidation.allCases)
    func invalidationDuringFill(kind: Invalidation) async throws {
        let upper = ProbeLevel()
        let lower = ProbeLevel(["k": 1])
        let gate = AsyncGate()
        upper.holdSets(gate)
        let cache = upper.compose(lower, fillWaitLimit: .seconds(600))
        let slow = Task { try await cache.get("k") }
        await gate.arrivals()
        let ticket = cache.fillGate.ticket(for: cache.fingerprint(of: "k"))
        let invalidation = Task { try await invalidate(cache, by: kind) }
        // The fill goes on only when the invalidation has begun.
        while cache.fillGate.isLive(ticket) { try await nextTurn() }
        gate.open()
        _ = try await slow.value
        try await invalidation.value
        lower.put(2, for: "k")
        #expect(try await cache.get("k") == 2)
    }

    @Test("an entry that was kept before an invalidation is dead afterwards, also without being removed")
    func keptBefore() async throws {
        let lower = ProbeLevel(["k": 1])
        let upper = MemoryLevel<String, Int>(limit: .entries(4))
        let cache = upper.compose(lower)
        #expect(try await cache.get("k") == 1)
        #expect(upper.resident("k", at: .now) != nil)
        try await cache.remove("k")
        lower.put(2, for: "k")
        #expect(try await cache.get("k") == 2)
    }

    @Test("of two overlapping sets the upper level never keeps one that the lower has lost")
    func overlappingSets() async throws {
        let lower = ProbeLevel()
        let gate = AsyncGate()
        lower.holdSets(gate)
        let cache = MemoryLevel<String, Int>(limit: .entries(4)).compose(lower)
        let first = Task { try await cache.set(1, for: "k") }
        let second = Task { try await cache.set(2, for: "k") }
        await gate.arrivals(2)
        gate.open()
        try await first.value
        try await second.value
        #expect(try await cache.get("k") == lower.values["k"])
    }

    @Test("a ticket lives until its key is voided, whatever happens to others")
    func tickets() {
        let gate = FillGate(size: 1024)
        let ticket = gate.ticket(for: 5)
        #expect(gate.isLive(ticket))
        gate.void(6)
        #expect(gate.isLive(ticket))
        gate.void(5)
        #expect(!gate.isLive(ticket))
        #expect(gate.isLive(gate.ticket(for: 5)))
        let late = gate.ticket(for: 7)
        gate.voidAll()
        #expect(!gate.isLive(late))
        #expect(gate.isLive(.none))
        #expect(!gate.isLive(.void))
    }

    @Test("a renewed ticket voids the others, and cannot be had for a void one")
    func renewal() throws {
        let gate = FillGate()
        let read = gate.ticket(for: 1)
        let write = gate.ticket(for: 1)
        let renewed = try #require(gate.renew(write, for: 1))
        #expect(gate.isLive(renewed))
        #expect(!gate.isLive(read))
        #expect(gate.renew(write, for: 1) == nil)
        #expect(!gate.isLive(renewed))
        #expect(gate.renew(.none, for: 1) == nil && gate.renew(.void, for: 1) == nil)
    }

    @Test("any fingerprint has a place")
    func fingerprints() {
        let gate = FillGate(size: 1)
        for fingerprint in [0, 1, .max, 1 << 63, 0xffff_ffff] as [UInt64] {
            let ticket = gate.ticket(for: fingerprint)
            #expect(gate.isLive(ticket))
            gate.void(fingerprint)
            #expect(!gate.isLive(ticket))
        }
    }
}
