internal import Strata

/// What lives and dies with a client, and stands above it.
///
/// The client tells it of its own life, and knows nothing else of it.
protocol ClientCompanion: LoopAttachment {
    /// The client is about to end: what still has to be sent is sent now.
    func finish(by deadline: MonotonicInstant, _ client: RedisClient) async

    /// Has to know what becomes of a cluster.
    var clusterObserver: (any ClusterObserver)? { get }

    /// The last reference to the client is gone.
    func stop()
}
