import Strata
import Testing

@Suite("Monotonic instants")
struct MonotonicInstantTests {
    private func instant(_ nanoseconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: nanoseconds) }

    @Test(
        "adding stays within the clock",
        arguments: [
            (0, 1, 1), (5, -7, -2), (.max, 1, .max), (.max, .max, .max), (.max, -1, .max - 1), (.min, -1, .min),
            (.min, .min, .min), (.min, .max, -1), (.max, .min, -1), (1, .max, .max), (-1, .min, .min),
            (-2, .max, .max - 2),
        ] as [(Int64, Int64, Int64)]
    )
    func adding(start: Int64, step: Int64, expected: Int64) {
        #expect(instant(start).advanced(byNanoseconds: step) == instant(expected))
        #expect(instant(start).advanced(by: .nanoseconds(step)) == instant(expected))
    }

    @Test(
        "the time between two instants stays within its range",
        arguments: [
            (1, 3, 2), (3, 1, -2), (0, .max, .max), (0, .min, .min), (-1, .max, .max), (1, .min, .min),
            (.min, .max, .max),
            (.max, .min, .min), (.max, .max, 0), (.min, .min, 0), (.min, 0, .max), (.max, -1, .min), (.max, -2, .min),
        ] as [(Int64, Int64, Int64)]
    )
    func between(start: Int64, end: Int64, expected: Int64) {
        #expect(instant(start).nanoseconds(to: instant(end)) == expected)
        #expect(instant(start).duration(to: instant(end)) == .nanoseconds(expected))
    }

    @Test("no duration is too long or too short to be added")
    func extremeDurations() {
        let century = Duration.seconds(100 * 365 * 86_400)
        #expect(instant(0).advanced(by: century * 2).nanoseconds == 6_307_200_000_000_000_000)
        for long in [century * 3, .seconds(Int64.max), .seconds(1e19), .seconds(1e20)] {
            #expect(instant(0).advanced(by: long) == .distantFuture)
            #expect(instant(.min).advanced(by: long) > .distantPast)
            #expect(instant(0).advanced(by: .zero - long) == .distantPast)
        }
    }

    private static let step = Duration.nanoseconds(1)
    private static let half = Duration.nanoseconds(1) / 2
    private static let longest = Duration.nanoseconds(Int64.max)
    private static let shortest = Duration.nanoseconds(Int64.min)

    private static let small: [(Duration, Int64)] = [
        (.zero, 0), (step, 1), (.zero - step, -1), (half, 0), (.zero - half, 0), (step + half, 1),
        (.zero - step - half, -1),
        (.milliseconds(1_500), 1_500_000_000),
    ]

    private static let edge: [(Duration, Int64)] = [
        (longest, .max), (longest - step, .max - 1), (longest - half, .max - 1), (longest + half, .max),
        (longest + step, .max),
        (shortest, .min), (shortest + step, .min + 1), (shortest + half, .min + 1), (shortest - half, .min),
        (shortest - step, .min),
    ]

    private static let large: [(Duration, Int64)] = [
        (.seconds(9_223_372_036), 9_223_372_036_000_000_000), (.seconds(9_223_372_037), .max),
        (.seconds(-9_223_372_037), .min), (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
        (.seconds(1e19), .max), (.seconds(-1e19), .min), (.seconds(1.6e20), .max), (.seconds(-1.6e20), .min),
    ]

    @Test("durations in whole nanoseconds, towards zero and within their range", arguments: small + edge + large)
    func saturation(duration: Duration, expected: Int64) {
        #expect(duration.saturatedNanoseconds == expected)
    }

    @Test("both clocks move forward, the coarse one behind the exact one by at most a few ticks")
    func clocks() {
        var last = MonotonicInstant.now
        for _ in 0..<1_000 {
            let coarse = MonotonicInstant.coarse
            let now = MonotonicInstant.now
            #expect(now >= last && coarse <= now)
            last = now
        }
        #expect(instant(0) < instant(1))
        #expect(MonotonicInstant.distantPast < last)
        #expect(last < MonotonicInstant.distantFuture)
    }
}
