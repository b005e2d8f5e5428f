/// Time that a test moves, behind a ``CacheClock``.
package protocol MovedTime: AnyObject, Sendable {
    /// What the clock shows, the same until it is moved.
    var now: MonotonicInstant { get }

    /// By how much it was moved, in nanoseconds.
    var moves: Int64 { get }

    /// Nanoseconds from an instant of this clock to the time since 1970, as of when the clock was made.
    var epoch: Int64 { get }

    /// Suspends until so much time has gone by, of the system's and of the test's together.
    func pause(for duration: Duration) async throws

    /// The same for what is no caller's pause, and not counted as one.
    func rest(for duration: Duration) async throws

    /// Suspends until the clock shows an instant.
    func wait(until instant: MonotonicInstant) async throws

    /// Calls ``Watched/fire(at:)`` when the clock shows an instant or has passed it, and then when that says.
    ///
    /// Never before this returns. The clock does not keep the owner alive.
    func call(_ owner: any Watched, at time: MonotonicInstant)

    /// Asks a keeper, from now on, before the clock is moved; for as long as it lives.
    func ask(_ keeper: any ServerKeyKeeper)
}

/// Something that keeps keys at a server alive by giving them new times to live, again and again.
///
/// A test that takes time off the keys of a server spares these: while that time went by, they would have been kept
/// alive.
package protocol ServerKeyKeeper: AnyObject, Sendable {
    /// The names of the keys; what does not outlast an instant of the running time is given up now.
    func keysKept(until running: MonotonicInstant) -> [[UInt8]]
}
