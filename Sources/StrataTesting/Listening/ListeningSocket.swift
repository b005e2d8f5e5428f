#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A socket that accepts connections, without ever waiting for one.
final class ListeningSocket: Sendable {
    private typealias Accept4 =
        @convention(c) (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?, Int32) -> Int32

    #if canImport(Darwin)
    private static let acceptClosingOnExec: Accept4? = nil
    private static let acceptFlags: Int32 = 0
    #else
    private static let acceptClosingOnExec = unsafe SystemCall.hidden("accept4", as: Accept4.self)
    private static let acceptFlags = Int32(SOCK_CLOEXEC.rawValue)
    #endif

    /// Where it listens, with the port that was really taken.
    let endpoint: TestEndpoint
    private let descriptor: Descriptor
    private let isTCP: Bool

    var number: Int32 { descriptor.number }

    /// Listens at `endpoint`; port 0 takes a free port.
    ///
    /// A socket file in the way is replaced.
    init(at endpoint: TestEndpoint) throws {
        let address = try SocketAddress.numeric(endpoint)
        descriptor = try Self.bound(to: address, replacing: endpoint)
        isTCP = address.family != AF_UNIX
        guard listen(descriptor.number, 128) == 0 else { throw SystemCall.failure(.connectionFailed, "listen") }
        descriptor.makeNonBlocking()
        switch endpoint {
        case .unix: self.endpoint = endpoint
        case .tcp(let host, _): self.endpoint = .tcp(host: host, port: try Self.port(of: descriptor))
        }
    }

    deinit {
        // Not left to the close: a child that is just being started holds a copy of the socket until its exec, and the
        // kernel would go on accepting for that long.
        shutdown(descriptor.number, Int32(SHUT_RDWR))
    }

    /// The next waiting connection; `nil` when none waits.
    func accept() -> StreamSocket? {
        while true {
            let number: Int32
            if let accept = unsafe Self.acceptClosingOnExec {
                number = accept(descriptor.number, nil, nil, Self.acceptFlags)
            } else {
                #if canImport(Darwin)
                number = Darwin.accept(descriptor.number, nil, nil)
                #elseif canImport(Musl)
                number = Musl.accept(descriptor.number, nil, nil)
                #else
                number = Glibc.accept(descriptor.number, nil, nil)
                #endif
            }
            if number >= 0 {
                let accepted = Descriptor(number)
                accepted.prepareSocket()
                accepted.makeNonBlocking()
                return StreamSocket(accepted, isTCP: isTCP)
            }
            // A connection that was reset while it waited is no reason to stop accepting.
            if errno != EINTR, errno != ECONNABORTED { return nil }
        }
    }

    /// A socket bound to an address, but not listening; others may bind it as well, and one of them may listen.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - endpoint: The same for error messages; a socket file in the way is replaced.
    ///   - isFirst: Whether it fails where another socket is bound there already, also one that would share.
    /// - Returns: The socket.
    /// - Throws: ``HarnessError``.
    static func bound(
        to address: SocketAddress,
        replacing endpoint: TestEndpoint,
        isFirst: Bool = false
    ) throws -> Descriptor {
        let descriptor = try StreamSocket.open(address.family)
        if case .unix(let path) = endpoint { unsafe unlink(path) } else if !isFirst { share(descriptor) }
        let result = unsafe address.withPointer { unsafe bind(descriptor.number, $0, $1) }
        guard result == 0 else { throw SystemCall.failure(.invalidAddress, "bind to \(endpoint)") }
        if isFirst { share(descriptor) }
        return descriptor
    }

    /// Lets others that share bind the same address.
    private static func share(_ descriptor: Descriptor) {
        var on: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        _ = unsafe setsockopt(descriptor.number, SOL_SOCKET, SO_REUSEADDR, &on, size)
    }

    /// The TCP port that a socket is bound to.
    static func port(of descriptor: Descriptor) throws -> UInt16 {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = unsafe withUnsafeMutableBytes(of: &storage) { raw in
            unsafe getsockname(descriptor.number, raw.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
        }
        guard result == 0 else { throw SystemCall.failure(.invalidAddress, "getsockname") }
        // The port stands at the same place in the addresses of IPv4 and IPv6.
        return unsafe withUnsafeBytes(of: &storage) { raw in
            unsafe UInt16(bigEndian: raw.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        }
    }
}
