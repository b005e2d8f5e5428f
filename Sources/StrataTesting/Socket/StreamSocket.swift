#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// One end of a connection.
///
/// Never raises SIGPIPE and is never inherited by a child. Closes when the last reference goes.
package final class StreamSocket: Sendable {
    /// What a send or a receive came to.
    package enum Outcome {
        case bytes(Int)
        case wouldBlock
        case ended
        case failed(String)
    }

    private let descriptor: Descriptor
    private let isTCP: Bool

    package var number: Int32 { descriptor.number }

    init(_ descriptor: Descriptor, isTCP: Bool) {
        self.descriptor = descriptor
        self.isTCP = isTCP
        if isTCP {
            set(SystemCall.tcpProtocol, TCP_NODELAY, 1)
        }
    }

    /// Begins to connect without waiting; the socket turns writable when the outcome is known (``takeError()``).
    package static func beginConnecting(to address: SocketAddress) throws -> StreamSocket {
        let descriptor = try open(address.family)
        descriptor.makeNonBlocking()
        let result = unsafe address.withPointer { unsafe connect(descriptor.number, $0, $1) }
        guard result == 0 || errno == EINPROGRESS else { throw SystemCall.failure(.connectionFailed, "connect") }
        return StreamSocket(descriptor, isTCP: address.family != AF_UNIX)
    }

    static func open(_ family: Int32) throws -> Descriptor {
        #if canImport(Darwin)
        let type = SystemCall.streamType
        #else
        let type = SystemCall.streamType | Int32(SOCK_CLOEXEC.rawValue)
        #endif
        let number = socket(family, type, 0)
        guard number >= 0 else { throw SystemCall.failure(.connectionFailed, "socket") }
        let descriptor = Descriptor(number)
        descriptor.prepareSocket()
        return descriptor
    }

    /// The error that a pending connect or an earlier call left on the socket; `nil` when there is none.
    package func takeError() -> String? {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe getsockopt(number, SOL_SOCKET, SO_ERROR, &value, &size) == 0 else { return "getsockopt" }
        return value == 0 ? nil : SystemCall.text(of: value)
    }

    /// Sends as much as the socket takes at once.
    package func send(_ bytes: ArraySlice<UInt8>) -> Outcome {
        while true {
            let sent = unsafe bytes.withUnsafeBytes { raw in
                #if canImport(Darwin)
                unsafe Darwin.send(number, raw.baseAddress, raw.count, SystemCall.sendFlags)
                #elseif canImport(Musl)
                unsafe Musl.send(number, raw.baseAddress, raw.count, SystemCall.sendFlags)
                #else
                unsafe Glibc.send(number, raw.baseAddress, raw.count, SystemCall.sendFlags)
                #endif
            }
            if sent >= 0 { return .bytes(sent) }
            if errno != EINTR { return Self.outcomeOfFailure() }
        }
    }

    /// Receives at most `limit` bytes into `buffer`, whose first bytes are overwritten.
    package func receive(into buffer: inout [UInt8], limit: Int) -> Outcome {
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { raw in
                unsafe recv(number, raw.baseAddress, min(limit, raw.count), 0)
            }
            if count > 0 { return .bytes(count) }
            if count == 0 { return .ended }
            if errno != EINTR { return Self.outcomeOfFailure() }
        }
    }

    /// Tells the peer that nothing more will come (FIN).
    package func endWriting() {
        shutdown(number, Int32(SHUT_WR))
    }

    /// Resets the connection (RST), with nothing more sent; the socket is of no use afterwards.
    ///
    /// A Unix-domain socket knows no reset.
    package func reset() {
        guard isTCP else { return }
        var linger = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(number, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        #if os(Linux)
        // Not left to the close: a child that is just being started holds a copy of the socket until its exec, and the
        // connection would live on for that long.
        var nowhere = sockaddr()
        nowhere.sa_family = sa_family_t(AF_UNSPEC)
        _ = unsafe connect(number, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
        #endif
    }

    /// Reads and drops what has arrived, so that the coming close is a FIN: the kernel answers unread bytes by RST.
    func discardArrived(upTo limit: Int) {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        var left = limit
        while left > 0, case .bytes(let count) = receive(into: &buffer, limit: min(left, buffer.count)) {
            left -= count
        }
    }

    private func set(_ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        _ = unsafe setsockopt(number, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func outcomeOfFailure() -> Outcome {
        let number = errno
        return number == EAGAIN || number == EWOULDBLOCK ? .wouldBlock : .failed(SystemCall.text(of: number))
    }
}
