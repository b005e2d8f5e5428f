#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// How many processors this process may expect to run on.
enum ProcessorCount {
    /// Asked for once.
    static let online = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
}
