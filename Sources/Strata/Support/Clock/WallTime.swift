#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// The clock by which machines agree, more or less, on what time it is.
///
/// Used only by what has to outlive a process and has no other clock to go by.
package enum WallTime {
    /// Milliseconds since 1970.
    package static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
