/// A monitor that measures in production whether the memory of a fleet serves true values, such as `ConsistencyMonitor`
/// of `StrataRedis`.
///
/// `CacheMetrics` of `StrataObservability` exports its counts.
public protocol ConsistencyCounted: Sendable {
    /// What was counted until now.
    var consistencyCounts: ConsistencyCounts { get }
}

/// Counts of checks whether memory serves true values, all from the beginning.
public struct ConsistencyCounts: Sendable, Hashable {
    /// The checks that were made so long after a change.
    public struct Delay: Sendable, Hashable {
        /// How long after a change.
        public var delay: Duration
        /// How many checks had each result, by the result's name.
        ///
        /// Possible results are listed even at zero.
        public var results: [String: Int]
        /// The number of nines of the last hour; `nil` without a check that had a result.
        public var nines: Double?

        /// Counts of a delay.
        public init(_ delay: Duration, results: [String: Int], nines: Double? = nil) {
            self.delay = delay
            self.results = results
            self.nines = nines
        }
    }

    /// By delay.
    public var delays: [Delay]
    /// Changes that were heard of.
    public var changes = 0
    /// Changes that were not followed.
    public var leftOut = 0
    /// Checks that were given up.
    public var abandoned = 0
    /// How many instances are asked.
    public var instances = 0
    /// Whether the monitor is told of changes.
    public var isListening = false

    /// Counts by delay; all others are zero.
    public init(delays: [Delay]) { self.delays = delays }
}
