#if Disk
internal import Strata

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

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

    static let system = WallClock {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return ClockReading(
            monotonic: .now,
            wall: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
        )
    }
}
#endif
