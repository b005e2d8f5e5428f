#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// The processor time of the calling thread: what others do on the machine is not in it.
enum ThreadTime {
    /// In nanoseconds.
    static var nanoseconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}
