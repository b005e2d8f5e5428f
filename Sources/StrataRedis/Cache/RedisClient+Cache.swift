public import Logging
internal import Strata

extension RedisClient {
    /// A client for the server that a configuration names.
    ///
    /// Nothing is connected yet. With ``RedisTopology/auto`` it asks the servers whether they are a cluster; the
    /// calling thread waits for that, ``RedisConfiguration/connectTimeout`` at most.
    ///
    /// - Parameters:
    ///   - configuration: The server, limits and timeouts.
    ///   - logger: Gets one line for each change of the connections' state; nothing is logged without one.
    /// - Throws: ``RedisError/Code/invalidConfiguration``.
    public convenience init(_ configuration: RedisConfiguration, logger: Logger? = nil) throws {
        try configuration.validate()
        try self.init(configuration.settled().withOwnTerms(), logger: logger, loop: IOLoop(), BreakerRecord())
    }

    /// - Parameters:
    ///   - configuration: The server, which is known to be a cluster, or none.
    ///   - logger: As above.
    ///   - loop: The I/O thread, also of all nodes of a cluster.
    ///   - record: What becomes of the breakers, also of those of all nodes.
    /// - Throws: ``RedisError/Code/invalidConfiguration``.
    private convenience init(
        _ configuration: RedisConfiguration,
        logger: Logger?,
        loop: IOLoop,
        _ record: BreakerRecord
    ) throws {
        try self.init(configuration, logger: logger, loop: loop) {
            CacheContext(configuration, wakeup: $0, logger: logger, record)
        } node: {
            // Replicas are asked beside their primary, and show up in no account.
            let record = $0.isReplica ? BreakerRecord(events: record.events) : record
            return try RedisClient($0, logger: logger, loop: loop, record)
        }
    }

    /// A client for the server, the primary or the cluster of a URL, everything else at its default.
    ///
    /// - Parameters:
    ///   - url: See ``RedisConfiguration/init(url:)``.
    ///   - logger: Gets one line for each change of the connections' state.
    /// - Throws: ``RedisError/Code/invalidConfiguration``.
    public convenience init(_ url: String, logger: Logger? = nil) throws {
        try self.init(RedisConfiguration(url: url), logger: logger)
    }

    /// What the caches of this client share.
    ///
    /// Proof that the cast holds: the initialisers above are the only ones that name a companion.
    var cache: CacheContext { unsafeDowncast(companion, to: CacheContext.self) }

    /// Which changes the server tells this client: the configured mode, or with ``TrackingMode/automatic`` the one that
    /// was chosen last.
    public var tracking: TrackingMode { cache.meter?.mode ?? configuration.tracking }

    var outage: OutageControl { cache.outage }

    /// The link of a single server, or of a cluster's node.
    var link: InvalidationLink { cache.link }

    /// The parts of a keyspace: one for the whole of it, unless the servers are a cluster.
    var parts: [KeyspacePart?] { cluster == nil ? [nil] : KeyspacePart.all.map { $0 } }

    /// Does something for each part of a keyspace, with all at once; for the whole of it where it has no parts.
    ///
    /// - Returns: The outcomes, in the order of the parts.
    /// - Throws: The first part's error, when all have ended.
    func inEachPart<Outcome: Sendable>(
        _ body: @escaping @Sendable (KeyspacePart?) async throws -> Outcome
    ) async throws -> [Outcome] {
        let parts = parts
        guard parts.count > 1 else { return [try await body(nil)] }
        return try await parts.outcomes(body).map { try $0.get() }
    }

    /// Sends a command for a fetch when its turn has come.
    ///
    /// An instance that starts fetches thousands of keys at once. They are not refused for that, as then it would fetch
    /// them without a lease: half of what a connection may have under way is under way, and the others wait. The wait
    /// is part of what a call may spend on Redis.
    func inTurn<Answer>(for key: RedisKey, _ send: () async throws -> Answer) async throws -> Answer {
        let start = MonotonicInstant.now
        return try await responsible(for: key).manyKeys
            .run {
                CallBudget.current?.spend(start.nanoseconds(to: .now))
                return try await send()
            }
    }

    var leases: LeaseKeeper { cache.leases }
}
