/// When the I/O thread looks for the next event itself for a moment, and does not sleep until it is woken for it.
///
/// Being woken costs a thread on an idle processor 20 to 30 µs, which is most of what a lone call to a server on the
/// same machine takes: 72 µs with two threads to be woken, 37 µs with one. So after an event the thread keeps looking
/// for ``span``, but only where that has paid: every span in vain doubles the number of waits that are slept through
/// before the next attempt, and every success ends that. A server that takes longer than the span costs one span in 256
/// waits; many calls at once, which keep the thread awake by themselves, cost none.
///
/// Spinning for about the price of the sleep is what adaptive mutexes and Go's scheduler do.
struct BusyWait {
    /// For how many nanoseconds it looks: about what being put to sleep and woken costs.
    static let span: Int64 = 50_000
    /// With more replies owed than this the thread has work without waiting for it.
    static let mostInFlight = 2
    /// Most waits that are slept through between two attempts.
    static let longestPause = 256

    private var pause = 0
    private var slept = 0

    /// Whether the wait that begins now is to be a busy one.
    mutating func begins(inFlight: Int) -> Bool {
        guard inFlight <= Self.mostInFlight else { return false }
        guard slept >= pause else {
            slept += 1
            return false
        }
        slept = 0
        return true
    }

    /// Takes down whether something came within the span.
    mutating func ended(found: Bool) {
        pause = found ? 0 : min(Self.longestPause, max(1, pause * 2))
    }
}
