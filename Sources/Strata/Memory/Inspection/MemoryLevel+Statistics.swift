extension MemoryLevel {
    /// What the level holds and how it was used.
    ///
    /// Reads that are under way may be missing.
    public var statistics: MemoryStatistics {
        writer.withLock { writer in
            var statistics = writer.state.counts
            statistics.entries = writer.state.policy.count
            statistics.weight = writer.state.policy.totalWeight
            statistics.hits &+= readers.hits
            statistics.misses &+= readers.misses
            return statistics
        }
    }
}
