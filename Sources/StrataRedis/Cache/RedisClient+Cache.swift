public import Logging
internal import Strata

extension RedisClient {
    /// A client for the server that a configuration names.
    ///
    /// Nothing is connected yet.
    ///
    /// - Parameters:
    ///   - configuration: The server, limits and timeouts.
    ///   - logger: Gets one line for each change of the connections' state; nothing is logged without one.
    /// - Throws: ``RedisError/Code/invalidConfiguration``.
    public convenience init(_ configuration: RedisConfiguration, logger: Logger? = nil) throws {
        try self.init(configuration, logger: logger) { CacheContext(configuration, wakeup: $0, logger: logger) }
    }

    /// A client for the server of a `redis://` or `unix://` URL, everything else at its default.
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

    var link: InvalidationLink { cache.link }

    var leases: LeaseKeeper { cache.leases }
}
