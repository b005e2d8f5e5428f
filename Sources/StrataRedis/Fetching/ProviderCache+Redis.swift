public import Strata

extension ProviderCache {
    /// A cache with memory over Redis: one fetch of a record for the whole fleet.
    ///
    /// ```swift
    /// let cache = ProviderCache(redis, keyspace: "shop", freshness: .resilient)
    /// ```
    ///
    /// - Parameters:
    ///   - redis: The client.
    ///   - keyspace: Where the records of all providers lie.
    ///   - memory: How much memory may hold; 10 000 records by default.
    ///   - freshness: How long records last if their provider does not say, how long stale ones are served, and how
    ///     long callers wait.
    ///   - leases: How the fleet decides which instance loads.
    public init(
        _ redis: RedisClient,
        keyspace: Keyspace,
        memory: MemoryLimit<ProviderRecord> = .entries(10_000),
        freshness: FreshnessPolicy = FreshnessPolicy(),
        leases: LeaseOptions = LeaseOptions()
    ) {
        let level = RedisLevel<ProviderRecord.Key, ProviderRecord>(
            redis,
            keyspace: keyspace,
            codec: .records,
            freshness: freshness
        )
        self.init(memory: memory, over: level.fetchingPerCall(leases))
    }
}
