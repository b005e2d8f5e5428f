internal import Logging
internal import Strata

/// What makes an outage cheap for a client: breakers, and invalidations to repeat.
final class OutageControl: Sendable {
    let replay: InvalidationReplay
    /// What the breakers go by.
    let clock: CacheClock
    let refusals: RefusalLog
    /// Hears how long each call took.
    let durations = WorkDurations()
    /// By the roles' order.
    private let breakers: [CircuitBreaker]
    private let openErrors: [RedisError]
    private let spent: RedisError
    /// The budget of a call, and the longest time of one command, in nanoseconds.
    let budget: Int64
    let commandTimeout: Int64

    init(_ configuration: RedisConfiguration, _ clock: CacheClock = .current, logger: Logger?) {
        self.clock = clock
        let endpoint = configuration.place
        budget = configuration.redisBudget.saturatedNanoseconds
        commandTimeout = configuration.commandTimeout.saturatedNanoseconds
        let limit = min(configuration.redisBudget, configuration.commandTimeout)
        breakers = RedisRole.allCases.map {
            CircuitBreaker($0, configuration.breaker, limit: limit, endpoint: endpoint, logger: logger)
        }
        refusals = RefusalLog(endpoint: endpoint, logger: logger)
        openErrors = RedisRole.allCases.map {
            RedisError(
                code: .circuitOpen,
                message: "not asked after many failures (\($0.rawValue))",
                endpoint: endpoint
            )
        }
        spent = RedisError(code: .budgetSpent, message: "the call has spent its time for Redis", endpoint: endpoint)
        replay = InvalidationReplay(
            limit: configuration.invalidationLimit,
            endpoint: endpoint,
            clock: clock,
            logger: logger
        )
    }

    func breaker(_ role: RedisRole) -> CircuitBreaker {
        switch role {
        case .read: breakers[0]
        case .write: breakers[1]
        case .remove: breakers[2]
        case .lease: breakers[3]
        }
    }

    func refusal(_ role: RedisRole) -> RedisError {
        switch role {
        case .read: openErrors[0]
        case .write: openErrors[1]
        case .remove: openErrors[2]
        case .lease: openErrors[3]
        }
    }

    /// How long a command may take, in nanoseconds.
    func limit(_ budget: CallBudget?) throws(RedisError) -> Int64 {
        let left = budget?.left ?? self.budget
        guard left > 0 else { throw spent }
        return min(left, commandTimeout)
    }

    /// A connection was made.
    func returned() {
        for breaker in breakers { breaker.returned() }
        replay.hurry()
    }

    var statistics: OutageStatistics {
        var statistics = replay.statistics
        for role in RedisRole.allCases { statistics.breakers[role] = breaker(role).statistics }
        return statistics
    }
}
