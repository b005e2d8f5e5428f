internal import Strata

extension RedisClient {
    /// How long a call of a cache may wait for Redis at present; see ``RedisConfiguration/redisBudget``.
    public var redisBudget: Duration { .nanoseconds(outage.budget) }

    /// When caches stop asking a server that fails, and when they try again, at present.
    public var breaker: BreakerOptions { outage.terms.value.breaker }

    /// Changes what calls of caches may cost, while the client is in use: in an incident, or because a configuration
    /// has changed.
    ///
    /// Later calls follow the new terms, at all nodes of a cluster. An open breaker stays open; the calls that were
    /// counted until then are forgotten if the length of the window changes. ``configuration`` stays as it was.
    ///
    /// ```swift
    /// try redis.adjust(redisBudget: .milliseconds(200))
    /// ```
    ///
    /// - Parameters:
    ///   - redisBudget: How long a call may wait for Redis; `nil` leaves it as it is.
    ///   - breaker: When caches stop asking; `nil` leaves it as it is.
    /// - Throws: ``RedisError/Code/invalidConfiguration`` for values that a configuration may not have, and, where
    ///   replicas are read, for a budget above that of the configuration: the limit of what replicas may show is
    ///   computed from it. Nothing is changed then.
    public func adjust(redisBudget: Duration? = nil, breaker: BreakerOptions? = nil) throws(RedisError) {
        let budget = redisBudget ?? self.redisBudget
        try RedisConfiguration.validate(budget, breaker ?? self.breaker)
        guard configuration.replicaLagLimit == nil || budget <= configuration.redisBudget else {
            throw RedisError(
                code: .invalidConfiguration,
                message: "where replicas are read, redisBudget cannot grow while the client is in use"
            )
        }
        outage.terms.change { terms in
            terms = CallTerms(
                breaker ?? terms.breaker,
                budget: redisBudget ?? .nanoseconds(terms.budget),
                configuration.commandTimeout
            )
        }
    }
}
