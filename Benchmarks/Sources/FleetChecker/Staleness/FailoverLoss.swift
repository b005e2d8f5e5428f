/// A time in which a primary confirmed changes that its successor may not have.
///
/// Replication passes on a beginning of what the old primary did. So who knows one change that the successor has knows
/// that it has all that was confirmed before that one was sent.
public struct FailoverLoss: Sendable, Hashable {
    /// What was confirmed by then the successor has, by ``HistoryClock``.
    public var from: UInt64
    /// What was begun after then did not go to the old primary, by ``HistoryClock``.
    public var until: UInt64
    /// The keys whose changes went there; nil for all.
    public var keys: Set<Int>?

    /// Describes a failover.
    ///
    /// - Parameters:
    ///   - from: What was confirmed by then the successor has.
    ///   - until: What was begun after then did not go to the old primary.
    ///   - keys: The keys whose changes went there; nil for all.
    public init(from: UInt64, until: UInt64, keys: Set<Int>? = nil) {
        self.from = from
        self.until = until
        self.keys = keys
    }

    /// Whether a change of one of its keys may be lost.
    func covers(_ change: HistoryEvent) -> Bool { change.end > from && change.start <= until }
}
