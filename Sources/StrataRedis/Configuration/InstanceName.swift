#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What a process calls itself to others.
enum InstanceName {
    /// The name of the machine.
    static let host: String = {
        var name = [CChar](repeating: 0, count: 256)
        let host = gethostname(&name, name.count - 1) == 0 ? name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) } : []
        return String(decoding: host, as: UTF8.self)
    }()

    /// The number of the process.
    static var process: Int { Int(getpid()) }

    /// `host/pid`.
    static let current = "\(host)/\(process)"

    /// A name as `CLIENT SETNAME` takes it: 200 characters at most, with `_` for spaces and what is not printable
    /// ASCII.
    static func connectionName(_ name: String) -> String {
        String(
            decoding: name.utf8.prefix(200).map { (0x21...0x7e).contains($0) ? $0 : UInt8(ascii: "_") },
            as: UTF8.self
        )
    }
}
