/// What a client knows of outages, since it was made.
public struct OutageStatistics: Sendable, Hashable {
    /// A breaker, by ``RedisRole``.
    public struct Breaker: Sendable, Hashable {
        /// Whether calls are made.
        public enum State: String, Sendable, Hashable {
            /// Calls are made.
            case closed
            /// Calls fail at once.
            case open
            /// One call is made, and decides; the others fail at once.
            case halfOpen
        }

        /// Whether calls are made now.
        public var state: State
        /// How often calls ceased to be made.
        public var openings: Int
        /// Calls that failed at once.
        public var refusals: Int

        /// Both as one: in the worse state, with all that was counted.
        func merged(with other: Breaker) -> Breaker {
            let states: [State] = [.open, .halfOpen, .closed]
            return Breaker(
                state: states.first { $0 == state || $0 == other.state } ?? state,
                openings: openings + other.openings,
                refusals: refusals + other.refusals
            )
        }
    }

    /// The breakers by role; every role has one.
    public var breakers: [RedisRole: Breaker] = [:]
    /// Invalidations that have failed and are yet to be carried out.
    public var pendingInvalidations = 0
    /// Invalidations that had failed and were carried out later.
    public var replayedInvalidations = 0
    /// Invalidations that were given up: too many were kept, or nothing that they could remove lives any more.
    public var droppedInvalidations = 0

    /// Why changes made by others are not told at the moment, for a person; `nil` while they are, and where no level wants that.
    ///
    /// Memory above then keeps what it reads for a short time only. A permission that the server refuses is named;
    /// ``AccessRules`` has all that are needed.
    public var untrustedReason: String?

    /// Whether any breaker is not closed, or changes made by others are not told.
    public var isImpaired: Bool { untrustedReason != nil || breakers.values.contains { $0.state != .closed } }
}
