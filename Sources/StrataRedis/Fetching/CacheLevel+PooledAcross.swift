public import Strata

extension CacheLevel where Key: KeyRepresentable {
    /// This level with its reads of one key pooled across all instances that share a Redis: one reads, the others get what
    /// it has found.
    ///
    /// ```swift
    /// let reports = slowLevel.pooled(across: RedisLevel(redis, keyspace: "reports", freshness: .init(freshFor: .seconds(5))))
    /// ```
    ///
    /// What was read lies in Redis for as long as the shared level says, and is read from there first; the guarantee is
    /// ``FetchingLevel``'s. For a closure, use `RedisLevel.fetching(_:_:)`.
    ///
    /// - Parameters:
    ///   - shared: Where the instances meet.
    ///   - options: How the fleet agrees on who reads.
    /// - Returns: The pooled level. Setting and removing change the shared level, not this one.
    public func pooled(
        across shared: RedisLevel<Key, Value>,
        _ options: LeaseOptions = LeaseOptions()
    ) -> FetchingLevel<Key, Value> {
        shared.fetching(options) { key in try await get(key) }
    }
}
