/// What this instance has refreshed on a schedule.
public struct RefreshStatistics: Sendable, Hashable {
    /// Whether this instance is the one that refreshes: it holds the lease, as far as it knows.
    public var isLeading = false
    /// Rounds that it has made to their end; one that was cut off since the lease was lost is none.
    public var rounds = 0
    /// Rounds that failed because their keys were not known.
    public var failedRounds = 0
    /// Keys that it has fetched anew, those without a value among them.
    public var refreshed = 0
    /// Keys whose fetch has failed.
    public var failed = 0
    /// How long the last round took; `nil` before there was one.
    public var lastDuration: Duration?
}
