internal import Strata

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// One connection to a Sentinel: dials, sends what is written, and hands replies out one by one.
///
/// Lives on the I/O thread.
final class SentinelConnection {
    enum Event {
        case connected
        case reply(RESPValue)
        case failed(RedisError)
    }

    /// Told of an event, and given the buffer for what is to be sent; returns false when the connection is to be
    /// closed.
    typealias Hearer = (Event, inout CommandWriter) -> Bool

    private let dialer: Dialer
    private let limits: ReplyLimits
    private let buffer: UnsafeMutableRawBufferPointer
    private var stream: WireStream?
    private var output = CommandWriter()
    private var replies: [RESPValue] = []
    private(set) var isClosed = false

    /// - Parameters:
    ///   - dialer: Makes the connection; it may have a look-up under way that was given up before.
    ///   - limits: What replies may cost.
    ///   - buffer: Room for received bytes.
    init(_ dialer: Dialer, limits: ReplyLimits, buffer: UnsafeMutableRawBufferPointer) {
        self.dialer = dialer
        self.limits = limits
        self.buffer = buffer
    }

    var interest: (descriptor: Int32, events: Int16)? {
        if let stream { return (stream.descriptor, Int16(POLLIN) | (stream.wantsToSend ? Int16(POLLOUT) : 0)) }
        return isClosed ? nil : dialer.interest
    }

    var nextDeadline: MonotonicInstant { stream == nil && !isClosed ? dialer.nextDeadline : .distantFuture }

    func start(now: MonotonicInstant, _ hear: Hearer) { dialed(dialer.start(now: now), hear) }

    func pump(now: MonotonicInstant, _ hear: Hearer) {
        if stream == nil, !isClosed {
            if let error = dialer.overdue(now: now) {
                tell(.failed(error), hear)
            } else {
                dialed(dialer.advance(now: now), hear)
            }
        }
        flush(hear)
    }

    func handle(events: Int16, now: MonotonicInstant, _ hear: Hearer) {
        if stream == nil {
            if !isClosed { dialed(dialer.handle(now: now), hear) }
        } else if events & ~Int16(POLLOUT) != 0 {
            receive(hear)
        }
        flush(hear)
    }

    /// Sends something of the owner's own accord.
    func write(_ body: (inout CommandWriter) -> Void) { body(&output) }

    func close() {
        isClosed = true
        stream = nil
        dialer.abandon()
    }

    private func dialed(_ outcome: Dialer.Outcome, _ hear: Hearer) {
        switch outcome {
        case .pending: break
        case .connected(let socket, let secure):
            stream = WireStream(socket, secure, limits: limits, endpoint: dialer.endpoint.description)
            tell(.connected, hear)
        case .failed(let error): tell(.failed(error), hear)
        }
    }

    private func receive(_ hear: Hearer) {
        let error = stream?
            .receive(through: buffer, into: &replies) { replies, _ in
                for reply in replies where !isClosed { tell(.reply(reply), hear) }
                return !isClosed
            }
        if let error, !isClosed { tell(.failed(error), hear) }
    }

    private func flush(_ hear: Hearer) {
        guard !isClosed, let error = stream?.flush({ buffer in swap(&output, &buffer) }) else { return }
        tell(.failed(error), hear)
    }

    private func tell(_ event: Event, _ hear: Hearer) {
        if !hear(event, &output) { close() }
    }
}
