internal import Strata

extension RedisClient {
    /// How long a call of a cache may wait for Redis now; see ``RedisConfiguration/redisBudget``.
    public var redisBudget: Duration { .nanoseconds(outage.budget) }

    /// When caches stop asking a server that fails, and try again, as it is now.
    public var breaker: BreakerOptions { outage.terms.value.breaker }

    /// Changes what calls of caches may cost, while the client is in use: in an incident, or because a configuration
    /// has changed.
    ///
    /// Calls that begin from then on go by the new terms, at all nodes of a cluster. A breaker that is open stays so,
    /// and the calls that were counted until then are forgotten where the window has another length. ``configuration``
    /// stays what the client was made with.
    ///
    /// ```swift
    /// try redis.adjust(redisBudget: .milliseconds(200))
    /// ```
    ///
    /// - Parameters:
    ///   - redisBudget: How long a call may wait for Redis; `nil` leaves it as it is.
    ///   - breaker: When caches stop asking; `nil` leaves it as it is.
    /// - Throws: ``RedisError/Code/invalidConfiguration`` for what a configuration would be refused for, and for a
    ///   budget above that of the configuration where replicas are read: what they may not show is reckoned with it.
    ///   Nothing is changed then.
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
