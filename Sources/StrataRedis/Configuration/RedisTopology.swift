/// What stands behind the addresses of a configuration.
public enum RedisTopology: String, Sendable, Hashable, CaseIterable {
    /// One server, the default; or one address that always leads to the primary.
    case single
    /// Nodes of a Redis Cluster: primaries that share 16 384 slots.
    ///
    /// The addresses are those of some nodes; one that answers is enough.
    case cluster
}
