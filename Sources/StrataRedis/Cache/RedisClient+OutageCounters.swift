internal import Strata

extension RedisClient {
    /// What a level's label says of outages: how often breakers have opened, what they refused, what is yet to be
    /// repeated, and whether changes made by others are not told although some level wants that.
    ///
    /// The state of each breaker is 0 while it is closed, 1 while it is ready to find out, 2 while it is open.
    var outageCounters: [LevelLabel.Counter] {
        let statistics = outageStatistics
        let states = RedisRole.allCases.compactMap { role in
            statistics.breakers[role].map { LevelLabel.Counter(detail: "breaker_\(role.rawValue)", $0.state.severity) }
        }
        return states + [
            .init("breakers_open", statistics.breakers.values.count { $0.state == .open }),
            .init("breaker_openings", statistics.breakers.values.reduce(0) { $0 + $1.openings }),
            .init("breaker_refusals", statistics.breakers.values.reduce(0) { $0 + $1.refusals }),
            .init("pending_invalidations", statistics.pendingInvalidations),
            .init("replayed_invalidations", statistics.replayedInvalidations),
            .init("dropped_invalidations", statistics.droppedInvalidations),
            .init("untrusted", statistics.untrustedReason == nil ? 0 : 1),
        ]
    }
}

extension OutageStatistics.Breaker.State {
    fileprivate var severity: Int {
        switch self {
        case .closed: 0
        case .halfOpen: 1
        case .open: 2
        }
    }
}

extension RedisConfiguration {
    /// Where the server is, by the names that OpenTelemetry has for that.
    ///
    /// A Unix socket has no port. With Sentinels the address is theirs: that of the primary changes.
    var telemetryPlace: [String: String] {
        var place = ["db.system.name": "redis", "db.namespace": "\(database)", "server.address": self.place]
        if topology != .sentinel, case .tcp(let host, let port) = endpoint.address {
            place["server.address"] = host
            place["server.port"] = "\(port)"
        }
        return place
    }
}
