#if Disk
internal import Strata

/// The two clocks at one moment: lifetimes run on the monotonic one, which does not outlive the machine's boot, and are
/// noted on disk by the other.
struct ClockReading: Sendable {
    let monotonic: MonotonicInstant
    /// Milliseconds since 1970.
    let wall: Int64

    /// A moment on disk; what never ends stays so.
    func milliseconds(_ instant: MonotonicInstant) -> Int64 {
        guard instant != .distantFuture else { return DiskSchema.never }
        let (sum, overflow) = wall.addingReportingOverflow(monotonic.nanoseconds(to: instant) / 1_000_000)
        return overflow ? DiskSchema.never : sum
    }

    /// A moment of this process, no later than `longest` from now.
    func instant(_ milliseconds: Int64, longest: Int64) -> MonotonicInstant {
        guard milliseconds != DiskSchema.never else { return .distantFuture }
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(wall)
        guard !overflow else { return milliseconds > wall ? .distantFuture : .distantPast }
        let (nanoseconds, tooMany) = min(difference, longest).multipliedReportingOverflow(by: 1_000_000)
        guard !tooMany else { return difference > 0 ? .distantFuture : .distantPast }
        return monotonic.advanced(byNanoseconds: nanoseconds)
    }
}

/// Tells the time; tests have their own.
struct WallClock: Sendable {
    var now: @Sendable () -> ClockReading

    /// The wall clock beside a cache's clock: one that a test moves stands still, and moves with it.
    static func beside(_ clock: CacheClock) -> WallClock {
        guard let moved = clock.moved else { return .system }
        return WallClock {
            let now = moved.now
            return ClockReading(monotonic: now, wall: now.advanced(byNanoseconds: moved.epoch).nanoseconds / 1_000_000)
        }
    }

    /// A thread may stand still between the readings of two clocks, and lifetimes would change by that time: such a pair
    /// is read again, up to eight times.
    static let system = WallClock {
        var (reading, gap) = pair()
        for _ in 0..<7 where gap > 1_000_000 {
            let (next, nextGap) = pair()
            if nextGap < gap { (reading, gap) = (next, nextGap) }
        }
        return reading
    }

    /// Both clocks, and how many nanoseconds lay between the readings at most.
    private static func pair() -> (ClockReading, Int64) {
        let before = MonotonicInstant.now
        let wall = WallTime.now
        return (ClockReading(monotonic: before, wall: wall), before.nanoseconds(to: .now))
    }
}
#endif
