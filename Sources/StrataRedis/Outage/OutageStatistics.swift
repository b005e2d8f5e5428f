/// What a client knows of outages since its start.
public struct OutageStatistics: Sendable, Hashable {
    /// A breaker, by ``RedisRole``.
    public struct Breaker: Sendable, Hashable {
        /// Whether calls are made.
        public enum State: String, Sendable, Hashable {
            /// Calls are made.
            case closed
            /// Calls fail at once.
            case open
            /// The pause is over, and the next call fails at once and sends a PING; or the server has answered, and the
            /// next call decides while others fail at once. A breaker stays so until its role is used.
            case halfOpen
        }

        /// Whether calls are made now.
        public var state: State
        /// How often the breaker opened.
        public var openings: Int
        /// Calls that failed at once.
        public var refusals: Int

        /// In the worse state of both.
        ///
        /// The counts are those of all breakers of the role already: see ``BreakerRecord``.
        func merged(with other: Breaker) -> Breaker {
            let states: [State] = [.open, .halfOpen, .closed]
            var merged = self
            merged.state = states.first { $0 == state || $0 == other.state } ?? state
            return merged
        }
    }

    /// The breakers by role; every role has one.
    public var breakers: [RedisRole: Breaker] = [:]
    /// Invalidations that failed and are pending.
    public var pendingInvalidations = 0
    /// Invalidations that failed and were carried out later.
    public var replayedInvalidations = 0
    /// Invalidations that were given up: there were too many, or every value that they could remove has expired.
    public var droppedInvalidations = 0

    /// Why the link does not stand, for a person; `nil` while it does, and without a level that needs it.
    ///
    /// Memory above then keeps what it reads for a short time only. A permission that the server refuses is named;
    /// ``AccessRules`` has all that are needed.
    public var untrustedReason: String?

    /// Whether any breaker is not closed, or the link does not stand.
    public var isImpaired: Bool { untrustedReason != nil || breakers.values.contains { $0.state != .closed } }
}
