public import Strata

extension CacheLevel where Key: KeyRepresentable {
    /// This level with its reads of one key pooled across all instances that share a Redis: one reads, the others get
    /// its result.
    ///
    /// ```swift
    /// let policy = FreshnessPolicy(freshFor: .seconds(5))
    /// let shared = RedisLevel<Int, Report>(redis, keyspace: "reports", freshness: policy)
    /// let reports = slowLevel.pooled(across: shared)
    /// ```
    ///
    /// The result stays in Redis for as long as the shared level's policy says; reads look there first. The guarantee
    /// is ``FetchingLevel``'s. For a closure, use `RedisLevel.fetching(_:_:)`.
    ///
    /// - Parameters:
    ///   - shared: The level that the instances share.
    ///   - options: How the fleet decides which instance reads.
    /// - Returns: The pooled level. Setting and removing change the shared level, not this one.
    public func pooled(
        across shared: RedisLevel<Key, Value>,
        _ options: LeaseOptions = LeaseOptions()
    ) -> FetchingLevel<Key, Value> {
        shared.fetching(options) { key in try await get(key) }
    }
}
