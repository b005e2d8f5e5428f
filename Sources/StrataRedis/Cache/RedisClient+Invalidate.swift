extension RedisClient {
    /// Removes a key's value and lease in one step, and wakes callers that wait for it.
    ///
    /// A running fetch can then no longer store its value. One round trip.
    ///
    /// - Parameters:
    ///   - names: Where they lie.
    ///   - keyspace: The keyspace, for its channel.
    ///   - timeout: How long the call may take.
    /// - Returns: How many of the two existed.
    /// - Throws: ``RedisError``; `CancellationError`.
    @discardableResult
    func invalidate(_ names: KeyNames, in keyspace: Keyspace, timeout: Duration? = nil) async throws -> Int {
        let reply = try await run(
            LeaseScripts.invalidate,
            keys: [names.value, names.lease],
            arguments: [keyspace.events, KeyspaceEvent.invalidated.message(for: names)],
            repetition: .repeatable,
            timeout: timeout
        )
        guard let count = reply.count else { throw unexpected("invalidate") }
        return count
    }
}
