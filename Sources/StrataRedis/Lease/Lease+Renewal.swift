internal import Strata

extension Lease {
    /// Keeps the lease for as long as `body` runs, up to `limit`; it is not ended here.
    ///
    /// Each renewal is timed from the deadline that the one before has bought, and counted from before it was sent, so a
    /// slow wake-up does not push the next one out. A failed renewal is tried again while the lease can still stand.
    ///
    /// - Parameters:
    ///   - limit: For how long the lease is renewed in all.
    ///   - lost: Called once when the lease is known to be gone while `body` still runs.
    ///   - body: What the lease is held for.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    func held<Result: Sendable>(
        upTo limit: Duration,
        lost: @escaping @Sendable () -> Void = {},
        while body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                // The lease outlives what the call that has taken it may spend on Redis.
                await CallBudget.$current.withValue(nil) {
                    await keepRenewing(until: grantedAt.advanced(by: limit), lost)
                }
                return nil
            }
            defer { group.cancelAll() }
            while let finished = try await group.next() {
                if let result = finished { return result }
            }
            throw CancellationError()
        }
    }

    private func keepRenewing(until limit: MonotonicInstant, _ lost: @Sendable () -> Void) async {
        var expiry = grantedAt.advanced(by: duration)
        while !Task.isCancelled {
            let wait = MonotonicInstant.now.duration(to: expiry.advanced(by: duration * (-2.0 / 3)))
            guard (try? await Task.pause(for: max(wait, duration / 20))) != nil, .now < limit else { return }
            guard .now < expiry else { return lost() }
            let sent = MonotonicInstant.now
            switch try? await renew() {
            case true: expiry = sent.advanced(by: duration)
            case false: return lost()
            case nil: continue
            }
        }
    }
}
