internal import Strata

/// How often a client begins to connect, over all its connections and the invalidation link.
///
/// The generic cell rate algorithm (ITU-T I.371): so many at once, then one for each interval. Whoever has to wait is
/// given a turn of its own, so that nobody who asks more often takes it. Belongs to the I/O thread.
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
    ///   - asker: Who is to connect.
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
