internal import Strata

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Makes one connection without blocking: finds out where the server is, resolves the name on a thread of its own,
/// tries address after address, and has the server prove who it is where the connection is encrypted.
///
/// Lives on the I/O thread.
final class Dialer {
    enum Outcome {
        case pending
        case connected(Socket, SecureSocket?)
        case failed(RedisError)
    }

    private enum Stage {
        case idle
        case authorizing
        case locating(UInt64)
        case resolving(Resolution)
        case connecting(Socket, until: MonotonicInstant)
        case securing(Socket, SecureSocket)
    }

    /// The server; with a locator the one that it has named last.
    private(set) var endpoint: RedisEndpoint
    private let locator: (any ServerLocator)?
    /// Which of the servers that the locator has named the last attempt went to.
    private var generation: UInt64 = 0
    private let timeout: Duration
    private let wakeup: Wakeup
    private let material: TLSMaterial?
    private let credentials: CredentialSource?
    private let lookUp: (@Sendable (String, UInt16) -> Result<[SocketAddress], RedisError>)?
    private var stage = Stage.idle
    /// Addresses that were found and not tried yet.
    private var addresses: ArraySlice<SocketAddress> = []
    private var deadline = MonotonicInstant.distantFuture
    /// The address that the last attempt went to, and when: what ended soon is not tried first again.
    private var lastTried: (address: SocketAddress, at: MonotonicInstant)?
    /// The server that has last spoken TLS.
    private var lastSecured: RedisEndpoint?
    /// How long a connection has to last for its address to be worth another attempt before the others, and a look-up
    /// that has ended is worth using.
    private static let soon: Int64 = 10_000_000_000
    /// A look-up that outlived its attempt.
    ///
    /// It is waited for instead of starting a second thread beside it.
    private var lateResolution: (resolution: Resolution, endpoint: RedisEndpoint, leftAt: MonotonicInstant)?

    /// - Parameters:
    ///   - configuration: The server, and the time for an attempt.
    ///   - wakeup: Wakes the I/O thread.
    ///   - material: The certificates and keys of an encrypted connection; `nil` if it is plain.
    ///   - locator: Says where the server is, if that has to be found out.
    init(
        _ configuration: RedisConfiguration,
        wakeup: Wakeup,
        material: TLSMaterial? = nil,
        locator: (any ServerLocator)? = nil
    ) {
        endpoint = configuration.endpoint
        self.locator = locator
        timeout = configuration.connectTimeout
        self.wakeup = wakeup
        self.material = material
        credentials = configuration.credentials
        lookUp = configuration.lookUp
    }

    /// A dialer of a client's own server.
    convenience init(_ thread: LoopThread) {
        self.init(
            thread.configuration,
            wakeup: thread.wakeup,
            material: thread.material,
            locator: thread.locator
        )
    }

    /// Whether the locator has named another server since.
    var isOutdated: Bool { locator.map { $0.generation != generation } ?? false }

    /// What to wait for; `nil` while a name is looked up.
    var interest: (descriptor: Int32, events: Int16)? {
        switch stage {
        case .connecting(let socket, _): (socket.descriptor, Int16(POLLOUT))
        case .securing(let socket, let secure):
            (socket.descriptor, Int16(POLLIN) | (secure.wantsToSend ? Int16(POLLOUT) : 0))
        case .idle, .authorizing, .locating, .resolving: nil
        }
    }

    var nextDeadline: MonotonicInstant {
        switch stage {
        case .connecting(_, let until): until
        case .securing, .authorizing: deadline
        case .idle, .locating, .resolving: .distantFuture
        }
    }

    /// Why the attempt ran out of time, where this end knows better than the one that set the limit.
    func overdue(now: MonotonicInstant) -> RedisError? {
        guard now >= deadline else { return nil }
        switch stage {
        case .securing(_, let secure): return located(secure.overdue(isKnown: lastSecured == endpoint))
        case .authorizing:
            let message = "the source of credentials has not answered within the connect timeout"
            // It may answer at any moment, so the next attempt need not wait as long as for a wrong password.
            return located(RedisError(code: .connectionFailed, message: message))
        default: return nil
        }
    }

    /// Why the attempt ran out of time, with the address that did not answer: it may be one that a Sentinel or a node
    /// of a cluster has named.
    func unreached(now: MonotonicInstant) -> RedisError? {
        guard now >= deadline else { return nil }
        switch stage {
        case .connecting:
            return located(RedisError(code: .connectionFailed, message: "no connection within the connect timeout"))
        case .resolving:
            let message = "the host's name was not resolved within the connect timeout"
            return located(RedisError(code: .connectionFailed, message: message))
        case .idle, .authorizing, .locating, .securing: return nil
        }
    }

    /// Begins an attempt.
    func start(now: MonotonicInstant) -> Outcome {
        deadline = now.advanced(by: timeout)
        guard let credentials else { return locate(now: now) }
        credentials.keeper.ask(isNews: false) { [wakeup] in wakeup.signal() }
        // What a slow source has said before is good enough; it is asked all the same.
        if credentials.keeper.current != nil, !credentials.isQuick { return locate(now: now) }
        stage = .authorizing
        return .pending
    }

    private func locate(now: MonotonicInstant) -> Outcome {
        guard let locator else { return connect(now: now) }
        stage = .locating(locator.search(now: now))
        return advance(now: now)
    }

    private func connect(now: MonotonicInstant) -> Outcome {
        switch endpoint.address {
        case .unix(let path):
            addresses = SocketAddress(path: path).map { [$0] } ?? []
            return connectNext(after: SystemError(number: ENAMETOOLONG), now: now)
        case .tcp(let host, let port):
            let resolution =
                lateLookUp(now: now) ?? Resolution(host: host, port: port, by: lookUp) { [wakeup] in wakeup.signal() }
            stage = .resolving(resolution)
            return advance(now: now)
        }
    }

    /// The look-up that was given up, if it is of the same name, and still runs or was given up a moment ago.
    private func lateLookUp(now: MonotonicInstant) -> Resolution? {
        guard let (resolution, sought, leftAt) = lateResolution else { return nil }
        lateResolution = nil
        let isOld = resolution.result != nil && leftAt.nanoseconds(to: now) >= Self.soon
        return sought == endpoint && !isOld ? resolution : nil
    }

    /// Goes on when a look-up has ended or an address has had its time.
    func advance(now: MonotonicInstant) -> Outcome {
        switch stage {
        case .authorizing:
            guard let credentials, !credentials.keeper.isAsking else { return .pending }
            stage = .idle
            if credentials.keeper.current == nil, let failure = credentials.keeper.failure {
                return .failed(located(failure))
            }
            return locate(now: now)
        case .locating(let search):
            switch locator?.outcome(of: search) {
            case .success(let found):
                endpoint = found
                generation = locator?.generation ?? 0
                return connect(now: now)
            case .failure(let error):
                stage = .idle
                return .failed(error)
            case nil: return .pending
            }
        case .resolving(let resolution):
            switch resolution.result {
            case .success(let found):
                addresses = inOrder(found, now: now)[...]
                return connectNext(after: SystemError(number: EHOSTUNREACH), now: now)
            case .failure(var error):
                error.endpoint = endpoint.description
                stage = .idle
                return .failed(error)
            case nil: return .pending
            }
        case .connecting(_, let until) where now >= until:
            return connectNext(after: SystemError(number: ETIMEDOUT), now: now)
        default: return .pending
        }
    }

    /// The addresses, the one last that was tried last and did not last long.
    private func inOrder(_ found: [SocketAddress], now: MonotonicInstant) -> [SocketAddress] {
        guard let lastTried, lastTried.at.nanoseconds(to: now) < Self.soon,
            let place = found.firstIndex(of: lastTried.address)
        else { return found }
        return Array(found[(place + 1)...] + found[...place])
    }

    /// Goes on when the descriptor has something to say: the connection stands, or the next address is tried.
    func handle(now: MonotonicInstant) -> Outcome {
        switch stage {
        case .connecting(let socket, _):
            if let error = socket.connectError() { return connectNext(after: error, now: now) }
            return connected(socket)
        case .securing(let socket, let secure): return secured(socket, secure)
        case .idle, .authorizing, .locating, .resolving: return .pending
        }
    }

    /// The system has connected a socket.
    private func connected(_ socket: Socket) -> Outcome {
        stage = .idle
        guard let material, case .tcp(let host, _) = endpoint.address else { return .connected(socket, nil) }
        do throws(RedisError) {
            return secured(socket, try material.secure(socket, host: host, endpoint: endpoint.description))
        } catch {
            return .failed(located(error))
        }
    }

    /// Goes on with the handshake of TLS.
    ///
    /// What fails here is no reason to try another address: nothing else than what was asked for will do.
    private func secured(_ socket: Socket, _ secure: SecureSocket) -> Outcome {
        stage = .idle
        do throws(RedisError) {
            if try secure.handshake() {
                lastSecured = endpoint
                return .connected(socket, secure)
            }
            stage = .securing(socket, secure)
            return .pending
        } catch {
            return .failed(located(error))
        }
    }

    private func located(_ error: RedisError) -> RedisError {
        var error = error
        error.endpoint = endpoint.description
        return error
    }

    /// Gives an attempt up.
    func abandon(now: MonotonicInstant = .now) {
        if case .resolving(let resolution) = stage { lateResolution = (resolution, endpoint, now) }
        stage = .idle
        addresses = []
    }

    /// Tries address after address, each with its share of the time that is left.
    private func connectNext(after error: SystemError, now: MonotonicInstant) -> Outcome {
        stage = .idle
        var error = error
        while let address = addresses.popFirst() {
            lastTried = (address, now)
            switch Socket.connect(to: address) {
            case .success((let descriptor, true)): return connected(Socket(descriptor: descriptor))
            case .success((let descriptor, false)):
                let share = now.nanoseconds(to: deadline) / Int64(addresses.count + 1)
                let until = now.advanced(byNanoseconds: max(share, 1))
                stage = .connecting(Socket(descriptor: descriptor), until: until)
                return .pending
            case .failure(let failure): error = failure.error
            }
        }
        let message = "cannot connect: \(error)"
        return .failed(RedisError(code: .connectionFailed, message: message, endpoint: endpoint.description))
    }
}
