#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A socket address in the form that `bind` and `connect` take.
package struct SocketAddress: Sendable {
    let family: Int32
    private let bytes: [UInt8]

    /// The address of an endpoint whose host is numeric or `localhost`.
    ///
    /// Never asks a name server, so it never blocks.
    package static func numeric(_ endpoint: TestEndpoint) throws -> SocketAddress {
        switch endpoint {
        case .unix(let path):
            return try unix(path)
        case .tcp(let host, let port):
            let host = host == "localhost" ? "127.0.0.1" : host
            guard let address = try lookUp(host, port, flags: AI_NUMERICHOST).first else {
                throw HarnessError(.invalidAddress, "no address for \(host)")
            }
            return address
        }
    }

    /// All addresses of an endpoint.
    ///
    /// May ask a name server: call it on a thread that may block.
    static func resolved(_ endpoint: TestEndpoint) throws -> [SocketAddress] {
        switch endpoint {
        case .unix(let path): [try unix(path)]
        case .tcp(let host, let port): try lookUp(host, port, flags: 0)
        }
    }

    /// Calls `body` with the address as C sees it.
    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        unsafe bytes.withUnsafeBytes { raw in
            guard let base = raw.baseAddress else { preconditionFailure("an address is never empty") }
            return unsafe body(base.assumingMemoryBound(to: sockaddr.self), socklen_t(raw.count))
        }
    }

    private static func unix(_ path: String) throws -> SocketAddress {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        let name = Array(path.utf8)
        guard !name.isEmpty, name.count < capacity, !name.contains(0) else {
            throw HarnessError(
                .invalidAddress,
                "a socket path holds 1 to \(capacity - 1) bytes and no NUL; this one has \(name.count): \(path)"
            )
        }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
        return unsafe withUnsafeBytes(of: &address) { unsafe SocketAddress(family: AF_UNIX, bytes: Array($0)) }
    }

    private static func lookUp(_ host: String, _ port: UInt16, flags: Int32) throws -> [SocketAddress] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = flags
        unsafe hints.ai_socktype = SystemCall.streamType
        var head: UnsafeMutablePointer<addrinfo>? = nil
        let status = unsafe getaddrinfo(host, String(port), &hints, &head)
        guard status == 0 else {
            let reason = unsafe gai_strerror(status).map { unsafe String(cString: $0) } ?? "error \(status)"
            throw HarnessError(.invalidAddress, "\(host): \(reason)")
        }
        defer { unsafe freeaddrinfo(head) }
        var found: [SocketAddress] = []
        var next = unsafe head
        while let current = unsafe next {
            if let address = unsafe current.pointee.ai_addr {
                let raw = unsafe UnsafeRawBufferPointer(start: address, count: Int(current.pointee.ai_addrlen))
                found.append(unsafe SocketAddress(family: current.pointee.ai_family, bytes: Array(raw)))
            }
            unsafe next = current.pointee.ai_next
        }
        return found
    }
}
