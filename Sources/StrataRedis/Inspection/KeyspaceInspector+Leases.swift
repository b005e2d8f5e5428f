internal import Strata

extension KeyspaceInspector {
    /// The leases that stand, in the order in which SCAN finds them.
    ///
    /// Two round trips for each batch of it.
    ///
    /// - Parameter limit: Most leases to look at; `nil` means all.
    /// - Returns: The leases, and whether there are more.
    /// - Throws: ``RedisError``; `CancellationError`.
    package func leases(limit: Int? = nil) async throws -> (leases: [LeaseInspection], more: Bool) {
        var found: [LeaseInspection] = []
        for try await batch in KeyListing(redis, keyspace, under: keyspace.leases, matching: nil) {
            let left = limit.map { $0 - found.count } ?? batch.count
            for case let lease? in try await batch.prefix(left).concurrently({ try await lease(of: $0) }) {
                found.append(lease)
            }
            if batch.count > left { return (found, true) }
        }
        return (found, false)
    }

    /// The leases of some keys, or the failures in their place, in the same order; `nil` where there is none.
    ///
    /// One round trip for every few keys.
    package func leases(of keys: [InspectedKey]) async throws -> [LeaseInspection?] {
        try await keys.concurrently { try await lease(of: $0) }
    }

    /// The lease of a key, or the failure in its place; `nil` when there is none.
    ///
    /// One round trip.
    package func lease(of key: InspectedKey) async throws -> LeaseInspection? {
        let (left, record) = try await concurrently { [redis] in
            try await redis.timeToLive(of: key.leaseName)
        } and: {
            try await leaseRecord(of: key)
        }
        return left == .absent ? nil : LeaseInspection(key: key, record: record, timeLeft: left)
    }

    private func leaseRecord(of key: InspectedKey) async throws -> LeaseRecord? {
        do {
            return LeaseRecord(try await redis.getRange(key.leaseName, from: 0, through: 511))
        } catch let error as RedisError where error.serverCode == "WRONGTYPE" {
            return nil
        }
    }
}
