internal import Strata

extension RedisClient {
    /// By how much the time at which a value was stored may be too late.
    ///
    /// A machine's clock drifts from the server's between two readings, and after a failover it is another server's. The round
    /// trip of a reading is taken off when the value is written.
    private static let clockError: Duration = .seconds(2)

    /// Carries out an invalidation that had failed.
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
            // The later the script runs, the more it takes for old.
            let reach = intent.madeAt.duration(to: now) - Self.clockError
            _ = try await run(
                OutageScripts.removeOlder,
                keys: [names.value, names.lease],
                arguments: [
                    Array(String(reach.saturatedNanoseconds / 1_000_000).utf8),
                    keyspace.events, KeyspaceEvent.invalidated.message(for: names),
                ],
                repetition: .repeatable,
                timeout: min(configuration.commandTimeout, now.duration(to: deadline))
            )
        case .all(let keyspace, let part): try await advance(.take(.everything), in: keyspace, part)
        case .tag(let name, let keyspace, let part): try await advance(.take(.tags([name])), in: keyspace, part)
        }
    }

    /// Does what changes something in Redis; when that fails, what lies there is not read any more until it is removed.
    ///
    /// - Parameters:
    ///   - target: What is to be removed when `body` fails.
    ///   - rank: Whether `body` removes or writes.
    ///   - lifetime: How long what may lie there may live.
    ///   - body: The change. Where it writes, it says until when what it has sent may still be applied: what is repeated
    ///     before that would be undone by what arrives afterwards.
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
            // A cancelled call may have been carried out, and may not. What the codec refuses changes nothing.
            if error is RedisError || error is CancellationError {
                // The server has answered, or nothing was sent: nothing is under way.
                if (error as? RedisError)?.hasLanded == true { arrival = .distantPast }
                outage.replay.record(target, rank, for: lifetime, notBefore: arrival, self)
            }
            throw error
        }
    }
}

extension RedisError {
    /// Whether nothing of the call is on its way any more: the server has answered it, or has never been sent it.
    fileprivate var hasLanded: Bool { effect == .notApplied || serverMessage != nil }
}
