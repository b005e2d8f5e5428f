internal import Strata

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The look-up of a host name on a thread of its own, because `getaddrinfo` blocks for as long as it likes.
final class Resolution: Sendable {
    private let outcome = Locked<Result<[SocketAddress], RedisError>?>(nil)

    /// What the look-up found, `nil` while it runs.
    var result: Result<[SocketAddress], RedisError>? { outcome.withLock { $0 } }

    /// Starts a look-up.
    ///
    /// - Parameters:
    ///   - host: A name or a numeric address.
    ///   - port: The port that the addresses get.
    ///   - lookUp: Asks in place of the system.
    ///   - finished: Called on the look-up's thread when `result` is there.
    init(
        host: String,
        port: UInt16,
        by lookUp: (@Sendable (String, UInt16) -> Result<[SocketAddress], RedisError>)? = nil,
        finished: @escaping @Sendable () -> Void
    ) {
        let status = NativeThread.start(name: "strata-resolve") { [self] in
            let found = lookUp?(host, port) ?? Self.resolve(host: host, port: port)
            outcome.withLock { $0 = found }
            finished()
        }
        guard status != 0 else { return }
        outcome.withLock {
            $0 = .failure(RedisError(code: .connectionFailed, message: "no thread to resolve the name on"))
        }
        finished()
    }

    static func resolve(host: String, port: UInt16) -> Result<[SocketAddress], RedisError> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        #if canImport(Glibc)
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        hints.ai_socktype = SOCK_STREAM
        #endif
        hints.ai_flags = AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        guard status == 0 else {
            let reason = String(cString: gai_strerror(status))
            return .failure(RedisError(code: .connectionFailed, message: "the name cannot be resolved: \(reason)"))
        }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = list
        while let entry = next {
            if let address = entry.pointee.ai_addr {
                let bytes = UnsafeRawBufferPointer(start: address, count: Int(entry.pointee.ai_addrlen))
                addresses.append(SocketAddress(family: entry.pointee.ai_family, bytes: bytes))
            }
            next = entry.pointee.ai_next
        }
        guard !addresses.isEmpty else {
            return .failure(RedisError(code: .connectionFailed, message: "the name has no address"))
        }
        return .success(addresses)
    }
}
