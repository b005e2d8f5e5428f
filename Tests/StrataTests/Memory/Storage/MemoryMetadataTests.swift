import Testing

@testable import Strata

@Suite("What memory keeps of an entry")
struct MemoryMetadataTests {
    @Test("Short spans are exact where they fit, and else a little too short", arguments: [11, 26, 27])
    func spans(bits: Int) {
        var random = SplitMix64(seed: 7)
        for _ in 0..<10_000 {
            let span = random.next() >> UInt64.random(in: 8...60, using: &random)
            let kept = ShortSpan.decode(ShortSpan.encode(span, bits: bits), bits: bits)
            if span >> UInt64(bits + 30) == 0 {
                #expect(kept <= span && span - kept <= span >> UInt64(bits - 1), "\(span)")
                if span >> UInt64(bits) == 0 { #expect(kept == span) }
            } else {
                #expect(kept <= span)
            }
            #expect(ShortSpan.encode(span, bits: bits) < ShortSpan.last(bits))
        }
    }

    @Test("Short spans keep their order", arguments: [11, 27])
    func order(bits: Int) {
        var random = SplitMix64(seed: 8)
        for _ in 0..<10_000 {
            let one = random.next() >> UInt64.random(in: 0...60, using: &random)
            let other = random.next() >> UInt64.random(in: 0...60, using: &random)
            let (less, more) = (min(one, other), max(one, other))
            #expect(ShortSpan.encode(less, bits: bits) <= ShortSpan.encode(more, bits: bits))
        }
    }

    @Test("Lifetimes of whole seconds, version, tags and fetch time come back as they were")
    func exact() async throws {
        let clock = HandMovedTime()
        let level = MemoryLevel<Int, String>(limit: .entries(10), time: clock.clock, isTended: false)
        let now = clock.now
        let stored = Entry(
            .value("value"),
            freshUntil: now.advanced(by: .seconds(30)),
            staleUntil: now.advanced(by: .seconds(60)),
            revalidateUntil: now.advanced(by: .seconds(40)),
            storedAt: now.advanced(by: .seconds(-5)),
            version: .random(),
            tags: ["a", "b"],
            fetchDuration: .milliseconds(3),
            asOf: 17
        )
        try await level.store(stored, for: 1)
        var found = try #require(try await level.entry(for: 1, ReadRequest()))
        #expect(found.seal?.isLive == true && found.origin == .memory)
        // What lasts neither as long as the entry nor no time at all is cut to 11 bits.
        let revalidation = stored.freshUntil.duration(to: found.revalidateUntil)
        #expect(revalidation <= .seconds(10) && revalidation > .seconds(9.99))
        found.revalidateUntil = stored.revalidateUntil
        found.origin = stored.origin
        found.seal = nil
        #expect(found == stored)
    }

    @Test("Nothing is kept for longer than it may be")
    func neverLonger() async throws {
        let clock = HandMovedTime()
        let level = MemoryLevel<Int, Int>(limit: .entries(10), time: clock.clock, isTended: false)
        var random = SplitMix64(seed: 9)
        for _ in 0..<2000 {
            clock.advance(by: .nanoseconds(Int64.random(in: 0...1_000_000_000, using: &random)))
            let now = clock.now
            func later(_ instant: MonotonicInstant) -> MonotonicInstant {
                let most = Int64(1) << Int64.random(in: 1...62, using: &random)
                return instant.advanced(byNanoseconds: Int64.random(in: 0...most, using: &random))
            }
            let refreshAt = later(now.advanced(by: .nanoseconds(1)))
            let freshUntil = later(refreshAt)
            let revalidateUntil = later(freshUntil)
            let stored = Entry(
                .value(1),
                freshUntil: freshUntil,
                staleUntil: later(revalidateUntil),
                refreshAt: refreshAt,
                revalidateUntil: revalidateUntil,
                storedAt: now.advanced(byNanoseconds: -Int64.random(in: 0...1 << 50, using: &random)),
                asOf: UInt64.random(in: 0...2, using: &random)
            )
            try await level.store(stored, for: 1)
            let found = try #require(try await level.entry(for: 1, ReadRequest()))
            #expect(found.refreshAt == stored.refreshAt && found.asOf == stored.asOf)
            #expect(found.freshUntil <= stored.freshUntil && found.staleUntil <= stored.staleUntil)
            #expect(found.revalidateUntil <= stored.revalidateUntil)
            #expect(found.freshUntil <= found.staleUntil && found.revalidateUntil <= found.staleUntil)
            let age = try #require(found.age(at: now)) - stored.age(at: now)!
            #expect(max(age, .zero - age) <= .milliseconds(17))
        }
    }

    @Test("What was made stale by hand is not served as fresh")
    func agedByHand() async throws {
        let level = MemoryLevel<Int, Int>(limit: .entries(10))
        var entry = Entry(.value(1), staleUntil: .distantFuture, version: .random())
        entry.freshUntil = .now
        try await level.store(entry, for: 1)
        #expect(level.resident(1, at: .now) == nil)
        let found = try #require(try await level.entry(for: 1, ReadRequest()))
        #expect(!found.isFresh(at: .now) && found.isUsable(at: .now))
    }

    @Test("What has no end, or is of unknown age, stays so")
    func endless() async throws {
        let level = MemoryLevel<Int, Int>(limit: .entries(10))
        try await level.store(Entry(.value(1), version: .random()), for: 1)
        let found = try #require(try await level.entry(for: 1, ReadRequest()))
        #expect(found.freshUntil == .distantFuture && found.staleUntil == .distantFuture)
        #expect(found.storedAt == .distantPast && found.fetchDuration == .zero)
    }
}
