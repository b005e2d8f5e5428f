#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A non-blocking stream socket, closed when it goes away.
///
/// Lives on the I/O thread.
final class Socket {
    enum Transfer {
        case moved(Int)
        case wouldBlock
        case ended
        case failed(SystemError)
        /// What is on top of the socket does not go on, whatever the socket does.
        case refused(RedisError)
    }

    let descriptor: Int32

    /// Begins to connect.
    ///
    /// - Returns: The socket, and whether it is connected already (Unix sockets are at once).
    static func connect(to address: SocketAddress) -> Result<(descriptor: Int32, connected: Bool), SystemFailure> {
        let descriptor = open(family: address.family)
        guard descriptor >= 0 else { return .failure(SystemFailure(error: .current)) }
        if address.family != AF_UNIX { configureTCP(descriptor) }
        let status = address.withSockaddr { address, length in
            #if canImport(Darwin)
            Darwin.connect(descriptor, address, length)
            #elseif canImport(Musl)
            Musl.connect(descriptor, address, length)
            #else
            Glibc.connect(descriptor, address, length)
            #endif
        }
        if status == 0 { return .success((descriptor, true)) }
        let error = SystemError.current
        if error.number == EINPROGRESS { return .success((descriptor, false)) }
        close(descriptor)
        return .failure(SystemFailure(error: error))
    }

    struct SystemFailure: Error {
        let error: SystemError
    }

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// The outcome of a connect that was under way, once the socket is writable: `nil` when it is connected.
    func connectError() -> SystemError? {
        var number: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &length) == 0 else { return .current }
        return number == 0 ? nil : SystemError(number: number)
    }

    func send(_ bytes: UnsafeRawBufferPointer) -> Transfer {
        while true {
            #if canImport(Darwin)
            let count = Darwin.send(descriptor, bytes.baseAddress, bytes.count, 0)
            #elseif canImport(Musl)
            let count = Musl.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            #else
            let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            #endif
            if count >= 0 { return .moved(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN, EWOULDBLOCK: return .wouldBlock
            default: return .failed(.current)
            }
        }
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .moved(count) }
            if count == 0 { return .ended }
            switch errno {
            case EINTR: continue
            case EAGAIN, EWOULDBLOCK: return .wouldBlock
            default: return .failed(.current)
            }
        }
    }

    /// A socket that no child process inherits.
    private static func open(family: Int32) -> Int32 {
        #if canImport(Glibc)
        let flags = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        return socket(family, flags, 0)
        #elseif canImport(Musl)
        return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)
        #else
        let descriptor = socket(family, SOCK_STREAM, 0)
        guard descriptor >= 0 else { return descriptor }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        set(descriptor, SOL_SOCKET, SO_NOSIGPIPE, 1)
        return descriptor
        #endif
    }

    /// Keepalive finds a peer that vanished while the link is idle; it does not run while sent bytes wait for their
    /// acknowledgement, which is what TCP_USER_TIMEOUT bounds (StackExchange.Redis#1848: 15 minutes of outage without
    /// it).
    private static func configureTCP(_ descriptor: Int32) {
        set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        resetWhenClosed(descriptor)
        set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
        #if canImport(Darwin)
        set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPALIVE, 10)
        #else
        set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE, 10)
        set(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, 5_000)
        #endif
        set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL, 3)
        set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPCNT, 3)
    }

    /// Lets the close reset the connection.
    ///
    /// Otherwise the system goes on sending what the server has not acknowledged, minutes after the call was given up:
    /// the write would then happen long after newer ones. When all went well nothing is unsent, and a reset is as good
    /// an end as another.
    private static func resetWhenClosed(_ descriptor: Int32) {
        var linger = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        _ = setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
