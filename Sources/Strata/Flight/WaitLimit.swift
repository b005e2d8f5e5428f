/// How long a caller waits for a flight.
@usableFromInline
package struct WaitLimit: Sendable, Hashable {
    /// Counted from when the caller joined.
    @usableFromInline
    package var sinceJoining: Duration?
    /// Counted from when the flight began, so that a caller does not wait for one that is late already.
    @usableFromInline
    package var sinceStart: Duration?

    @inlinable
    package init(sinceJoining: Duration? = nil, sinceStart: Duration? = nil) {
        self.sinceJoining = sinceJoining
        self.sinceStart = sinceStart
    }

    package static let unlimited = WaitLimit()

    /// What is left of it for a caller that has waited already.
    package func shortened(by waited: Duration) -> WaitLimit {
        WaitLimit(sinceJoining: sinceJoining.map { $0 - waited }, sinceStart: sinceStart)
    }

    /// When the limit of a caller passes that joins now, by the flight's clock.
    func end(startedAt: MonotonicInstant, by clock: CacheClock) -> MonotonicInstant {
        guard sinceJoining != nil || sinceStart != nil else { return .distantFuture }
        let now = clock.now
        return min(
            sinceJoining.map { now.advanced(by: $0) } ?? .distantFuture,
            sinceStart.map { startedAt.advanced(by: $0) } ?? .distantFuture
        )
    }

    /// How much earlier callers leave whose limits pass at almost the same time, at most.
    static let slack: Duration = .milliseconds(5)

    /// From when on a caller may leave together with others: the last sixteenth of its limit, and ``slack`` at most.
    ///
    /// The keys of a batch have their limits one after the other. If its first failure cancelled the rest before their
    /// limits have passed, their fetches would not go on.
    func togetherFrom(_ end: MonotonicInstant) -> MonotonicInstant {
        guard let shortest = [sinceJoining, sinceStart].compactMap(\.self).min() else { return end }
        return end.advanced(by: .zero - min(max(shortest / 16, .zero), Self.slack))
    }
}

/// The limit of a caller has passed; the flight goes on.
package struct WaitLimitReached: Error {
    /// The flight; `nil` where the caller has waited for something else.
    let left: LeftFlight?

    package init() { left = nil }

    init(_ left: LeftFlight) { self.left = left }
}
