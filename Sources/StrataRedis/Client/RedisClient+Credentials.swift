internal import Strata

extension RedisClient {
    /// Asks the source of credentials now, and has all connections log in with its answer.
    ///
    /// For whoever is told of a new password and need not wait for the next question. Calls go on meanwhile. The invalidation
    /// link follows by itself. Without ``RedisConfiguration/credentials`` nothing is done.
    ///
    /// One round trip on each connection that stands.
    ///
    /// - Throws: ``RedisError`` when the source fails, or the server does not accept its answer: then connections stay logged in
    ///   as they were.
    public func refreshCredentials() async throws {
        guard let source = configuration.credentials else { return }
        try await source.keeper.answer()
        let deadline = MonotonicInstant.now.advanced(by: configuration.commandTimeout)
        var failure: RedisError?
        for connection in cluster?.clients.flatMap(\.connections) ?? connections {
            failure = await connection.logIn(deadline: deadline) ?? failure
        }
        if let failure { throw failure }
    }
}

extension Connection {
    /// Logs in and returns what went wrong.
    fileprivate func logIn(deadline: MonotonicInstant) async -> RedisError? {
        await withCheckedContinuation { continuation in
            logIn(deadline: deadline) { continuation.resume(returning: $0) }
        }
    }
}
