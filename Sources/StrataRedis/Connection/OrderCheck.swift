internal import Strata

/// Whether replies still belong to the calls that they are handed to.
///
/// RESP2 has no numbers: replies are matched by order alone, and when one is lost on the way every later call gets
/// another's, for as long as the connection lives. So the server is asked for a nonce (a PING with an argument), which
/// has to come at its place: ten times a second while calls are under way, and at once when a call has timed out that
/// was sent. After a timeout the replies before the nonce are held back until it is here.
///
/// A proxy that answers PING by itself, without the argument, or knows no argument, can show nothing: its connections
/// are given up after a timeout, and not asked else. A server that refuses PING for now, as one does that could not
/// save or loads its data, shows nothing for now.
struct OrderCheck: Sendable {
    /// How long between two nonces while nothing is suspected, in nanoseconds.
    static let interval: Int64 = 100_000_000

    enum Step {
        /// The reply goes to its call.
        case pass
        /// It is kept until the nonce is here.
        case hold
        /// It is the nonce; what was held goes to its calls first, then this.
        case confirmed([RESPValue])
        case outOfOrder
    }

    private var nonce: [UInt8]?
    /// Whether the nonce was refused at its place, so that another may be asked for.
    ///
    /// It is known on, for it must not come now.
    private var isRefused = false
    /// The number of the nonce's slot.
    private var number: UInt64 = 0
    private var isHolding = false
    /// Whether the other end has sent a nonce back, or something else; `nil` before the first.
    private var echoes: Bool?
    /// The newest call that has timed out.
    private var doubted: UInt64 = 0
    private var lastBegun = MonotonicInstant.distantPast
    /// Replies that came, and were not handed out yet.
    private(set) var held: [RESPValue] = []

    @inline(__always)
    var isUnderWay: Bool { nonce != nil }

    /// Whether a call has timed out that the nonce says nothing of.
    var needsAnother: Bool { !isAwaited && doubted > number }

    private var isAwaited: Bool { nonce != nil && !isRefused }

    /// The connection stands.
    mutating func begin(at now: MonotonicInstant) { lastBegun = now }

    @inline(__always)
    func isDue(at now: MonotonicInstant) -> Bool {
        !isAwaited && echoes != false && lastBegun.nanoseconds(to: now) >= Self.interval
    }

    mutating func begin(_ nonce: [UInt8], number: UInt64, holding: Bool, at now: MonotonicInstant) {
        self.nonce = nonce
        isRefused = false
        self.number = number
        isHolding = holding
        lastBegun = now
    }

    /// A call has timed out.
    ///
    /// - Returns: Whether a nonce is to be asked for.
    mutating func doubt(_ call: UInt64) -> Bool {
        doubted = max(doubted, call)
        if isAwaited { isHolding = true }
        return !isAwaited
    }

    /// A reply has come for the call of a number.
    mutating func step(_ reply: RESPValue, for call: UInt64) -> Step {
        let isNonce = if case .bytes(let bytes) = reply { bytes == nonce } else { false }
        guard call == number else {
            guard !isNonce else { return .outOfOrder }
            if isHolding { held.append(reply) }
            return isHolding ? .hold : .pass
        }
        if isNonce {
            echoes = true
        } else {
            guard !isHolding else { return .outOfOrder }
            if echoes != true, reply == .status("PONG") || reply.isUnknownPing {
                echoes = false
            } else {
                guard reply.isRefusedPing || reply.isUnreadiness else { return .outOfOrder }
                isRefused = true
                return .confirmed([])
            }
        }
        nonce = nil
        isHolding = false
        let replies = held
        held = []
        return .confirmed(replies)
    }

    mutating func reset() { self = OrderCheck() }
}

extension RESPValue {
    /// Whether this is what a proxy answers that knows PING without an argument only.
    fileprivate var isUnknownPing: Bool {
        guard case .error(let text) = self, text.hasPrefix("ERR ") else { return false }
        let words = text.lowercased()
        return words.contains("ping") || words.contains("wrong number of arg") || words.contains("unknown command")
    }

    /// Whether this is what a server answers PING with that serves reads all the same: it could not save its data, or
    /// the user may not ask.
    var isRefusedPing: Bool {
        guard case .error(let text) = self else { return false }
        return text.hasPrefix("MISCONF ") || text.hasPrefix("NOPERM ")
    }

    /// Whether this is what a server answers everything with for now: it loads its data, runs a script, or waits for
    /// its primary.
    fileprivate var isUnreadiness: Bool {
        guard case .error(let text) = self else { return false }
        return ["LOADING ", "BUSY ", "MASTERDOWN "].contains { text.hasPrefix($0) }
    }
}
