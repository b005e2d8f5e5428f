internal import Strata

extension RedisClient {
    /// How much too late a value's time of storing may be.
    ///
    /// A machine's clock drifts from the server's between two readings, and after a failover there is another server.
    /// The round trip of a reading is subtracted when the value is written.
    private static let clockError: Duration = .seconds(2)

    /// Repeats a failed invalidation.
    ///
    /// One round trip.
    ///
    /// - Parameters:
    ///   - intent: The invalidation.
    ///   - deadline: When there is no more time.
    /// - Throws: ``RedisError``; `CancellationError`.
    func repeatInvalidation(_ intent: PendingInvalidations.Intent, by deadline: MonotonicInstant) async throws {
        switch intent.target {
        case .key(let names, let keyspace):
            let now = MonotonicInstant.now
            // The later the script runs, the more values count as old.
            let present = clock.now(at: now)
            let reach = intent.madeAt.duration(to: present) - Self.clockError
            let reply = try await run(
                OutageScripts.removeOlder,
                keys: [names.value, names.lease],
                arguments: [
                    Array(String(reach.saturatedNanoseconds / 1_000_000).utf8),
                    keyspace.events, KeyspaceEvent.invalidated.message(for: names),
                    Array(String(now.nanoseconds(to: present) / 1_000_000).utf8),
                ],
                repetition: .repeatable,
                timeout: timeout(until: deadline)
            )
            guard let count = reply.integer, (0...1).contains(count) else { throw unexpected("remove-older") }
        case .all(let keyspace, let part):
            try await cache.tags.repeatInvalidation(.everything, in: keyspace, part, self, by: deadline)
        case .tag(let name, let keyspace, let part):
            try await cache.tags.repeatInvalidation(.tags([name]), in: keyspace, part, self, by: deadline)
        }
        // A repetition passes the breaker of removals, and closes it when it succeeds: the node's own in a cluster.
        responsible(for: intent.target.key).outage.breaker(.remove).proved()
    }

    /// How long a command may take that is over at a deadline.
    func timeout(until deadline: MonotonicInstant) -> Duration {
        min(configuration.commandTimeout, MonotonicInstant.now.duration(to: deadline))
    }

    /// Runs a change in Redis.
    ///
    /// When it fails, the stored value is not read any more until it is removed.
    ///
    /// - Parameters:
    ///   - target: What to remove when `body` fails.
    ///   - rank: Whether `body` removes or writes.
    ///   - lifetime: How long the stored value may live.
    ///   - body: The change. A write sets the instant until which it may still be applied: a repetition before that
    ///     could be undone by the late write.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    func keeping<Result>(
        _ target: PendingInvalidations.Target,
        _ rank: PendingInvalidations.Rank,
        for lifetime: Duration,
        _ body: (_ arrival: inout MonotonicInstant) async throws -> Result
    ) async throws -> Result {
        var arrival = MonotonicInstant.distantPast
        do {
            return try await body(&arrival)
        } catch {
            // The server has answered, or nothing was sent: nothing can arrive late.
            if (error as? RedisError)?.hasLanded == true { arrival = .distantPast }
            keep([target], rank, for: lifetime, after: error, notBefore: arrival)
            throw error
        }
    }

    /// Keeps invalidations that a failed change has left undone.
    ///
    /// - Parameters:
    ///   - targets: What to remove.
    ///   - rank: How much would be lost with it.
    ///   - lifetime: How long the stored values may live.
    ///   - error: How the change has failed.
    ///   - arrival: Until when a write may still be applied.
    /// - Returns: Whether all are kept.
    @discardableResult
    func keep(
        _ targets: [PendingInvalidations.Target],
        _ rank: PendingInvalidations.Rank,
        for lifetime: Duration,
        after error: any Error,
        notBefore arrival: MonotonicInstant = .distantPast
    ) -> Bool {
        // A cancelled call may have been carried out or not. A value that the codec refuses changes nothing.
        guard error is RedisError || error is CancellationError else { return false }
        var isKept = true
        for target in targets where !outage.replay.record(target, rank, for: lifetime, notBefore: arrival, self) {
            isKept = false
        }
        return isKept
    }
}

extension RedisError {
    /// Whether no part of the call is still on its way: the server has answered it, or it was never sent.
    fileprivate var hasLanded: Bool { effect == .notApplied || serverMessage != nil }
}
