internal import Strata

/// How often a client begins to connect, over all its connections and the invalidation link.
///
/// The generic cell rate algorithm (ITU-T I.371): so many at once, then one for each interval. Belongs to the I/O thread.
final class ReconnectLimit {
    /// Five in a second.
    static let interval: Int64 = 200_000_000

    private let burst: Int64
    /// When the next attempt would be due if they came evenly.
    private var due = MonotonicInstant.distantPast

    /// - Parameter burst: How many attempts may come at once.
    init(burst: Int) {
        self.burst = Int64(burst)
    }

    /// Asks for an attempt.
    ///
    /// - Returns: When to ask again; `nil` when it may begin.
    func take(at now: MonotonicInstant) -> MonotonicInstant? {
        let earliest = due.advanced(byNanoseconds: -(burst - 1) * Self.interval)
        guard earliest <= now else { return earliest }
        due = max(due, now).advanced(byNanoseconds: Self.interval)
        return nil
    }
}
