internal import Strata

/// One connection to a server without its socket: bytes, time and events in, actions and completed calls out.
///
/// ```text
///          submit            opened                handshake answered
///   idle ─────────▶ opening ───────▶ handshaking ────────────────────▶ ready
///                    │   ▲                │                             │  │
///         openFailed │   │ time           │ lost                   lost │  │ drain
///                    ▼   │                ▼                             │  ▼
///                   waiting ◀───────────────────────────────────────────┘ closed
/// ```
///
/// Replies are matched to calls by order alone. A call that was cancelled or timed out leaves its slot in the queue:
/// its late reply is taken off and dropped, and no other call is disturbed. So a single lost reply would give every
/// later call the reply of another; ``OrderCheck`` detects that. The stream is given up on a reply that no call is
/// owed, on one of a kind that its command does not have, on a protocol violation, when replies are out of order, and
/// when no call is answered in time for the health window although replies are owed.
///
/// Calls are accepted while the connection is made for the first time or again after a loss; once an attempt has
/// failed, or several connections in a row were lost before they had stood for ``ConnectionSettings/stableAfter``, they
/// are refused at once with its error, until a connection stands.
struct ConnectionMachine<Promise: Sendable>: ~Copyable, Sendable {
    typealias Completion = (promise: Promise, outcome: Result<RESPValue, RedisError>)

    /// What the owner of the socket has to do.
    enum Action: Equatable {
        /// Resolve, connect, then report `opened` or `openFailed`.
        case open
        /// Close the socket, or abandon the attempt. No event for it may follow.
        case close
    }

    enum Phase: Equatable {
        case idle
        case opening
        case handshaking
        case ready
        case waiting
        case closed
    }

    struct Slot: Sendable {
        /// The receiver of the reply; `nil` once the caller has left, and for pings.
        var promise: Promise?
        let expected: ReplyKinds
        let deadline: MonotonicInstant
        /// Where the command begins in the stream of bytes that this connection was given.
        let start: UInt64
        /// When the call was made.
        let since: MonotonicInstant
    }

    /// How many connections in a row may be lost early while calls wait for the next.
    static var forgivenLosses: Int { 3 }

    let settings: ConnectionSettings
    var random: SplitMix64
    var phase = Phase.idle
    var lastError: RedisError?
    var slots = RingBuffer<Slot>()
    /// The number of the slot at the head.
    ///
    /// A call's number is fixed when it is submitted.
    var headNumber: UInt64 = 1
    var outgoing = CommandWriter()
    /// Bytes that left `outgoing` since the connection was opened; with its content they are the stream.
    private(set) var takenBytes: UInt64 = 0
    private var handshake = CommandWriter()
    /// Where the server at the other end listens, which is not always fixed.
    var peer: String
    /// Whether Sentinels have named that server as their primary.
    var isNamed = false
    /// What the handshake has brought to light of the server.
    private(set) var remark: String?
    var handshakeSteps: [Handshake.Step] = []
    var handshakeAnswered = 0
    var login = LoginAttempt()
    /// Whether the server remembers what is read here.
    var tracking = ConnectionTracking()
    /// Attempts that have failed, and connections that were lost before they had proved stable, in a row.
    private var failures = 0
    /// Whether the last attempt came to nothing.
    var hasFailed = false
    /// Since when the connection stands.
    var readySince = MonotonicInstant.distantPast
    /// When the phase ends by itself.
    var phaseDeadline = MonotonicInstant.distantFuture
    var health = ConnectionHealth()
    var order = OrderCheck()
    /// No call's deadline is earlier.
    var earliestDeadline = MonotonicInstant.distantFuture
    var draining = false
    var condemnation: RedisError?

    init(settings: ConnectionSettings, seed: UInt64) {
        self.settings = settings
        peer = settings.endpoint
        random = SplitMix64(seed: seed)
    }

    /// Replies that are owed, including those of calls that were given up.
    var inFlight: Int { slots.count }

    /// Bytes that may be handed to the socket now.
    var hasOutput: Bool {
        switch phase {
        case .ready: !outgoing.isEmpty
        case .handshaking: !handshake.isEmpty
        default: false
        }
    }

    // MARK: Callers

    /// Takes a call, or refuses it.
    ///
    /// - Parameters:
    ///   - promise: Completed exactly once, unless the call is refused.
    ///   - deadline: When the caller gives up.
    ///   - now: The time.
    ///   - isOwn: Whether it is a call of the client's own, such as the end of a lease or a breaker's PING: those are
    ///     few and short, and have room when callers have filled the limits.
    ///   - expected: What kinds of replies the command has.
    ///   - encode: Writes the command.
    /// - Returns: The call's number.
    /// - Throws: ``RedisError`` when the call is refused.
    @inline(__always)
    mutating func submit(
        _ promise: Promise,
        deadline: MonotonicInstant,
        now: MonotonicInstant,
        isOwn: Bool = false,
        expecting expected: ReplyKinds = .any,
        encode: (inout CommandWriter) -> Void
    ) throws(RedisError) -> UInt64 {
        try checkAdmission(isOwn: isOwn)
        let before = outgoing.count
        encode(&outgoing)
        guard outgoing.count <= settings.queuedBytesLimit || before == 0 || isOwn else {
            outgoing.truncate(to: before)
            throw overloaded("more than \(settings.queuedBytesLimit) bytes would wait to be sent")
        }
        return append(
            Slot(
                promise: promise,
                expected: expected,
                deadline: deadline,
                start: takenBytes + UInt64(before),
                since: now
            ),
            now: now
        )
    }

    @inline(__always)
    mutating func append(_ slot: Slot, now: MonotonicInstant) -> UInt64 {
        if slots.isEmpty { health.begin(at: now) }
        slots.append(slot)
        earliestDeadline = min(earliestDeadline, slot.deadline)
        return headNumber + UInt64(slots.count) - 1
    }

    /// Lets a caller leave: the promise is handed back, the slot stays and waits for its reply.
    mutating func abandon(_ number: UInt64) -> Promise? {
        guard number >= headNumber, number - headNumber < UInt64(slots.count) else { return nil }
        return slots[Int(number - headNumber)].promise.take()
    }

    /// - Throws: ``RedisError`` when a call is refused.
    func checkAdmission(isOwn: Bool = false) throws(RedisError) {
        guard !draining, phase != .closed else { throw .shutDown(settings.endpoint) }
        switch phase {
        case .opening, .handshaking, .waiting:
            if hasFailed, let lastError { throw lastError }
        default: break
        }
        let limit = settings.inFlightLimit
        guard slots.count < (isOwn ? limit + max(limit / 4, 16) : limit) else {
            throw overloaded("\(limit) replies are already outstanding")
        }
    }

    func overloaded(_ message: String) -> RedisError {
        RedisError(code: .overloaded, message: message, endpoint: settings.endpoint)
    }

    /// Accepts no more calls; the connection closes when the last reply is here, or at `deadline`.
    mutating func drain(until deadline: MonotonicInstant) {
        guard phase != .closed else { return }
        draining = true
        phaseDeadline = min(phaseDeadline, deadline)
        drainDeadline = min(drainDeadline, deadline)
    }

    var drainDeadline = MonotonicInstant.distantFuture

    // MARK: The socket's owner

    /// Hands the bytes that are to be sent to the socket's owner, and takes an empty buffer in return.
    mutating func exchangeOutput(with buffer: inout CommandWriter, now: MonotonicInstant) {
        if phase == .handshaking {
            swap(&handshake, &buffer)
        } else if phase == .ready, !outgoing.isEmpty {
            takenBytes += UInt64(outgoing.count)
            health.sent(through: takenBytes, at: now)
            swap(&outgoing, &buffer)
        }
    }

    /// No attempt may begin yet: too many began lately.
    mutating func postpone(until later: MonotonicInstant) {
        guard phase == .opening else { return }
        phase = .waiting
        phaseDeadline = later
    }

    /// Gives the connection up at the next step: the server at its other end is not the one to talk to.
    mutating func condemn(_ error: RedisError) {
        if phase == .opening || phase == .handshaking || phase == .ready { condemnation = error }
    }

    /// The next attempt need not wait any longer: it is worth more than it was.
    mutating func hurry(now: MonotonicInstant) {
        if phase == .waiting { phaseDeadline = min(phaseDeadline, now) }
    }

    mutating func note(_ remark: String?) { self.remark = remark ?? self.remark }

    /// The socket is connected.
    mutating func opened(to peer: String? = nil, isNamed: Bool = false) {
        guard phase == .opening else { return }
        phase = .handshaking
        if let peer { self.peer = peer }
        self.isNamed = isNamed
        remark = nil
        handshakeAnswered = 0
        handshake.removeAll()
        tracking.begin()
        login.begins(settings.handshake)
        handshakeSteps = settings.handshake.steps + (tracking.asked == nil ? [] : [.track])
        settings.handshake.encode(handshakeSteps, trackingFor: tracking.asked, into: &handshake)
    }

    /// No connection could be made.
    mutating func openFailed(_ error: RedisError, now: MonotonicInstant, _ completions: inout [Completion]) {
        guard phase == .opening else { return }
        fail(error, unsent: 0, now: now, &completions)
    }

    /// The connection ended, or broke the protocol.
    ///
    /// - Parameters:
    ///   - error: Why.
    ///   - unsent: How many of the bytes taken the system never accepted.
    ///   - now: The time.
    ///   - completions: Gets the calls that are over.
    mutating func lost(
        _ error: RedisError,
        unsent: Int,
        now: MonotonicInstant,
        _ completions: inout [Completion]
    ) {
        guard phase == .handshaking || phase == .ready else { return }
        fail(error, unsent: unsent, now: now, &completions)
    }

    // MARK: Inside

    mutating func open(now: MonotonicInstant) -> Action {
        phase = .opening
        phaseDeadline = now.advanced(byNanoseconds: settings.connectTimeout)
        takenBytes = 0
        return .open
    }

    mutating func close(_ completions: inout [Completion]) -> Action {
        phase = .closed
        drainDeadline = .distantFuture
        failAll(.shutDown(settings.endpoint), sent: takenBytes, &completions)
        return .close
    }

    /// Ends the connection or the attempt and plans the next one.
    mutating func fail(
        _ error: RedisError,
        unsent: Int,
        now: MonotonicInstant,
        _ completions: inout [Completion]
    ) {
        let wasStable = phase == .ready && readySince.nanoseconds(to: now) >= settings.stableAfter
        failures = wasStable ? 0 : failures + 1
        // Some early losses are forgiven: the next attempt is near, and calls wait for it.
        hasFailed = phase != .ready || failures > Self.forgivenLosses
        lastError = error
        condemnation = nil
        tracking.end()
        let sent = phase == .ready ? sentBytes(unsent: unsent) : 0
        failAll(error, sent: sent, &completions)
        let isOutdated = login.failed(isRefused: phase == .handshaking, settings.handshake)
        phase = .waiting
        phaseDeadline = now.advanced(
            byNanoseconds: ReconnectDelay.next(
                settings.reconnectDelay,
                failures: failures,
                error,
                loginIsOutdated: isOutdated,
                using: &random
            )
        )
    }

    /// - Parameters:
    ///   - error: What the call at the head gets. A reply that breaks the protocol is that one's; the others have only
    ///     lost the connection, and may be made again.
    ///   - sent: How many bytes of the stream were sent.
    ///   - completions: Gets the calls.
    private mutating func failAll(_ error: RedisError, sent: UInt64, _ completions: inout [Completion]) {
        var error = error
        while let slot = slots.popFirst() {
            headNumber += 1
            if let promise = slot.promise {
                error.effect = slot.start < sent ? .ambiguous : .notApplied
                completions.append((promise, .failure(error)))
            }
            if error.code == .protocolViolation {
                error.code = .connectionLost
                error.message = "the connection was given up after another call's reply: \(error.message)"
            }
        }
        outgoing.removeAll()
        takenBytes = 0
        health.reset()
        order.reset()
        earliestDeadline = .distantFuture
    }
}
