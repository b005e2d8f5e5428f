internal import Strata

extension RedisClient {
    /// What is known of outages.
    ///
    /// The breakers stand before what caches ask; commands that are sent to the client directly are neither counted nor
    /// refused.
    public var outageStatistics: OutageStatistics { outage.statistics }

    /// Runs a call of a cache as long as its breaker is closed and its budget lasts.
    ///
    /// - Parameters:
    ///   - role: Whose breaker lets it through.
    ///   - body: Sends commands, none of which may take longer than it is given.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; ``RedisError/Code/circuitOpen`` and ``RedisError/Code/budgetSpent`` at once.
    @inline(__always)
    func guarded<Result>(_ role: RedisRole, _ body: (Duration) async throws -> Result) async throws -> Result {
        let breaker = outage.breaker(role)
        let budget = CallBudget.current
        let limit = try outage.limit(budget)
        let start = MonotonicInstant.now
        let pass: CircuitBreaker.Pass
        do throws(CircuitBreaker.Refusal) {
            pass = try breaker.enter(at: start)
        } catch {
            if let number = error.probe { probe(breaker, number) }
            throw outage.refusal(role)
        }
        do {
            let result = try await body(.nanoseconds(limit))
            let end = MonotonicInstant.now
            let duration = start.nanoseconds(to: end)
            budget?.spend(duration)
            breaker.leave(pass, .answered, after: duration, at: end)
            return result
        } catch {
            let end = MonotonicInstant.now
            let duration = start.nanoseconds(to: end)
            budget?.spend(duration)
            breaker.leave(pass, Self.outcome(of: error), after: duration, at: end)
            throw error
        }
    }

    /// Runs a call of a cache with a budget of its own.
    @inline(__always)
    func budgeted<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await CallBudget.$current.withValue(CallBudget(outage.budget)) { try await body() }
    }

    private static func outcome(of error: any Error) -> CircuitBreaker.Outcome {
        guard let error = error as? RedisError, error.code != .shutDown, error.code != .overloaded else {
            return .unknown
        }
        return error.blamesServer ? .failed : .answered
    }

    /// Sends a PING that nobody waits for.
    ///
    /// It ends by its deadline whatever the server does.
    private func probe(_ breaker: CircuitBreaker, _ number: UInt64) {
        let patience = min(configuration.redisBudget, configuration.commandTimeout)
        post(deadline: MonotonicInstant.coarse.advanced(by: patience)) { outcome in
            var answered = false
            if case .success(.status("PONG")) = outcome { answered = true }
            breaker.probed(number, answered, at: .now)
        } encode: { writer in
            writer.begin(1)
            writer.argument("PING" as StaticString)
        }
    }
}
