internal import Strata

/// One connection to a server without its socket: bytes, time and events in, actions and completed calls out.
///
/// ```
///          submit            opened                handshake answered
///   idle ─────────▶ opening ───────▶ handshaking ────────────────────▶ ready
///                    │   ▲                │                             │  │
///         openFailed │   │ time           │ lost                   lost │  │ drain
///                    ▼   │                ▼                             │  ▼
///                   waiting ◀───────────────────────────────────────────┘ closed
/// ```
///
/// Replies are matched to calls by order alone. A call that was cancelled or timed out leaves its slot in the queue: its
/// late reply is taken off and dropped, and no other call is disturbed. The stream is given up on a reply that nobody is
/// owed, on a protocol violation, and when nothing at all arrives for the health window although replies are owed.
///
/// Calls are accepted while the connection is made for the first time or again after a loss; once an attempt has failed
/// they are refused at once with its error, until an attempt succeeds.
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

    private struct Slot: Sendable {
        /// Who is owed the reply; `nil` once the caller has left, and for keepalive pings.
        var promise: Promise?
        let deadline: MonotonicInstant
        /// Where the command begins in the stream of bytes that this connection was given.
        let start: UInt64
    }

    private let settings: ConnectionSettings
    private var random: SplitMix64
    private(set) var phase = Phase.idle
    private(set) var lastError: RedisError?
    private var slots = RingBuffer<Slot>()
    /// The number of the slot at the head.
    ///
    /// A call's number is fixed when it is submitted.
    private var headNumber: UInt64 = 1
    private var outgoing = CommandWriter()
    /// Bytes that left `outgoing` since the connection was opened; with its content they are the stream.
    private var takenBytes: UInt64 = 0
    private var handshake = CommandWriter()
    private var handshakeAnswered = 0
    private var failures = 0
    /// When the phase ends by itself.
    private var phaseDeadline = MonotonicInstant.distantFuture
    /// When something last arrived, or when the first reply came to be owed if that is later.
    private var lastSign = MonotonicInstant.distantPast
    /// No call's deadline is earlier.
    private var earliestDeadline = MonotonicInstant.distantFuture
    private var draining = false

    init(settings: ConnectionSettings, seed: UInt64) {
        self.settings = settings
        random = SplitMix64(seed: seed)
    }

    /// Replies that are owed, including those nobody waits for any more.
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
    ///   - encode: Writes the command.
    /// - Returns: The call's number.
    /// - Throws: ``RedisError`` when the call is refused.
    @inline(__always)
    mutating func submit(
        _ promise: Promise,
        deadline: MonotonicInstant,
        now: MonotonicInstant,
        encode: (inout CommandWriter) -> Void
    ) throws(RedisError) -> UInt64 {
        try checkAdmission()
        let before = outgoing.count
        encode(&outgoing)
        guard outgoing.count <= settings.queuedBytesLimit || before == 0 else {
            outgoing.truncate(to: before)
            throw overloaded("more than \(settings.queuedBytesLimit) bytes would wait to be sent")
        }
        return append(Slot(promise: promise, deadline: deadline, start: takenBytes + UInt64(before)), now: now)
    }

    @inline(__always)
    private mutating func append(_ slot: Slot, now: MonotonicInstant) -> UInt64 {
        if slots.isEmpty { lastSign = now }
        slots.append(slot)
        earliestDeadline = min(earliestDeadline, slot.deadline)
        return headNumber + UInt64(slots.count) - 1
    }

    /// Lets a caller leave: the promise is handed back, the slot stays and waits for its reply.
    mutating func abandon(_ number: UInt64) -> Promise? {
        guard number >= headNumber, number - headNumber < UInt64(slots.count) else { return nil }
        return slots[Int(number - headNumber)].promise.take()
    }

    private func checkAdmission() throws(RedisError) {
        guard !draining, phase != .closed else { throw .shutDown(settings.endpoint) }
        switch phase {
        case .opening, .handshaking, .waiting:
            // Told apart by whether an attempt has failed since the last success.
            if failures > 0, let lastError { throw lastError }
        default: break
        }
        guard slots.count < settings.inFlightLimit else {
            throw overloaded("\(settings.inFlightLimit) replies are owed already")
        }
    }

    private func overloaded(_ message: String) -> RedisError {
        RedisError(code: .overloaded, message: message, endpoint: settings.endpoint)
    }

    /// Accepts no more calls; the connection closes when the last reply is here, or at `deadline`.
    mutating func drain(until deadline: MonotonicInstant) {
        guard phase != .closed else { return }
        draining = true
        phaseDeadline = min(phaseDeadline, deadline)
        drainDeadline = deadline
    }

    private var drainDeadline = MonotonicInstant.distantFuture

    // MARK: The socket's owner

    /// Hands the bytes that are to be sent to the socket's owner, and takes an empty buffer in return.
    mutating func exchangeOutput(with buffer: inout CommandWriter) {
        if phase == .handshaking {
            swap(&handshake, &buffer)
        } else if phase == .ready {
            takenBytes += UInt64(outgoing.count)
            swap(&outgoing, &buffer)
        }
    }

    /// The socket is connected.
    mutating func opened() {
        guard phase == .opening else { return }
        phase = .handshaking
        handshakeAnswered = 0
        handshake.removeAll()
        settings.handshake.encode(into: &handshake)
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

    /// Replies arrived.
    ///
    /// - Parameters:
    ///   - replies: Those that are whole.
    ///   - unsent: How many of the bytes taken the system has not accepted yet.
    ///   - now: The time.
    ///   - completions: Gets the calls that are over.
    /// - Returns: `close` when the stream cannot be trusted any more.
    mutating func received(
        _ replies: inout [RESPValue],
        unsent: Int,
        now: MonotonicInstant,
        _ completions: inout [Completion]
    ) -> Action? {
        guard phase == .handshaking || phase == .ready else { return nil }
        lastSign = now
        var first = 0
        while phase == .handshaking, first < replies.count {
            if let failure = answerHandshake(with: replies[first]) {
                fail(failure, unsent: 0, now: now, &completions)
                return .close
            }
            first += 1
        }
        guard isOwed(replies.count - first, unsent: unsent) else {
            let error = RedisError(
                code: .protocolViolation,
                message: "the server sent a reply that nobody asked for",
                endpoint: settings.endpoint
            )
            fail(error, unsent: unsent, now: now, &completions)
            return .close
        }
        for index in first..<replies.count {
            headNumber += 1
            if let promise = slots.popFirst()?.promise { completions.append((promise, .success(replies[index]))) }
        }
        return nil
    }

    /// Whether so many replies are owed to commands of which something was sent.
    ///
    /// A reply that comes before its command is an answer to nothing, and would be a stranger's value. The first byte is
    /// enough: a server may refuse a command before it has read all of it.
    private func isOwed(_ count: Int, unsent: Int) -> Bool {
        count == 0 || count <= slots.count && slots[count - 1].start < sentBytes(unsent: unsent)
    }

    private func sentBytes(unsent: Int) -> UInt64 {
        takenBytes - min(takenBytes, UInt64(unsent))
    }

    private mutating func answerHandshake(with reply: RESPValue) -> RedisError? {
        let steps = settings.handshake.steps
        if let failure = settings.handshake.failure(
            of: steps[handshakeAnswered],
            reply,
            endpoint: settings.endpoint
        ) {
            return failure
        }
        handshakeAnswered += 1
        if handshakeAnswered == steps.count {
            phase = .ready
            phaseDeadline = drainDeadline
            failures = 0
            lastError = nil
        }
        return nil
    }

    /// Moves on with time.
    ///
    /// To be called again until it returns `nil`.
    mutating func advance(now: MonotonicInstant, _ completions: inout [Completion]) -> Action? {
        if now >= earliestDeadline { expireCalls(now: now, &completions) }
        if draining, slots.isEmpty || now >= drainDeadline, phase != .closed { return close(&completions) }
        switch phase {
        case .idle where !slots.isEmpty: return open(now: now)
        case .waiting where now >= phaseDeadline: return open(now: now)
        case .opening where now >= phaseDeadline, .handshaking where now >= phaseDeadline:
            let error = RedisError(
                code: .connectionFailed,
                message: "no connection within the connect timeout",
                endpoint: settings.endpoint
            )
            fail(error, unsent: 0, now: now, &completions)
            return .close
        case .ready: return watch(now: now, &completions)
        default: return nil
        }
    }

    /// When `advance` has to be called at the latest.
    var nextDeadline: MonotonicInstant {
        var next = min(earliestDeadline, drainDeadline)
        switch phase {
        case .opening, .handshaking, .waiting: next = min(next, phaseDeadline)
        case .ready: next = min(next, quietLimit)
        default: break
        }
        return next
    }

    // MARK: Inside

    /// Until when a ready connection may stay silent.
    private var quietLimit: MonotonicInstant {
        lastSign.advanced(byNanoseconds: slots.isEmpty ? settings.keepalive : settings.healthWindow)
    }

    private mutating func watch(now: MonotonicInstant, _ completions: inout [Completion]) -> Action? {
        guard now >= quietLimit else { return nil }
        guard slots.isEmpty else {
            let error = RedisError(
                code: .connectionLost,
                message: "nothing arrived for the health window although replies are owed",
                endpoint: settings.endpoint
            )
            fail(error, unsent: 0, now: now, &completions)
            return .close
        }
        let start = takenBytes + UInt64(outgoing.count)
        outgoing.begin(1)
        outgoing.argument("PING" as StaticString)
        _ = append(Slot(promise: nil, deadline: .distantFuture, start: start), now: now)
        return nil
    }

    private mutating func open(now: MonotonicInstant) -> Action {
        phase = .opening
        phaseDeadline = now.advanced(byNanoseconds: settings.connectTimeout)
        takenBytes = 0
        return .open
    }

    private mutating func close(_ completions: inout [Completion]) -> Action {
        phase = .closed
        drainDeadline = .distantFuture
        failAll(.shutDown(settings.endpoint), sent: takenBytes, &completions)
        return .close
    }

    /// Ends the connection or the attempt and plans the next one.
    private mutating func fail(
        _ error: RedisError,
        unsent: Int,
        now: MonotonicInstant,
        _ completions: inout [Completion]
    ) {
        if phase == .ready { failures = 0 } else { failures += 1 }
        lastError = error
        let sent = phase == .ready ? sentBytes(unsent: unsent) : 0
        failAll(error, sent: sent, &completions)
        phase = .waiting
        phaseDeadline = now.advanced(
            byNanoseconds: ReconnectDelay.next(settings.reconnectDelay, failures: failures, error, using: &random)
        )
    }

    private mutating func failAll(_ error: RedisError, sent: UInt64, _ completions: inout [Completion]) {
        while let slot = slots.popFirst() {
            headNumber += 1
            guard let promise = slot.promise else { continue }
            var error = error
            error.effect = slot.start < sent ? .ambiguous : .notApplied
            completions.append((promise, .failure(error)))
        }
        outgoing.removeAll()
        takenBytes = 0
        earliestDeadline = .distantFuture
    }

    /// Lets every caller go whose deadline has passed; the slots stay.
    ///
    /// O(calls in flight), at most once a deadline.
    private mutating func expireCalls(now: MonotonicInstant, _ completions: inout [Completion]) {
        earliestDeadline = .distantFuture
        for position in 0..<slots.count {
            let slot = slots[position]
            guard slot.promise != nil else { continue }
            guard slot.deadline <= now else {
                earliestDeadline = min(earliestDeadline, slot.deadline)
                continue
            }
            guard let promise = slots[position].promise.take() else { continue }
            let waiting =
                phase == .ready ? "no reply before the call's deadline" : "no connection before the call's deadline"
            // Not sent yet is no promise: the slot stays, and its command goes out with the others.
            let error = RedisError(
                code: .timeout,
                message: waiting,
                endpoint: settings.endpoint,
                effect: .ambiguous
            )
            completions.append((promise, .failure(error)))
        }
    }
}
