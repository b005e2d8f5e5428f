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
final class ConnectionDriver: LoopDriver {
    private let connection: Connection
    private let configuration: RedisConfiguration
    private let observer: ConnectionObserver
    private let buffer: UnsafeMutableRawBufferPointer
    private let dialer: Dialer
    private let limit: ReconnectLimit
    private let locator: (any ServerLocator)?
    private let tracking: ReadTracking?
    private var locatorNews = LocatorNews()
    private var stream: WireStream?
    private var replies: [RESPValue] = []
    private var completions: [ConnectionMachine<Connection.Promise>.Completion] = []

    /// - Parameters:
    ///   - connection: What callers see of it.
    ///   - observer: Told of changes.
    ///   - thread: What it shares with the other drivers.
    init(connection: Connection, observer: ConnectionObserver, thread: LoopThread) {
        self.connection = connection
        self.observer = observer
        configuration = thread.configuration
        limit = thread.limit
        buffer = thread.buffer
        locator = thread.locator
        tracking = thread.tracking
        dialer = Dialer(thread)
        replies.reserveCapacity(256)
        completions.reserveCapacity(256)
    }

    var interest: (descriptor: Int32, events: Int16)? {
        if isHeld { return nil }
        if let stream { return (stream.descriptor, Int16(POLLIN) | (stream.wantsToSend ? Int16(POLLOUT) : 0)) }
        return dialer.interest
    }

    var nextDeadline: MonotonicInstant {
        min(connection.withMachine { min($0.nextDeadline, $0.nextLook) }, dialer.nextDeadline)
    }

    var isFinished: Bool { connection.withMachine { $0.phase == .closed } }

    func pump(now: MonotonicInstant) {
        if let locator { follow(locator, now: now) }
        if let error = dialer.overdue(now: now) ?? dialer.unreached(now: now) { dialed(.failed(error), now: now) }
        if isHeld { connection.withMachine { $0.health.held(at: now) } }
        while true {
            let unsent = stream?.unsent ?? 0
            let action = connection.withMachine { $0.advance(now: now, unsent: unsent, &completions) }
            guard let action else { break }
            perform(action, now: now)
        }
        if stream == nil { dialed(dialer.advance(now: now), now: now) }
        if !isHeld,
            let error = stream?
                .flush({ buffer in connection.withMachine { $0.exchangeOutput(with: &buffer, now: now) } })
        {
            lost(error, now: now)
        }
        settle()
    }

    func handle(events: Int16, now: MonotonicInstant) {
        if stream == nil {
            dialed(dialer.handle(now: now), now: now)
        } else if !isHeld, events & ~Int16(POLLOUT) != 0 {
            receive(now: now)
        }
        settle()
    }

    /// Whether the server may be another by now.
    private var isHeld: Bool { stream != nil && locator?.isInDoubt == true }

    /// Leaves a server that is not the one any more, and does not wait any longer when there is another.
    private func follow(_ locator: any ServerLocator, now: MonotonicInstant) {
        if stream != nil, dialer.isOutdated {
            lost(.moved(configuration.place), now: now)
        }
        if locatorNews.take(locator) { connection.withMachine { $0.hurry(now: now) } }
    }

    private func perform(_ action: ConnectionMachine<Connection.Promise>.Action, now: MonotonicInstant) {
        switch action {
        case .open:
            if let later = limit.take(for: self, at: now) {
                connection.withMachine { $0.postpone(until: later) }
            } else {
                dialed(dialer.start(now: now), now: now)
            }
        case .close:
            drop()
            // The state machine has given the connection up by itself, so no other call reports it.
            let error = connection.withMachine { $0.phase == .waiting ? $0.lastError : nil }
            if let error { observer.failed(error) }
        }
    }

    private func dialed(_ outcome: Dialer.Outcome, now: MonotonicInstant) {
        switch outcome {
        case .pending: break
        case .connected(let socket, let secure):
            let endpoint = dialer.endpoint.description
            stream = WireStream(socket, secure, limits: configuration.replyLimits, endpoint: endpoint) {
                [connection] index in connection.withMachine { $0.mayBeLarge(at: index) }
            }
            tracking?.opens(connection, now: now)
            connection.withMachine { $0.opened(to: endpoint, isNamed: locator?.namesPrimaries == true) }
        case .failed(let error):
            dialer.abandon()
            connection.note(isUsable: false)
            connection.withMachine { $0.openFailed(error, now: now, &completions) }
            observer.failed(error)
        }
    }

    private func receive(now: MonotonicInstant) {
        let wasReady = connection.withMachine { $0.phase == .ready }
        let unsent = stream?.unsent ?? 0
        let error = stream?
            .receive(through: buffer, into: &replies) { replies, bytes in
                let action = connection.withMachine {
                    $0.received(&replies, bytes: bytes, unsent: unsent, now: now, &completions)
                }
                if let action { perform(action, now: now) }
                return action == nil
            }
        if let error {
            lost(error, now: now)
        } else if !wasReady, connection.withMachine({ $0.phase == .ready }) {
            tracking?.stands(connection, now: now)
            connection.note(isUsable: true)
            observer.ready(at: dialer.endpoint.description, connection.withMachine { $0.remark })
        }
    }

    private func lost(_ error: RedisError, now: MonotonicInstant) {
        let unsent = stream?.unsent ?? 0
        connection.withMachine { $0.lost(error, unsent: unsent, now: now, &completions) }
        drop()
        observer.failed(error)
    }

    private func drop() {
        if stream != nil { tracking?.lost(connection) }
        connection.note(isUsable: false)
        dialer.abandon()
        stream = nil
    }

    /// Completes the calls that are over, outside every lock.
    private func settle() {
        guard !completions.isEmpty else { return }
        for (promise, outcome) in completions { promise.complete(with: outcome) }
        completions.removeAll(keepingCapacity: true)
    }
}
