#if Observability
internal import Strata

/// One series of a metric of levels: the metric, and the values of its dimensions.
struct Series: Sendable, Hashable {
    let metric: Metric
    let values: [String]

    var dimensions: [(String, String)] { metric.series(values) }
}

/// What a counter of a level's label means as a metric.
struct CounterMeaning: Sendable {
    let metric: Metric
    /// The values of the dimensions after the cache's name and the level.
    let values: [String]
    /// Whether 0 becomes 1, and anything else 0.
    let isNegated: Bool

    private init(_ metric: Metric, _ values: String..., isNegated: Bool = false) {
        self.metric = metric
        self.values = values
        self.isNegated = isNegated
    }

    /// What a counter means; `nil` for one that others say more exactly.
    ///
    /// A counter that is not known, of a level of the user's own say, is exported by its name.
    static func of(_ counter: LevelLabel.Counter) -> CounterMeaning? {
        if counter.name == "breakers_open" { return nil }
        return known[counter.name] ?? CounterMeaning(.other, counter.name)
    }

    private static let known: [String: CounterMeaning] = [
        "hits": CounterMeaning(.requests, "hit"),
        "misses": CounterMeaning(.requests, "miss"),
        "replica_hits": CounterMeaning(.requests, "replica"),
        "served_stale": CounterMeaning(.requests, "stale"),
        "unusable": CounterMeaning(.requests, "unusable"),
        "voided": CounterMeaning(.requests, "voided"),
        "failures": CounterMeaning(.failures, "call"),
        "failed_reads": CounterMeaning(.failures, "read"),
        "failed_fills": CounterMeaning(.failures, "fill"),
        "late_fills": CounterMeaning(.lateFills),
        "insertions": CounterMeaning(.insertions),
        "evictions": CounterMeaning(.evictions, "size"),
        "expirations": CounterMeaning(.evictions, "expired"),
        "idle_expirations": CounterMeaning(.evictions, "idle"),
        "sheddings": CounterMeaning(.evictions, "pressure"),
        "replacements": CounterMeaning(.removals, "replaced"),
        "removals": CounterMeaning(.removals, "removed"),
        "clearings": CounterMeaning(.removals, "cleared"),
        "refusals": CounterMeaning(.refusals),
        "entries": CounterMeaning(.entries),
        "weight": CounterMeaning(.weight),
        "limit": CounterMeaning(.limit),
        "fetches": CounterMeaning(.fetches),
        "failed_fetches": CounterMeaning(.failedFetches),
        "uncoordinated_fetches": CounterMeaning(.uncoordinatedFetches),
        "waits": CounterMeaning(.waits),
        "stores": CounterMeaning(.stores, "stored"),
        "refused_stores": CounterMeaning(.stores, "refused"),
        "written": CounterMeaning(.writes, "written"),
        "failed_writes": CounterMeaning(.writes, "failed"),
        "given_up_writes": CounterMeaning(.writes, "given_up"),
        "refused_writes": CounterMeaning(.writes, "refused"),
        "coalesced_writes": CounterMeaning(.writes, "coalesced"),
        "uncached_writes": CounterMeaning(.writes, "uncached"),
        "adopted_writes": CounterMeaning(.writes, "adopted"),
        "untold_writes": CounterMeaning(.writes, "untold"),
        "pending_writes": CounterMeaning(.pendingWrites),
        "oldest_pending_write": CounterMeaning(.writeAge),
        "refresh_rounds": CounterMeaning(.refreshRounds, "refreshed"),
        "failed_refresh_rounds": CounterMeaning(.refreshRounds, "failed"),
        "refreshed_keys": CounterMeaning(.refreshedKeys, "refreshed"),
        "failed_refreshes": CounterMeaning(.refreshedKeys, "failed"),
        "refresh_leader": CounterMeaning(.refreshLeader),
        "under_way": CounterMeaning(.flights),
        "unattended": CounterMeaning(.unattended),
        "refreshes_under_way": CounterMeaning(.refreshes),
        "breaker_read": CounterMeaning(.breakerState, "read"),
        "breaker_write": CounterMeaning(.breakerState, "write"),
        "breaker_remove": CounterMeaning(.breakerState, "remove"),
        "breaker_lease": CounterMeaning(.breakerState, "lease"),
        "breaker_openings": CounterMeaning(.breakerOpenings),
        "breaker_refusals": CounterMeaning(.breakerRefusals),
        "sent_invalidations": CounterMeaning(.sentInvalidations),
        "heard_invalidations": CounterMeaning(.heardInvalidations),
        "pending_invalidations": CounterMeaning(.pendingInvalidations),
        "replayed_invalidations": CounterMeaning(.replayedInvalidations),
        "dropped_invalidations": CounterMeaning(.droppedInvalidations),
        "untrusted": CounterMeaning(.trusted, isNegated: true),
    ]
}

extension LevelLabel.Node {
    /// The path without the composition at its root, which nearly every cache has: `memory`, `fetching.redis`.
    var level: String {
        let root = "composed."
        return path.hasPrefix(root) ? String(path.dropFirst(root.count)) : path
    }
}
#endif
