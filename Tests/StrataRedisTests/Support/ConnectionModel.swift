import Strata

@testable import StrataRedis

/// What a connection has to do, written down once more and as plainly as possible: arrays, no numbers of slots, no
/// shortcuts.
///
/// Only the length of a delay before a new attempt is not predicted; its bound is.
struct ConnectionModel {
    enum Link: Equatable {
        case none
        case connecting
        case handshaking
        case ready
        case closed
    }

    private struct Slot {
        var promise: Int?
        var deadline: MonotonicInstant
        var start: Int
        var since: MonotonicInstant
    }

    static let pingLength = "*1\r\n$4\r\nPING\r\n".utf8.count

    let inFlightLimit: Int
    let queuedBytesLimit: Int
    let connectTimeout: Duration
    let healthWindow: Duration
    let keepalive: Duration
    let longestDelay: Duration

    private(set) var link = Link.none
    private(set) var ended: [(promise: Int, ending: MachineRig.Ending)] = []
    private var slots: [Slot] = []
    private var queued = 0
    private var taken = 0
    private var hasOpened = false
    private var failures = 0
    private var hasFailed = false
    private var readySince = MonotonicInstant.distantPast
    private var lastError: RedisError.Code?
    private var since = MonotonicInstant.distantPast
    private var lastSign = MonotonicInstant.distantPast
    private var drainDeadline: MonotonicInstant?

    init(_ configuration: RedisConfiguration) {
        inFlightLimit = configuration.inFlightLimit
        queuedBytesLimit = configuration.queuedBytesLimit
        connectTimeout = configuration.connectTimeout
        healthWindow = configuration.healthWindow
        keepalive = configuration.keepalive
        longestDelay = configuration.reconnectDelay.upperBound
    }

    var inFlight: Int { slots.count }

    /// Whether bytes of commands wait to be taken.
    var hasQueued: Bool { queued > 0 }

    // MARK: Callers

    /// Takes a call, or says why it is refused.
    mutating func submit(
        _ promise: Int,
        length: Int,
        deadline: MonotonicInstant,
        now: MonotonicInstant
    ) -> RedisError.Code? {
        if drainDeadline != nil || link == .closed { return .shutDown }
        if hasFailed, link != .ready, let lastError { return lastError }
        if slots.count >= inFlightLimit { return .overloaded }
        if queued > 0, queued + length > queuedBytesLimit { return .overloaded }
        add(promise, length: length, deadline: deadline, now: now)
        return nil
    }

    private mutating func add(_ promise: Int?, length: Int, deadline: MonotonicInstant, now: MonotonicInstant) {
        if slots.isEmpty { lastSign = now }
        slots.append(Slot(promise: promise, deadline: deadline, start: taken + queued, since: now))
        queued += length
    }

    /// Whether the call was still waited for.
    mutating func abandon(_ promise: Int) -> Bool {
        guard let index = slots.firstIndex(where: { $0.promise == promise }) else { return false }
        slots[index].promise = nil
        return true
    }

    mutating func drain(until deadline: MonotonicInstant) {
        if link != .closed { drainDeadline = deadline }
    }

    // MARK: The socket

    mutating func took() {
        guard link == .ready else { return }
        taken += queued
        queued = 0
    }

    mutating func opened() {
        if link == .connecting { link = .handshaking }
    }

    mutating func openFailed(_ code: RedisError.Code, now: MonotonicInstant) {
        if link == .connecting { fail(code, sent: 0, now: now) }
    }

    mutating func lost(unsent: Int, now: MonotonicInstant) {
        switch link {
        case .handshaking: fail(.connectionLost, sent: 0, now: now)
        case .ready: fail(.connectionLost, sent: taken - min(unsent, taken), now: now)
        default: break
        }
    }

    /// Returns whether the connection has to be closed.
    mutating func received(_ replies: [RESPValue], unsent: Int, now: MonotonicInstant) -> Bool {
        guard link == .handshaking || link == .ready else { return false }
        var replies = replies
        if link == .handshaking, let first = replies.first {
            replies.removeFirst()
            guard first == .status("PONG") else {
                fail(.server, sent: 0, now: now)
                return true
            }
            link = .ready
            (hasFailed, lastError) = (false, nil)
            (readySince, lastSign) = (now, now)
        }
        guard replies.count <= slots.prefix(while: { $0.start < taken - min(unsent, taken) }).count else {
            fail(.protocolViolation, sent: taken - min(unsent, taken), now: now)
            return true
        }
        for reply in replies {
            let slot = slots.removeFirst()
            if slot.promise != nil || now <= slot.since.advanced(by: healthWindow) { lastSign = now }
            if let promise = slot.promise { ended.append((promise, .reply(reply))) }
        }
        return false
    }

    // MARK: Time

    /// One step; `nil` when there is nothing to do.
    ///
    /// `isDue` tells whether the delay before a new attempt is over.
    mutating func advance(now: MonotonicInstant, isDue: Bool) -> MachineRig.Machine.Action? {
        for index in slots.indices where slots[index].deadline <= now {
            if let promise = slots[index].promise.take() { ended.append((promise, .failure(.timeout, .ambiguous))) }
        }
        if let drainDeadline, link != .closed, slots.isEmpty || now >= drainDeadline {
            failAll(.shutDown, sent: taken)
            link = .closed
            return .close
        }
        switch link {
        case .none where hasOpened ? isDue : !slots.isEmpty:
            hasOpened = true
            link = .connecting
            since = now
            return .open
        case .connecting, .handshaking:
            guard now >= since.advanced(by: connectTimeout) else { return nil }
            fail(.connectionFailed, sent: 0, now: now)
            return .close
        case .ready:
            guard now >= lastSign.advanced(by: slots.isEmpty ? keepalive : healthWindow) else { return nil }
            if slots.isEmpty {
                add(nil, length: Self.pingLength, deadline: .distantFuture, now: now)
                return nil
            }
            fail(.connectionLost, sent: taken, now: now)
            return .close
        default: return nil
        }
    }

    /// Whether the next attempt has to have begun by now.
    func isOverdue(now: MonotonicInstant) -> Bool {
        link == .none && hasOpened && now >= since.advanced(by: longestDelay)
    }

    private mutating func fail(_ code: RedisError.Code, sent: Int, now: MonotonicInstant) {
        let wasStable = link == .ready && now >= readySince.advanced(by: .seconds(1))
        failures = wasStable ? 0 : failures + 1
        hasFailed = link != .ready || failures > 3
        lastError = code
        failAll(code, sent: link == .ready ? sent : 0)
        link = .none
        since = now
    }

    private mutating func failAll(_ code: RedisError.Code, sent: Int) {
        for (index, slot) in slots.enumerated() {
            guard let promise = slot.promise else { continue }
            let code = code == .protocolViolation && index > 0 ? .connectionLost : code
            ended.append((promise, .failure(code, slot.start < sent ? .ambiguous : .notApplied)))
        }
        slots = []
        (queued, taken) = (0, 0)
    }
}
