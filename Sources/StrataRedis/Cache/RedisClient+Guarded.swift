internal import Strata

extension RedisClient {
    /// The state of the breakers and of the pending invalidations.
    ///
    /// The breakers guard the calls of caches; commands that you send to the client yourself are neither counted nor
    /// refused.
    ///
    /// Each node of a cluster has breakers of its own; here the breakers of a role count as one, in the worst of their
    /// states.
    public var outageStatistics: OutageStatistics {
        var statistics = outage.statistics
        for node in cluster?.view?.nodes ?? [] {
            guard let client = node.existing else { continue }
            statistics.breakers.merge(client.outage.statistics.breakers) { $0.merged(with: $1) }
        }
        statistics.untrustedReason = cache.refusal
        return statistics
    }

    /// Runs a call of a cache while its breaker is closed and its budget lasts.
    ///
    /// - Parameters:
    ///   - role: The role, whose breaker decides.
    ///   - key: The key, whose node's breaker decides in a cluster.
    ///   - body: Sends commands, none of which may take longer than the given time.
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
            pass = try breaker.enter(at: outage.clock.now(at: start))
        } catch {
            if let number = error.probe { probe(breaker, number) }
            throw outage.refusal(role)
        }
        do {
            let result = try await body(.nanoseconds(limit))
            let end = MonotonicInstant.now
            let duration = start.nanoseconds(to: end)
            budget?.spend(duration)
            breaker.leave(
                pass,
                .answered,
                after: charged(duration, breaker, since: start),
                at: outage.clock.now(at: end)
            )
            outage.durations.tell(.call(role.rawValue), duration)
            return result
        } catch {
            let end = MonotonicInstant.now
            let duration = start.nanoseconds(to: end)
            budget?.spend(duration)
            breaker.leave(
                pass,
                outcome(of: error, role),
                after: charged(duration, breaker, since: start),
                at: outage.clock.now(at: end)
            )
            outage.durations.tell(.call(role.rawValue), duration, error: CacheError.name(of: error))
            throw error
        }
    }

    /// The server's part in the time of a call.
    ///
    /// Most of the time may be this process's own: callers that wait for a processor, or a thread that does.
    @inline(__always)
    private func charged(_ duration: Int64, _ breaker: CircuitBreaker, since start: MonotonicInstant) -> Int64 {
        duration < breaker.slowAfter || hasSeenSlowReply(since: start) ? duration : 0
    }

    /// Runs a call of a cache with a budget of its own.
    @inline(__always)
    func budgeted<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        try await CallBudget.$current.withValue(CallBudget(outage.budget)) { try await body() }
    }

    private func outcome(of error: any Error, _ role: RedisRole) -> CircuitBreaker.Outcome {
        guard let error = error as? RedisError, error.code != .shutDown, error.code != .overloaded, !error.isOwnDelay
        else { return .unknown }
        guard error.blamesServer else {
            if error.isOfForbiddenName { outage.refusals.note(error, role) }
            return .answered
        }
        if error.code == .server { outage.refusals.note(error, role) }
        return .failed
    }

    /// Sends a PING in the background.
    ///
    /// It ends by its deadline whatever the server does.
    private func probe(_ breaker: CircuitBreaker, _ number: UInt64) {
        let limit = outage.terms.value.probeLimit
        post(deadline: MonotonicInstant.coarse.advanced(byNanoseconds: limit), expecting: .status) { [clock] outcome in
            let reply = try? outcome.get()
            let answered = reply == .status("PONG") || reply?.isRefusedPing == true
            breaker.probed(number, answered, at: clock.now)
        } encode: { writer in
            writer.begin(1)
            writer.argument("PING" as StaticString)
        }
    }
}
