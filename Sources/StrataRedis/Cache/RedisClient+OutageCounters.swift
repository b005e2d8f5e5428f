internal import Strata

extension RedisClient {
    /// What a level's label says of outages: how often breakers have opened, what they refused, what is yet to be
    /// repeated, and whether changes made by others are not told although some level wants that.
    var outageCounters: [LevelLabel.Counter] {
        let statistics = outageStatistics
        return [
            .init("breakers_open", statistics.breakers.values.count { $0.state != .closed }),
            .init("breaker_openings", statistics.breakers.values.reduce(0) { $0 + $1.openings }),
            .init("breaker_refusals", statistics.breakers.values.reduce(0) { $0 + $1.refusals }),
            .init("pending_invalidations", statistics.pendingInvalidations),
            .init("replayed_invalidations", statistics.replayedInvalidations),
            .init("dropped_invalidations", statistics.droppedInvalidations),
            .init("untrusted", statistics.untrustedReason == nil ? 0 : 1),
        ]
    }
}
