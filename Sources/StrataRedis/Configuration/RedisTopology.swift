/// What stands behind the address of a configuration.
///
/// In its handshake each connection asks the server what it is (`HELLO`, in the same round trip). A server that is not
/// what the configuration says is not used; see ``RedisError/Code/wrongServer``.
public enum RedisTopology: String, Sendable, Hashable, CaseIterable {
    /// One server, the default.
    ///
    /// A name that follows the primary of a replicated set is one, too: it is resolved anew at every connect.
    case single
    /// Sentinels, which are asked for the primary; see ``SentinelOptions``.
    case sentinel
    /// Nodes of a Redis Cluster: primaries that share 16 384 slots.
    ///
    /// The addresses name some of the nodes; one that answers is enough.
    case cluster
    /// Unknown: the servers at the given addresses are asked what they are, when the client is made and before each
    /// connect.
    ///
    /// That costs one more short connection. Sentinels that watch several primaries need the name of one. A cluster has
    /// to answer when the client is made; if it answers only later, calls throw ``RedisError/Code/wrongServer``. The
    /// thread that makes the client waits for that, so a ``CredentialSource`` must not need the actor that it runs on.
    case auto
}
