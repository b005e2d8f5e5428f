internal import Strata

extension ConnectionMachine {
    /// Whether other credentials are in force than those that the last handshake has logged in with.
    var isLoginOutdated: Bool { login.isOutdated(settings.handshake) }

    /// Takes AUTH with the credentials that are in force now; while an attempt is under way, too, behind its handshake,
    /// which may have begun with those before.
    ///
    /// A connection that waits to be made is made at once: the credentials may be what has kept it from standing.
    ///
    /// - Parameters: As ``submit(_:deadline:now:expecting:encode:)``.
    /// - Returns: Whether it was taken; what is made from now on begins with these credentials anyway.
    /// - Throws: ``RedisError`` when the call is refused.
    mutating func submitLogin(
        _ promise: Promise,
        deadline: MonotonicInstant,
        now: MonotonicInstant
    ) throws(RedisError) -> Bool {
        guard phase == .ready || phase == .handshaking else {
            hurry(now: now)
            return false
        }
        // Calls are refused while an attempt follows one that came to nothing: this one is not.
        let hasFailed = exchange(&hasFailed, with: false)
        defer { self.hasFailed = hasFailed }
        let handshake = settings.handshake
        _ = try submit(promise, deadline: deadline, now: now, expecting: .status) { handshake.encodeLogin(into: &$0) }
        return true
    }
}
