internal import Strata

extension KeyspaceInspector {
    /// Whether the keys have values and leases, in the order of the keys.
    ///
    /// One round trip for 64 keys.
    package func presence(of keys: [InspectedKey]) async throws -> [KeyPresence] {
        try await keys.concurrently { key in
            let (value, lease) = try await concurrently { [redis] in
                try await redis.exists(key.name)
            } and: {
                try await redis.exists(key.leaseName)
            }
            return KeyPresence(key: key, value: value > 0, lease: lease > 0)
        }
    }

    /// Removes values and leases as ``RedisLevel/remove(_:)`` does.
    ///
    /// Running fetches cannot store their values, and waiting callers are woken. What was removed before an error stays
    /// removed. One round trip for 64 keys.
    ///
    /// - Parameter keys: The keys; one that is not there is no error.
    /// - Returns: How many values and leases there were.
    /// - Throws: ``RedisError``; `CancellationError`.
    package func remove(_ keys: [InspectedKey]) async throws -> Int {
        try await keys.concurrently { key in
            guard key.form == .irregular else { return try await redis.invalidate(key.names, in: keyspace) }
            // No level has it in memory or fetches it, and in a cluster its two names may lie in different slots.
            return try await redis.unlink([key.name, key.leaseName])
        }
        .reduce(0, +)
    }

    /// Voids all entries of the keyspace as ``RedisLevel/removeAll()`` does, then removes values and leases by SCAN and
    /// UNLINK.
    ///
    /// - Parameter report: Called after each batch with what was removed so far.
    /// - Returns: What was removed.
    /// - Throws: ``RedisError``; `CancellationError`. What was removed until then stays removed.
    @discardableResult
    package func clear(report: (KeyspaceCounts) -> Void = { _ in }) async throws -> KeyspaceCounts {
        try await redis.clear(keyspace, report: report)
    }
}
