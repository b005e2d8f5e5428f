internal import Strata

/// What a server says about itself, and how fast it answers.
package struct ServerReport: Sendable {
    /// From the first call to its answer: resolving the name, connecting, the handshake and one round trip.
    package let connect: Duration
    /// PINGs, one after the other, in the order in which they were sent; at least one.
    package let roundTrips: [Duration]
    /// `redis` or `valkey`; `nil` when the server does not tell, or the user may not ask.
    package let product: String?
    package let version: String?
    /// `standalone`, `sentinel` or `cluster`.
    package let mode: String?
    /// `master` or `slave`, as the server calls it.
    package let role: String?

    /// Asks a server.
    ///
    /// One round trip for each sample, and two more.
    package static func take(_ redis: RedisClient, samples: Int) async throws -> ServerReport {
        let connect = try await measure { try await redis.answers() }
        var roundTrips: [Duration] = []
        for _ in 0..<max(samples, 1) {
            roundTrips.append(try await measure { try await redis.answers() })
        }
        let fields = try await information(redis)
        let isValkey = fields["valkey_version"] != nil
        return ServerReport(
            connect: connect,
            roundTrips: roundTrips,
            product: fields["server_name"] ?? (isValkey ? "valkey" : fields["redis_version"].map { _ in "redis" }),
            version: fields["valkey_version"] ?? fields["redis_version"],
            mode: fields["redis_mode"] ?? fields["server_mode"],
            role: fields["role"]
        )
    }

    /// Empty when the user may not ask, which a user of a cache need not.
    private static func information(_ redis: RedisClient) async throws -> [String: String] {
        do {
            let (server, replication) = try await concurrently {
                try await redis.info("server")
            } and: {
                try await redis.info("replication")
            }
            return server.merging(replication) { first, _ in first }
        } catch let error as RedisError where error.code == .server {
            return [:]
        }
    }

    private static func measure(_ body: () async throws -> Void) async throws -> Duration {
        let start = MonotonicInstant.now
        try await body()
        return start.duration(to: .now)
    }
}
