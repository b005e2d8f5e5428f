#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What a process calls itself to others.
enum InstanceName {
    /// `host/pid`.
    static let current: String = {
        var name = [CChar](repeating: 0, count: 256)
        let host = gethostname(&name, name.count - 1) == 0 ? name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) } : []
        return "\(String(decoding: host, as: UTF8.self))/\(getpid())"
    }()
}
