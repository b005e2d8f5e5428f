/// What one of the servers that are asked for the primary has answered.
enum SentinelAnswer: Sendable, Equatable {
    /// The primary, in the Sentinel's configuration of this number; 0 where the user may not ask for the number.
    case primary(RedisEndpoint, epoch: UInt64)
    /// It is a Sentinel, and knows no primary of that name.
    case unknown
    /// It is no Sentinel but a single server.
    case single
    /// It is a node of a cluster.
    case cluster
    case failed(RedisError)
}
