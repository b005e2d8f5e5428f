internal import Strata

/// What calls of caches may cost, as it is now.
///
/// The clients of a cluster's nodes share it with the client itself.
struct CallTerms: Sendable {
    /// What a call may spend on Redis, in nanoseconds.
    private(set) var budget: Int64
    private(set) var breaker: BreakerOptions
    /// How long a call may take without being slow, in nanoseconds.
    private(set) var slowAfter: Int64
    /// Bounds of the pause before a probe, in nanoseconds.
    private(set) var pause: ClosedRange<Int64>
    private(set) var window: Int64
    /// How long a probe or a trial may take, in nanoseconds.
    private(set) var probeLimit: Int64

    init(_ configuration: RedisConfiguration) {
        self.init(configuration.breaker, budget: configuration.redisBudget, configuration.commandTimeout)
    }

    init(_ breaker: BreakerOptions, budget: Duration, _ commandTimeout: Duration) {
        self.budget = budget.saturatedNanoseconds
        self.breaker = breaker
        slowAfter = breaker.slowAfter.saturatedNanoseconds
        let bounds = (breaker.pause.lowerBound.saturatedNanoseconds, breaker.pause.upperBound.saturatedNanoseconds)
        pause = max(1, bounds.0)...max(1, bounds.1)
        window = breaker.window.saturatedNanoseconds
        probeLimit = max(1, min(budget, commandTimeout).saturatedNanoseconds)
    }
}

extension RedisConfiguration {
    static func validate(_ redisBudget: Duration, _ breaker: BreakerOptions) throws(RedisError) {
        func require(_ condition: Bool, _ message: String) throws(RedisError) {
            guard condition else { throw RedisError(code: .invalidConfiguration, message: message) }
        }
        try require(redisBudget > .zero, "redisBudget is not above zero")
        try require(breaker.window > .zero && breaker.slowAfter > .zero, "a time of the breaker is not above zero")
        try require(breaker.pause.lowerBound > .zero, "the breaker's pause does not begin above zero")
    }

    /// The same for a client of its own, with terms that may change while it is in use.
    func withOwnTerms() -> RedisConfiguration {
        var configuration = self
        configuration.terms = Adjustable(CallTerms(self))
        return configuration
    }

    /// The terms of the client that the configuration is for.
    var presentTerms: Adjustable<CallTerms> { terms ?? Adjustable(CallTerms(self)) }
}
