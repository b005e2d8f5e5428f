#if Observability
/// A metric that is exported: its name, and the dimensions that each of its series has.
///
/// Every series of a metric has the same dimensions in the same order, also where one is empty: exporters such as
/// swift-prometheus end the process otherwise.
struct Metric: Sendable, Hashable {
    enum Kind: String, Sendable {
        case counter
        case gauge
        case timer
    }

    let name: String
    let kind: Kind
    let dimensions: [String]

    /// A metric of a level: the first two dimensions are the cache's name and the level.
    init(_ name: String, _ kind: Kind, _ dimensions: String...) {
        self.name = name
        self.kind = kind
        self.dimensions = ["cache.name", "cache.level"] + dimensions
    }

    /// A metric with these dimensions only.
    init(_ name: String, _ kind: Kind, only dimensions: [String]) {
        self.name = name
        self.kind = kind
        self.dimensions = dimensions
    }

    /// The dimensions of a series.
    func series(_ values: [String]) -> [(String, String)] { Array(zip(dimensions, values)) }
}

extension Metric {
    static let requests = Metric("cache.requests", .counter, "cache.result")
    static let failures = Metric("cache.failures", .counter, "cache.operation")
    static let lateFills = Metric("cache.fills.late", .counter)
    static let insertions = Metric("cache.insertions", .counter)
    static let evictions = Metric("cache.evictions", .counter, "cache.reason")
    static let removals = Metric("cache.removals", .counter, "cache.reason")
    static let refusals = Metric("cache.refusals", .counter)
    static let entries = Metric("cache.entries", .gauge)
    static let weight = Metric("cache.weight", .gauge)
    static let limit = Metric("cache.limit", .gauge)
    static let fetches = Metric("cache.fetches", .counter)
    static let failedFetches = Metric("cache.fetch.failures", .counter)
    static let uncoordinatedFetches = Metric("cache.fetch.uncoordinated", .counter)
    static let waits = Metric("cache.waits", .counter)
    static let stores = Metric("cache.stores", .counter, "cache.result")
    static let writes = Metric("cache.writes", .counter, "cache.result")
    static let pendingWrites = Metric("cache.writes.pending", .gauge)
    static let writeAge = Metric("cache.writes.age", .gauge)
    static let refreshRounds = Metric("cache.refresh.rounds", .counter, "cache.result")
    static let refreshedKeys = Metric("cache.refresh.keys", .counter, "cache.result")
    static let refreshLeader = Metric("cache.refresh.leader", .gauge)
    static let flights = Metric("cache.flights", .gauge)
    static let unattended = Metric("cache.flights.unattended", .gauge)
    static let refreshes = Metric("cache.refreshes", .gauge)
    static let breakerState = Metric("cache.breaker.state", .gauge, "cache.operation")
    static let breakerOpenings = Metric("cache.breaker.openings", .counter)
    static let breakerRefusals = Metric("cache.breaker.refusals", .counter)
    static let sentInvalidations = Metric("cache.invalidations.sent", .counter)
    static let heardInvalidations = Metric("cache.invalidations.heard", .counter)
    static let pendingInvalidations = Metric("cache.invalidations.pending", .gauge)
    static let replayedInvalidations = Metric("cache.invalidations.replayed", .counter)
    static let droppedInvalidations = Metric("cache.invalidations.dropped", .counter)
    static let trusted = Metric("cache.link.trusted", .gauge)
    static let other = Metric("cache.level.counter", .gauge, "cache.counter")
    static let fetchDuration = Metric("cache.fetch.duration", .timer, "error.type")
    static let waitDuration = Metric("cache.wait.duration", .timer)
    static let operationDuration = Metric(
        "db.client.operation.duration",
        .timer,
        only: [
            "db.system.name", "db.namespace", "server.address", "server.port", "db.operation.name", "error.type",
        ]
    )
    static let consistencyChecks = Metric(
        "cache.consistency.checks",
        .counter,
        only: ["cache.name", "cache.delay", "cache.result"]
    )
    static let consistencyNines = Metric("cache.consistency.nines", .gauge, only: ["cache.name", "cache.delay"])
    static let consistencyChanges = Metric("cache.consistency.changes", .counter, only: ["cache.name"])
    static let consistencyLeftOut = Metric("cache.consistency.left_out", .counter, only: ["cache.name"])
    static let consistencyAbandoned = Metric("cache.consistency.abandoned", .counter, only: ["cache.name"])
    static let consistencyInstances = Metric("cache.consistency.instances", .gauge, only: ["cache.name"])
    static let consistencyListening = Metric("cache.consistency.listening", .gauge, only: ["cache.name"])

    /// All that is exported.
    static let all: [Metric] = [
        requests, failures, lateFills, insertions, evictions, removals, refusals, entries, weight, limit, fetches,
        failedFetches, uncoordinatedFetches, waits, stores, writes, pendingWrites, writeAge, refreshRounds,
        refreshedKeys, refreshLeader, flights, unattended, refreshes, breakerState, breakerOpenings, breakerRefusals,
        sentInvalidations, heardInvalidations, pendingInvalidations, replayedInvalidations, droppedInvalidations,
        trusted,
        other, fetchDuration, waitDuration, operationDuration, consistencyChecks, consistencyNines,
        consistencyChanges, consistencyLeftOut, consistencyAbandoned, consistencyInstances, consistencyListening,
    ]
}
#endif
