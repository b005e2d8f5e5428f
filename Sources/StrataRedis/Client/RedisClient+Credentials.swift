internal import Strata

extension RedisClient {
    /// Asks the source of credentials now, and has all connections log in with its answer.
    ///
    /// Call it when you learn of a new password and do not want to wait for the next question. Calls go on meanwhile.
    /// The invalidation link follows by itself. Does nothing without ``RedisConfiguration/credentials``.
    ///
    /// One round trip on each open connection, on all at once: a silent node of a cluster holds up no other. The source
    /// has 30 seconds to answer.
    ///
    /// - Throws: ``RedisError`` when the source fails, or a server does not accept its answer: then its connections
    ///   stay logged in as they were. In a cluster it is the error of the first such node, and the message names the
    ///   others. `CancellationError`.
    public func refreshCredentials() async throws {
        guard let source = configuration.credentials else { return }
        try await source.keeper.answer()
        let deadline = MonotonicInstant.now.advanced(by: configuration.commandTimeout)
        let nodes = cluster.map { $0.clients + ($0.replicas?.clients ?? []) } ?? [self]
        let failures = await nodes.outcomes { try await $0.logIn(deadline: deadline) }
            .compactMap { $0.failure as? RedisError }
        if let failure = failures.first { throw failure.joined(by: failures.dropFirst()) }
    }

    /// Has all connections of one server log in.
    private func logIn(deadline: MonotonicInstant) async throws {
        for outcome in await connections.outcomes({ try await $0.logIn(deadline: deadline) }) { try outcome.get() }
    }
}

extension Connection {
    fileprivate func logIn(deadline: MonotonicInstant) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            logIn(deadline: deadline) { failure in
                if let failure { continuation.resume(throwing: failure) } else { continuation.resume() }
            }
        }
    }
}

extension RedisError {
    /// The error of one node, with the names of others that have failed too.
    fileprivate func joined(by others: ArraySlice<RedisError>) -> RedisError {
        guard !others.isEmpty else { return self }
        var error = self
        let shown = others.prefix(3).map { "\($0.endpoint ?? "?"): \($0.code)" }.joined(separator: ", ")
        error.message += "; and so did \(shown)\(others.count > 3 ? " and \(others.count - 3) more" : "")"
        return error
    }
}
