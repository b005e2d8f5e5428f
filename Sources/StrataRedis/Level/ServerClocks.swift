internal import Strata

/// The clocks of the servers behind a client: one, or each node's of a cluster.
final class ServerClocks: Sendable {
    private let redis: RedisClient
    private let own: ServerClock
    /// Of a cluster's nodes, by their addresses.
    private let nodes = Locked<[RedisEndpoint: ServerClock]>([:])

    init(_ redis: RedisClient) {
        self.redis = redis
        own = ServerClock(redis)
    }

    /// The clock of the server that a key lies at.
    func clock(for name: @autoclosure () -> RedisKey) -> ServerClock {
        guard redis.cluster != nil else { return own }
        let client = redis.responsible(for: name())
        guard client !== redis else { return own }
        return
            nodes.withLock { nodes -> (clock: ServerClock, looked: [RedisClient]) in
                // This may hold the last reference to it by then, so it is released after the lock.
                var looked: [RedisClient] = []
                let endpoint = client.configuration.endpoint
                if let clock = nodes[endpoint], let known = clock.client {
                    if known === client { return (clock, looked) }
                    looked.append(known)
                }
                // Those of nodes that have left.
                for (endpoint, clock) in nodes {
                    if let known = clock.client { looked.append(known) } else { nodes[endpoint] = nil }
                }
                let clock = ServerClock(client, keeps: false)
                nodes[endpoint] = clock
                return (clock, looked)
            }
            .clock
    }
}
