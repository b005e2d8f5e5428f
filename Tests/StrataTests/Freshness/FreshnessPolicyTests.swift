import Strata
import Testing

@Suite("Lifetimes by policy")
struct FreshnessPolicyTests {
    private func lifetimes(
        _ policy: FreshnessPolicy,
        absent: Bool = false,
        fingerprint: UInt64 = 0
    ) -> (fresh: Duration, kept: Duration) {
        policy.lifetimes(of: absent ? Entry<Int>.Content.absent : .value(1), fingerprint: fingerprint)
    }

    private static let century = Duration.seconds(100 * 365 * 86_400)

    @Test("early refreshes of a slow source are spread over the second half of the lifetime")
    func slowSource() throws {
        let policy = FreshnessPolicy(jitter: 0, earlyRefresh: 1)
        let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)
        // A fetch that takes a hundred lifetimes: each refresh would be due in the first half.
        var entry = Entry(
            .value(1),
            freshUntil: start.advanced(by: .seconds(10)),
            storedAt: start,
            fetchDuration: .seconds(1_000)
        )
        let ahead = (0..<400)
            .map { _ in
                policy.complete(&entry)
                return start.duration(to: entry.refreshAt)
            }
        #expect(ahead.allSatisfy { (.seconds(5) ... .seconds(10)).contains($0) })
        #expect(ahead.count { $0 < .milliseconds(5_500) } < 200)
    }

    @Test("without jitter a lifetime is what the policy says; stale time comes on top")
    func plain() {
        let policy = FreshnessPolicy(
            freshFor: .seconds(60),
            staleIfError: .seconds(30),
            absentFor: .seconds(5),
            jitter: 0
        )
        for fingerprint in [0, 1, 1 << 63, .max] as [UInt64] {
            #expect(lifetimes(policy, fingerprint: fingerprint) == (.seconds(60), .seconds(90)))
            #expect(lifetimes(policy, absent: true, fingerprint: fingerprint) == (.seconds(5), .seconds(5)))
        }
    }

    @Test("the defaults are those of the documentation")
    func defaults() {
        let policy = FreshnessPolicy()
        #expect(policy.freshFor == .seconds(300))
        #expect(policy.staleIfError == .zero)
        #expect(policy.absentFor == .seconds(30))
        #expect(policy.jitter == 0.05)
    }

    @Test("jitter shortens by at most its share, the same for every write of a key")
    func jitter() {
        let policy = FreshnessPolicy(freshFor: .seconds(100), jitter: 0.05)
        var seen: Set<Duration> = []
        for step in 0..<1_000 as Range<UInt64> {
            let fingerprint = step &* 0x9e37_79b9_7f4a_7c15
            let fresh = lifetimes(policy, fingerprint: fingerprint).fresh
            #expect(fresh > .seconds(95) && fresh <= .seconds(100))
            #expect(lifetimes(policy, fingerprint: fingerprint).fresh == fresh)
            seen.insert(fresh)
        }
        #expect(seen.count == 1_000)
        #expect(lifetimes(policy, fingerprint: 0).fresh == .seconds(100))
        #expect(lifetimes(policy, fingerprint: .max).fresh < .milliseconds(95_001))
    }

    @Test(
        "a jitter outside of 0 to 1 is taken for the nearer of the two, one that is no number for none",
        arguments: [
            (-1, .seconds(100)), (-.infinity, .seconds(100)), (.nan, .seconds(100)), (-.nan, .seconds(100)),
            (.signalingNaN, .seconds(100)), (0, .seconds(100)), (1, .milliseconds(1)), (2, .milliseconds(1)),
            (.infinity, .milliseconds(1)), (.greatestFiniteMagnitude, .milliseconds(1)),
        ] as [(Double, Duration)]
    )
    func oddJitter(jitter: Double, fresh: Duration) {
        let policy = FreshnessPolicy(freshFor: .seconds(100), jitter: jitter)
        #expect(lifetimes(policy, fingerprint: .max).fresh == fresh)
    }

    @Test(
        "lifetimes of nothing or less last a millisecond",
        arguments: [.zero, .nanoseconds(1), .seconds(-1), .seconds(Int64.min)] as [Duration]
    )
    func short(duration: Duration) {
        for jitter in [0, 0.05, 1] {
            let policy = FreshnessPolicy(
                freshFor: duration,
                staleIfError: duration,
                absentFor: duration,
                jitter: jitter
            )
            let (fresh, kept) = lifetimes(policy, fingerprint: .max)
            #expect(fresh == .milliseconds(1))
            #expect(kept >= fresh && kept <= .milliseconds(1) + .nanoseconds(1))
            #expect(lifetimes(policy, absent: true, fingerprint: .max) == (.milliseconds(1), .milliseconds(1)))
        }
    }

    @Test(
        "lifetimes of a thousand years and more are cut to a century",
        arguments: [.seconds(31_556_952_000), .seconds(Int64.max), .seconds(1e19)] as [Duration]
    )
    func long(duration: Duration) {
        let policy = FreshnessPolicy(freshFor: duration, staleIfError: duration, absentFor: duration, jitter: 0)
        // A century in attoseconds has more digits than a Double.
        let slack = Duration.microseconds(1)
        let value = lifetimes(policy)
        let absence = lifetimes(policy, absent: true)
        for (found, expected) in [
            (value.fresh, Self.century), (value.kept, Self.century * 2), (absence.fresh, Self.century),
            (absence.kept, Self.century),
        ] {
            #expect(found > expected - slack && found < expected + slack)
        }
        let end = MonotonicInstant.now.advanced(by: lifetimes(policy).kept)
        #expect(end > .now && end < .distantFuture)
    }
}
