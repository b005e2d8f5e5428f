@testable import StrataRedis

extension RedisLevel {
    /// Returns when changes are told, tags are known, and all that this voids has been voided.
    func listens() async throws {
        while !shared.isKnown { try await redis.ping() }
        // What follows from the answer was done before the next one is looked at.
        try await redis.ping()
    }
}
