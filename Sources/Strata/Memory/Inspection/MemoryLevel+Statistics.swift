extension MemoryLevel {
    /// The contents and the use of the level.
    ///
    /// Reads that are running may be missing.
    public var statistics: MemoryStatistics {
        writer.withLock { writer in
            var statistics = writer.state.counts
            statistics.entries = writer.state.policy.count
            statistics.weight = writer.state.policy.totalWeight
            statistics.hits &+= readers.hits
            statistics.misses &+= readers.misses &+ withdrawn.misses.count
            // Before a hit is withdrawn it was counted; what is counted meanwhile may not be.
            statistics.hits = max(0, statistics.hits &- withdrawn.hits.count)
            return statistics
        }
    }
}
