#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The clock of histories: nanoseconds of `CLOCK_MONOTONIC`.
///
/// All processes of one machine read the same clock, so times of different processes may be compared exactly; no
/// adjustment of the wall clock disturbs it. Times of different machines, or from before a restart, mean nothing
/// together.
public enum HistoryClock {
    /// The time now, in nanoseconds.
    ///
    /// About 20 ns a call.
    public static func now() -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(bitPattern: Int64(time.tv_sec)) &* 1_000_000_000 &+ UInt64(bitPattern: Int64(time.tv_nsec))
    }
}
