#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// The processor time that this process has used.
enum ProcessorTime {
    /// User and system time together, in microseconds.
    static var microseconds: Double {
        var usage = rusage()
        #if canImport(Darwin)
        getrusage(RUSAGE_SELF, &usage)
        #else
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #endif
        return usage.ru_utime.microseconds + usage.ru_stime.microseconds
    }
}

extension timeval {
    fileprivate var microseconds: Double { Double(tv_sec) * 1e6 + Double(tv_usec) }
}
