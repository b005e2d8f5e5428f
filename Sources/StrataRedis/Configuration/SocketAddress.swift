#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The address of a socket, as the system wants it.
struct SocketAddress: Sendable, Hashable {
    let family: Int32
    private let bytes: [UInt8]

    /// The longest path of a Unix socket, its terminator included.
    static let longestPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path)

    init(family: Int32, bytes: UnsafeRawBufferPointer) {
        self.family = family
        self.bytes = Array(bytes)
    }

    /// The address of a Unix socket, `nil` when its path is too long.
    init?(path: String) {
        guard path.utf8.count < Self.longestPath else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { target in
            target.copyBytes(from: path.utf8)
        }
        self = withUnsafeBytes(of: &address) { SocketAddress(family: AF_UNIX, bytes: $0) }
    }

    func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        bytes.withUnsafeBytes { bytes in
            // Non-empty by construction: every initializer copies a whole sockaddr.
            body(bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
    }
}
