/// What a cache that writes behind has done, and what has not reached its source yet.
public struct WriteBehindStatistics: Sendable, Hashable {
    /// Keys with writes that the source has not got.
    public var pending = 0
    /// What their values cost.
    public var pendingCost = 0
    /// For how long the oldest of them has waited.
    public var oldest = Duration.zero
    /// Writes that the source has got.
    public var written = 0
    /// Writes that a later one of the same key has replaced before they were made.
    public var coalesced = 0
    /// Writes that were tried and have failed; they are tried again.
    public var failed = 0
    /// Writes that were given up.
    public var givenUp = 0
    /// Calls that found no room within their time.
    public var refused = 0
    /// Writes whose values the cache was to take, and could not.
    public var uncached = 0
    /// Later values of other instances that were written in the place of this one's.
    public var adopted = 0
    /// Writes after which the cache could neither be told nor keep that for later.
    public var untold = 0
}
