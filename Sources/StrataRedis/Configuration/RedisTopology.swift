/// What stands behind the address of a configuration.
///
/// Whatever is configured, each connection asks the server what it is in its handshake (`HELLO`, in the same round
/// trip), and one that is something else is not used: see ``RedisError/Code/wrongServer``.
public enum RedisTopology: String, Sendable, Hashable, CaseIterable {
    /// One server, the default.
    ///
    /// A name that follows the primary of a replicated set is one, too: it is resolved anew at every connect.
    case single
    /// Sentinels, which are asked for the primary; see ``SentinelOptions``.
    case sentinel
    /// Nodes of a Redis Cluster: primaries that share 16 384 slots.
    ///
    /// The addresses are those of some nodes; one that answers is enough.
    case cluster
    /// Unknown: the servers at the given addresses are asked what they are, when the client is made and before each
    /// connect.
    ///
    /// That costs a short connection more. Sentinels that watch several primaries need the name of one. A cluster has
    /// to answer when the client is made; of one that answers later the client says so
    /// (``RedisError/Code/wrongServer``).
    case auto
}
