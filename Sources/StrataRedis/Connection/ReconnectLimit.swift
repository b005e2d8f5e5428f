internal import Strata

/// How often a client begins to connect, over all its connections and the invalidation link.
///
/// The generic cell rate algorithm (ITU-T I.371): a burst at once, then one for each interval. A driver that has to
/// wait is given a turn of its own, so that one that asks more often cannot take it. Belongs to the I/O thread.
final class ReconnectLimit {
    /// Five in a second.
    static let interval: Int64 = 200_000_000

    private let burst: Int64
    /// When the next attempt would be due if they came evenly.
    private var due = MonotonicInstant.distantPast
    /// When the turn of each one that waits comes.
    private var turns: [ObjectIdentifier: MonotonicInstant] = [:]

    /// - Parameter burst: How many attempts may come at once.
    init(burst: Int) {
        self.burst = Int64(burst)
    }

    /// Asks for an attempt.
    ///
    /// - Parameters:
    ///   - asker: The driver that wants to connect.
    ///   - now: The time.
    /// - Returns: When to ask again; `nil` when it may begin.
    func take(for asker: AnyObject, at now: MonotonicInstant) -> MonotonicInstant? {
        let asker = ObjectIdentifier(asker)
        let turn = turns[asker] ?? reserve(at: now)
        turns[asker] = turn > now ? turn : nil
        return turns[asker]
    }

    private func reserve(at now: MonotonicInstant) -> MonotonicInstant {
        let turn = max(now, due.advanced(byNanoseconds: -(burst - 1) * Self.interval))
        due = max(due, now).advanced(byNanoseconds: Self.interval)
        return turn
    }
}
