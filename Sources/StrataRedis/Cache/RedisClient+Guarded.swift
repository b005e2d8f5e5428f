internal import Strata

extension RedisClient {
    /// What is known of outages.
    ///
    /// The breakers stand before what caches ask; commands that are sent to the client directly are neither counted nor
    /// refused.
    ///
    /// Each node of a cluster has breakers of its own; here those of a role count as one, in the worst of their states.
    public var outageStatistics: OutageStatistics {
        var statistics = outage.statistics
        for node in cluster?.view?.nodes ?? [] {
            guard let client = node.existing else { continue }
            statistics.breakers.merge(client.outage.statistics.breakers) { $0.merged(with: $1) }
        }
        statistics.untrustedReason = cache.refusal
        return statistics
    }

    /// Runs a call of a cache as long as its breaker is closed and its budget lasts.
    ///
    /// - Parameters:
    ///   - role: Whose breaker lets it through.
    ///   - key: What it is about: in a cluster the breaker is that of the node that serves the key.
    ///   - body: Sends commands, none of which may take longer than it is given.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; ``RedisError/Code/circuitOpen`` and ``RedisError/Code/budgetSpent`` at once.
    @inline(__always)
    func guarded<Result>(
        _ role: RedisRole,
        for key: @autoclosure () -> RedisKey,
        _ body: (Duration) async throws -> Result
    ) async throws -> Result {
        try await responsible(for: key()).guarding(role, body)
    }

    /// Runs a call of a cache as long as this client's breaker is closed and the call's budget lasts.
    @inline(__always)
    func guarding<Result>(_ role: RedisRole, _ body: (Duration) async throws -> Result) async throws -> Result {
        let outage = outage
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
            breaker.leave(pass, .answered, after: charged(duration, breaker, since: start), at: end)
            return result
        } catch {
            let end = MonotonicInstant.now
            let duration = start.nanoseconds(to: end)
            budget?.spend(duration)
            breaker.leave(pass, outcome(of: error, role), after: charged(duration, breaker, since: start), at: end)
            throw error
        }
    }

    /// How much of a call's time is the server's.
    ///
    /// Most of it may be this process's: callers that wait for a processor, or a thread that does.
    @inline(__always)
    private func charged(_ duration: Int64, _ breaker: CircuitBreaker, since start: MonotonicInstant) -> Int64 {
        duration < breaker.slowAfter || hasSeenSlowReply(since: start) ? duration : 0
    }

    /// Runs a call of a cache with a budget of its own.
    @inline(__always)
    func budgeted<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await CallBudget.$current.withValue(CallBudget(outage.budget)) { try await body() }
    }

    private func outcome(of error: any Error, _ role: RedisRole) -> CircuitBreaker.Outcome {
        guard let error = error as? RedisError, error.code != .shutDown, error.code != .overloaded, !error.isOwnDelay
        else { return .unknown }
        guard error.blamesServer else { return .answered }
        if error.code == .server { outage.refusals.note(error, role) }
        return .failed
    }

    /// Sends a PING that nobody waits for.
    ///
    /// It ends by its deadline whatever the server does.
    private func probe(_ breaker: CircuitBreaker, _ number: UInt64) {
        let patience = min(configuration.redisBudget, configuration.commandTimeout)
        post(deadline: MonotonicInstant.coarse.advanced(by: patience), expecting: .status) { outcome in
            var answered = false
            if case .success(.status("PONG")) = outcome { answered = true }
            breaker.probed(number, answered, at: .now)
        } encode: { writer in
            writer.begin(1)
            writer.argument("PING" as StaticString)
        }
    }
}
