internal import Strata

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The thin shell between a connection's state machine and its socket.
///
/// Lives and dies on the I/O thread.
final class ConnectionDriver {
    private enum Link {
        case closed
        case resolving(Resolution)
        case connecting(Socket, until: MonotonicInstant)
        case open(Socket)
    }

    private let connection: Connection
    private let configuration: RedisConfiguration
    private let wakeup: Wakeup
    private let observer: ConnectionObserver
    private var link = Link.closed
    /// Addresses that were found and not tried yet.
    private var addresses: ArraySlice<SocketAddress> = []
    private var openUntil = MonotonicInstant.distantFuture
    /// A look-up that outlived its attempt.
    ///
    /// It is waited for instead of starting a second thread beside it.
    private var lateResolution: Resolution?
    private var reader: ReplyReader
    private var sending = CommandWriter()
    private var sent = 0
    private let receiveBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    private var replies: [RESPValue] = []
    private var completions: [ConnectionMachine<Connection.Promise>.Completion] = []

    init(connection: Connection, configuration: RedisConfiguration, wakeup: Wakeup, observer: ConnectionObserver) {
        self.connection = connection
        self.configuration = configuration
        self.wakeup = wakeup
        self.observer = observer
        reader = ReplyReader(limits: configuration.replyLimits)
        replies.reserveCapacity(256)
        completions.reserveCapacity(256)
    }

    deinit { receiveBuffer.deallocate() }

    // MARK: What the loop asks

    /// The descriptor to wait for and what for; `nil` when only time or another thread moves this connection.
    var interest: (descriptor: Int32, events: Int16)? {
        switch link {
        case .connecting(let socket, _): (socket.descriptor, Int16(POLLOUT))
        case .open(let socket):
            (socket.descriptor, Int16(POLLIN) | (sent < sending.count ? Int16(POLLOUT) : 0))
        case .closed, .resolving: nil
        }
    }

    var nextDeadline: MonotonicInstant {
        let deadline = connection.withMachine { $0.nextDeadline }
        if case .connecting(_, let until) = link { return min(deadline, until) }
        return deadline
    }

    var isFinished: Bool { connection.withMachine { $0.phase == .closed } }

    /// Lets time pass, takes what callers left, and sends.
    func pump(now: MonotonicInstant) {
        while let action = connection.withMachine({ $0.advance(now: now, &completions) }) { perform(action, now: now) }
        switch link {
        case .resolving(let resolution):
            if let result = resolution.result { resolved(result, now: now) }
        case .connecting(_, let until) where now >= until:
            connectFailed(SystemError(number: ETIMEDOUT), now: now)
        default: break
        }
        flush(now: now)
        settle()
    }

    /// The socket has something to say.
    func handle(events: Int16, now: MonotonicInstant) {
        if case .connecting(let socket, _) = link {
            if let error = socket.connectError() {
                connectFailed(error, now: now)
            } else {
                connected()
            }
        } else if events & ~Int16(POLLOUT) != 0 {
            receive(now: now)
        }
        settle()
    }

    // MARK: Connecting

    private func perform(_ action: ConnectionMachine<Connection.Promise>.Action, now: MonotonicInstant) {
        switch action {
        case .close:
            drop()
            // The state machine has given the connection up by itself, so nobody else tells.
            let error = connection.withMachine { $0.phase == .waiting ? $0.lastError : nil }
            if let error { observer.failed(error) }
        case .open: open(now: now)
        }
    }

    private func open(now: MonotonicInstant) {
        openUntil = now.advanced(by: configuration.connectTimeout)
        switch configuration.endpoint.address {
        case .unix(let path):
            addresses = SocketAddress(path: path).map { [$0] } ?? []
            connectNext(after: SystemError(number: ENAMETOOLONG), now: now)
        case .tcp(let host, let port):
            let resolution = lateResolution ?? Resolution(host: host, port: port) { [wakeup] in wakeup.signal() }
            lateResolution = nil
            link = .resolving(resolution)
            if let result = resolution.result { resolved(result, now: now) }
        }
    }

    private func resolved(_ result: Result<[SocketAddress], RedisError>, now: MonotonicInstant) {
        switch result {
        case .success(let found):
            addresses = found[...]
            connectNext(after: SystemError(number: EHOSTUNREACH), now: now)
        case .failure(var error):
            error.endpoint = configuration.endpoint.description
            openFailed(error, now: now)
        }
    }

    /// Tries address after address, each with its share of the time that is left.
    private func connectNext(after error: SystemError, now: MonotonicInstant) {
        var error = error
        while let address = addresses.popFirst() {
            switch Socket.connect(to: address) {
            case .success((let descriptor, true)):
                link = .open(Socket(descriptor: descriptor))
                return connected()
            case .success((let descriptor, false)):
                let share = now.nanoseconds(to: openUntil) / Int64(addresses.count + 1)
                link = .connecting(Socket(descriptor: descriptor), until: now.advanced(byNanoseconds: max(share, 1)))
                return
            case .failure(let failure): error = failure.error
            }
        }
        let message = "cannot connect: \(error)"
        openFailed(
            RedisError(code: .connectionFailed, message: message, endpoint: configuration.endpoint.description),
            now: now
        )
    }

    private func connectFailed(_ error: SystemError, now: MonotonicInstant) {
        link = .closed
        connectNext(after: error, now: now)
    }

    private func connected() {
        if case .connecting(let socket, _) = link { link = .open(socket) }
        connection.withMachine { $0.opened() }
    }

    private func openFailed(_ error: RedisError, now: MonotonicInstant) {
        link = .closed
        connection.withMachine { $0.openFailed(error, now: now, &completions) }
        observer.failed(error)
    }

    // MARK: Sending and receiving

    private func flush(now: MonotonicInstant) {
        while true {
            if sent == sending.count {
                sending.removeAll()
                sent = 0
                connection.withMachine { $0.exchangeOutput(with: &sending) }
                if sending.isEmpty { return }
            }
            guard case .open(let socket) = link else { return }
            let rest = UnsafeRawBufferPointer(rebasing: sending.bytes[sent...])
            switch socket.send(rest) {
            case .moved(let count): sent += count
            case .wouldBlock, .ended: return
            case .failed(let error): return lost("the connection broke: \(error)", now: now)
            }
        }
    }

    private func receive(now: MonotonicInstant) {
        // A connection that never runs dry must not starve the others, nor its own writes.
        for _ in 0..<8 {
            guard case .open(let socket) = link else { return }
            let buffer = receiveBuffer
            switch socket.receive(into: buffer) {
            case .moved(let count):
                accept(UnsafeRawBufferPointer(rebasing: buffer[..<count]), now: now)
                if count < buffer.count { return }
            case .wouldBlock: return
            case .ended: return lost("the server closed the connection", now: now)
            case .failed(let error): return lost("the connection broke: \(error)", now: now)
            }
        }
    }

    private func accept(_ bytes: UnsafeRawBufferPointer, now: MonotonicInstant) {
        var violation: ReplyReader.Violation?
        do { try reader.read(bytes, into: &replies) } catch { violation = error }
        let wasReady = connection.withMachine { $0.phase == .ready }
        let unsent = sending.count - sent
        let action = connection.withMachine { $0.received(&replies, unsent: unsent, now: now, &completions) }
        replies.removeAll(keepingCapacity: true)
        if let action {
            perform(action, now: now)
        } else if let violation {
            lost("the server broke the protocol: \(violation.message)", code: .protocolViolation, now: now)
        } else if !wasReady, connection.withMachine({ $0.phase == .ready }) {
            observer.ready()
        }
    }

    private func lost(_ message: String, code: RedisError.Code = .connectionLost, now: MonotonicInstant) {
        let error = RedisError(code: code, message: message, endpoint: configuration.endpoint.description)
        let unsent = sending.count - sent
        connection.withMachine { $0.lost(error, unsent: unsent, now: now, &completions) }
        drop()
        observer.failed(error)
    }

    private func drop() {
        if case .resolving(let resolution) = link { lateResolution = resolution }
        link = .closed
        addresses = []
        sending.removeAll()
        sent = 0
        replies.removeAll()
        reader = ReplyReader(limits: configuration.replyLimits)
    }

    /// Resumes the callers that are done, outside every lock.
    private func settle() {
        guard !completions.isEmpty else { return }
        for (promise, outcome) in completions {
            switch outcome {
            case .success(let reply): promise.resume(returning: reply)
            case .failure(let error): promise.resume(throwing: error)
            }
        }
        completions.removeAll(keepingCapacity: true)
    }
}
