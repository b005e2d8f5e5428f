public import Logging
internal import Strata

extension RedisClient {
    /// A client for the server that a configuration names.
    ///
    /// Nothing is connected yet. With ``RedisTopology/auto`` the servers are asked whether they are a cluster, for which the
    /// calling thread waits, for ``RedisConfiguration/connectTimeout`` at most.
    ///
    /// - Parameters:
    ///   - configuration: The server, limits and timeouts.
    ///   - logger: Gets one line for each change of the connections' state; nothing is logged without one.
    /// - Throws: ``RedisError/Code/invalidConfiguration``.
    public convenience init(_ configuration: RedisConfiguration, logger: Logger? = nil) throws {
        try configuration.validate()
        let configuration = try configuration.settled()
        try self.init(configuration, logger: logger) {
            CacheContext(configuration, wakeup: $0, logger: logger)
        } node: {
            try RedisClient(configuration.node(at: $0), logger: logger)
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

    var outage: OutageControl { cache.outage }

    /// The link of a single server, or of a cluster's node.
    var link: InvalidationLink { cache.link }

    /// The parts of a keyspace: one for the whole of it, unless the servers are a cluster.
    var parts: [KeyspacePart?] { cluster == nil ? [nil] : KeyspacePart.all.map { $0 } }

    var leases: LeaseKeeper { cache.leases }
}
