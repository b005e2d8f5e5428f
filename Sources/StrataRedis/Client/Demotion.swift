internal import Strata

/// When to leave a server that takes no writes.
///
/// After a failover the name leads to another server, and the old one goes on answering reads. A client that is meant
/// to read from a replica would lose its link with every write it tries, so each time it waits twice as long.
struct Demotion: Sendable {
    static let pauses: ClosedRange<Duration> = .seconds(1) ... .seconds(60)

    private var pause = Self.pauses.lowerBound
    private var lastLeft: MonotonicInstant?

    /// The server has refused a write as a replica does.
    ///
    /// - Returns: Whether to leave it.
    mutating func leaves(at now: MonotonicInstant) -> Bool {
        if let lastLeft {
            let passed = lastLeft.duration(to: now)
            guard passed >= pause else { return false }
            pause =
                passed >= Self.pauses.upperBound * 2 ? Self.pauses.lowerBound : min(pause * 2, Self.pauses.upperBound)
        }
        lastLeft = now
        return true
    }
}
