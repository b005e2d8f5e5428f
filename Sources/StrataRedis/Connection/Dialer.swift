internal import Strata

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Makes one connection without blocking: finds out where the server is, resolves the name on a thread of its own, then tries
/// address after address.
///
/// Lives on the I/O thread.
final class Dialer {
    enum Outcome {
        case pending
        case connected(Socket)
        case failed(RedisError)
    }

    private enum Stage {
        case idle
        case locating(UInt64)
        case resolving(Resolution)
        case connecting(Socket, until: MonotonicInstant)
    }

    /// The server; with a locator the one that it has named last.
    private(set) var endpoint: RedisEndpoint
    private let locator: (any ServerLocator)?
    /// Which of the servers that the locator has named the last attempt went to.
    private var generation: UInt64 = 0
    private let timeout: Duration
    private let wakeup: Wakeup
    private var stage = Stage.idle
    /// Addresses that were found and not tried yet.
    private var addresses: ArraySlice<SocketAddress> = []
    private var deadline = MonotonicInstant.distantFuture
    /// A look-up that outlived its attempt.
    ///
    /// It is waited for instead of starting a second thread beside it.
    private var lateResolution: (resolution: Resolution, endpoint: RedisEndpoint)?

    init(_ configuration: RedisConfiguration, wakeup: Wakeup, locator: (any ServerLocator)? = nil) {
        endpoint = configuration.endpoint
        self.locator = locator
        timeout = configuration.connectTimeout
        self.wakeup = wakeup
    }

    /// Whether the locator has named another server since.
    var isOutdated: Bool { locator.map { $0.generation != generation } ?? false }

    /// The descriptor that becomes writable when the attempt is over; `nil` while a name is looked up.
    var descriptor: Int32? {
        if case .connecting(let socket, _) = stage { socket.descriptor } else { nil }
    }

    var nextDeadline: MonotonicInstant {
        if case .connecting(_, let until) = stage { until } else { .distantFuture }
    }

    /// Begins an attempt.
    func start(now: MonotonicInstant) -> Outcome {
        deadline = now.advanced(by: timeout)
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
            let resolution = lateLookUp() ?? Resolution(host: host, port: port) { [wakeup] in wakeup.signal() }
            stage = .resolving(resolution)
            return advance(now: now)
        }
    }

    /// The look-up that was given up, if it is of the same name.
    private func lateLookUp() -> Resolution? {
        defer { lateResolution = nil }
        return lateResolution?.endpoint == endpoint ? lateResolution?.resolution : nil
    }

    /// Goes on when a look-up has ended or an address has had its time.
    func advance(now: MonotonicInstant) -> Outcome {
        switch stage {
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
                addresses = found[...]
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

    /// Goes on when the descriptor is writable: the connection stands, or the next address is tried.
    func writable(now: MonotonicInstant) -> Outcome {
        guard case .connecting(let socket, _) = stage else { return .pending }
        if let error = socket.connectError() { return connectNext(after: error, now: now) }
        stage = .idle
        return .connected(socket)
    }

    /// Gives an attempt up.
    func abandon() {
        if case .resolving(let resolution) = stage { lateResolution = (resolution, endpoint) }
        stage = .idle
        addresses = []
    }

    /// Tries address after address, each with its share of the time that is left.
    private func connectNext(after error: SystemError, now: MonotonicInstant) -> Outcome {
        stage = .idle
        var error = error
        while let address = addresses.popFirst() {
            switch Socket.connect(to: address) {
            case .success((let descriptor, true)): return .connected(Socket(descriptor: descriptor))
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
