internal import Strata
internal import Synchronization

/// A node of a cluster and the client that talks to it, made when it is first needed.
final class ClusterNode: Sendable {
    let endpoint: RedisEndpoint
    private let make: @Sendable (RedisEndpoint) throws -> RedisClient
    private let made = Locked<(client: RedisClient?, isClosed: Bool)>((nil, false))
    private let ready = AtomicLazyReference<RedisClient>()

    init(_ endpoint: RedisEndpoint, make: @escaping @Sendable (RedisEndpoint) throws -> RedisClient) {
        self.endpoint = endpoint
        self.make = make
    }

    /// The client once it has begun; after ``close()`` it refuses calls by itself.
    @inline(__always)
    var begun: RedisClient? { ready.load() }

    /// The client, which connects from now on.
    ///
    /// - Throws: ``RedisError`` as ``client()``, and ``RedisError/Code/shutDown`` when there is no thread for it.
    func begin() throws -> RedisClient {
        if let begun { return begun }
        let client = try client()
        guard client.begin() else { throw RedisError.shutDown(endpoint.description) }
        return ready.storeIfNil(client)
    }

    /// The client; it has its own connections and companion, and shares the I/O thread with those of the other nodes.
    ///
    /// - Throws: ``RedisError`` when the system gives no descriptor, and ``RedisError/Code/shutDown`` after
    ///   ``close()``.
    func client() throws -> RedisClient {
        try made.withLock { made in
            guard !made.isClosed else { throw RedisError.shutDown(endpoint.description) }
            if let client = made.client { return client }
            let client = try make(endpoint)
            made.client = client
            return client
        }
    }

    /// The client, if it was needed yet.
    var existing: RedisClient? { made.withLock { $0.client } }

    /// Gives no client any more.
    func close() { made.withLock { $0.isClosed = true } }
}

/// The cluster as it was last seen.
final class ClusterView: Sendable {
    let map: SlotMap
    /// In the order of the map's.
    let nodes: [ClusterNode]
    let byEndpoint: [RedisEndpoint: ClusterNode]
    /// The cluster's epoch when it was seen.
    let epoch: Int64
    /// When it was asked for.
    let askedAt: MonotonicInstant
    /// Higher than that of any view before.
    let number: UInt64

    init(
        _ map: SlotMap,
        after last: ClusterView?,
        epoch: Int64,
        askedAt: MonotonicInstant,
        node: (RedisEndpoint) -> ClusterNode
    ) {
        number = (last?.number ?? 0) + 1
        self.map = map
        self.epoch = epoch
        self.askedAt = askedAt
        nodes = map.nodes.map(node)
        byEndpoint = Dictionary(nodes.map { ($0.endpoint, $0) }) { first, _ in first }
    }

    /// The node that serves a slot.
    func node(of slot: UInt16) -> ClusterNode? {
        let owner = map.owners[Int(slot)]
        return owner == SlotMap.nobody ? nil : nodes[Int(owner)]
    }
}

/// Has to know what becomes of a cluster.
///
/// Called on the nodes' I/O thread, and on callers' tasks.
protocol ClusterObserver: AnyObject, Sendable {
    /// The cluster was seen, maybe the same as before.
    func seen(_ view: ClusterView)

    /// A node has said of itself, when it was asked at that time, that it is part of a working cluster.
    func confirmed(_ endpoint: RedisEndpoint, askedAt: MonotonicInstant)

    /// Keys of a slot are on their way to a node.
    func exposed(_ slot: UInt16, to node: ClusterNode)
}
