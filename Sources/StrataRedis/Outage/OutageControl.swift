internal import Logging
internal import Strata

/// What makes an outage cheap for a client: breakers, and invalidations to repeat.
final class OutageControl: Sendable {
    let replay: InvalidationReplay
    /// What the breakers go by.
    let clock: CacheClock
    let refusals: RefusalLog
    /// Hears how long each call took.
    let durations: WorkDurations
    /// Tells when a breaker opens and closes.
    let events: EventHub
    /// By the roles' order.
    private let breakers: [CircuitBreaker]
    private let openErrors: [RedisError]
    private let spent: RedisError
    /// What calls may cost now.
    let terms: Adjustable<CallTerms>
    /// The longest time of one command, in nanoseconds.
    let commandTimeout: Int64

    init(
        _ configuration: RedisConfiguration,
        _ clock: CacheClock = .current,
        logger: Logger?,
        _ record: BreakerRecord = BreakerRecord()
    ) {
        self.clock = clock
        events = record.events
        durations = record.durations
        let endpoint = configuration.place
        let terms = configuration.presentTerms
        self.terms = terms
        commandTimeout = configuration.commandTimeout.saturatedNanoseconds
        breakers = RedisRole.allCases.map {
            CircuitBreaker($0, terms, endpoint: endpoint, logger: logger, record)
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

    /// The budget of a call, in nanoseconds.
    var budget: Int64 { terms.value.budget }

    func breaker(_ role: RedisRole) -> CircuitBreaker { breakers[role.place] }

    func refusal(_ role: RedisRole) -> RedisError { openErrors[role.place] }

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

    /// Nodes of a cluster are known, which guard the calls from now on: what was refused before says nothing of them.
    func handedOver() {
        for breaker in breakers { breaker.proved() }
        replay.hurry()
    }

    var statistics: OutageStatistics {
        var statistics = replay.statistics
        let now = clock.now
        for role in RedisRole.allCases { statistics.breakers[role] = breaker(role).statistics(at: now) }
        return statistics
    }
}
