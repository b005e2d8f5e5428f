internal import Logging
internal import Strata

/// The way to the node that serves a key: the map of slots, the nodes, and what keeps both true.
///
/// The map is asked for when the client begins, each ``RedisConfiguration/linkPingInterval``, and when a call finds out
/// that it is old: one round at a time, at most one a second, or one each such interval where that is shorter. A call
/// whose slot has moved follows the node's answer at once and does not wait for a round.
///
/// Each node has a ``RedisClient`` of its own: connections, invalidation link, breakers. All share one I/O thread.
final class ClusterRouter: Sendable {
    struct State {
        var view: ClusterView?
        /// Nodes that redirections have named, or a seed, and that are in no map; with the time of their last use.
        var strays: [RedisEndpoint: (node: ClusterNode, usedAt: MonotonicInstant)] = [:]
        var round: RefreshRound?
        var lastRound = MonotonicInstant.distantPast
        var lastError: RedisError?
        /// Why no node told of the cluster, each kind that was logged since one did.
        var toldOf: Set<String> = []
        var hasBegun = false
        var isStopped = false
        /// The servers do not know CLUSTER SHARDS.
        var asksForSlots = false
        /// How many slots were moved by redirections since the last round.
        var patches = 0
        var turn = 0
    }

    /// So many nodes that are in no map are talked to, besides those of the configuration.
    static let mostStrays = 16
    /// So many slots are moved in the map by redirections from one round to the next: each is work for every keyspace.
    static let mostPatches = 64

    let configuration: RedisConfiguration
    let seeds: [RedisEndpoint]
    let logger: Logger?
    let state = Locked(State())
    let rounds = Rounds()
    let watch = Watch()
    let observer: (any ClusterObserver)?
    /// `nil` if none is read.
    let replicas: ClusterReplicas?
    private let make: @Sendable (RedisEndpoint) throws -> RedisClient

    /// - Parameters:
    ///   - configuration: Its endpoints are where the map is asked for first.
    ///   - logger: Told when the cluster changes.
    ///   - observer: Told of everything that matters to what stands above.
    ///   - replicas: Those that may be read; `nil` for none.
    ///   - make: Makes a node's client.
    init(
        _ configuration: RedisConfiguration,
        logger: Logger?,
        observer: (any ClusterObserver)?,
        replicas: ClusterReplicas? = nil,
        make: @escaping @Sendable (RedisEndpoint) throws -> RedisClient
    ) {
        self.configuration = configuration
        self.logger = logger
        self.observer = observer
        self.replicas = replicas
        self.make = make
        seeds = configuration.seeds
    }

    /// The router of a client.
    convenience init(
        _ configuration: RedisConfiguration,
        logger: Logger?,
        observer: (any ClusterObserver)?,
        _ make: @escaping @Sendable (RedisConfiguration) throws -> RedisClient
    ) {
        let nodes = configuration.sharingWarnings()
        self.init(
            configuration,
            logger: logger,
            observer: observer,
            replicas: configuration.replicaLagLimit.map { limit in
                ClusterReplicas(limit: limit, configuration) { try make(nodes.replica(at: $0)) }
            }
        ) {
            try make(nodes.node(at: $0))
        }
    }

    /// Begins to look for the cluster; does nothing when it has begun, or has ended.
    func begin() {
        let isFirst = state.withLock { state in
            guard !state.hasBegun, !state.isStopped else { return false }
            state.hasBegun = true
            return true
        }
        guard isFirst else { return }
        refresh()
        watch.schedule(self, by: MonotonicInstant.now.advanced(by: configuration.linkPingInterval))
    }

    /// Takes no more calls.
    ///
    /// - Returns: The clients of all nodes, to be ended.
    func stop() -> [RedisClient] {
        state.withLock { state in
            state.isStopped = true
            state.round = nil
        }
        rounds.end()
        for node in nodes { node.close() }
        return clients + (replicas?.stop() ?? [])
    }

    var isStopped: Bool { state.withLock { $0.isStopped } }

    // MARK: Nodes

    /// All nodes that are talked to, or were named by a redirection.
    var nodes: [ClusterNode] { state.withLock { ($0.view?.nodes ?? []) + $0.strays.values.map(\.node) } }

    /// The clients of nodes that there are.
    var clients: [RedisClient] { nodes.compactMap(\.existing) }

    /// The cluster as it was last seen; `nil` until it was.
    var view: ClusterView? { state.withLock { $0.view } }

    /// The cluster, waited for when it has not been seen yet.
    ///
    /// - Throws: ``RedisError`` when no node tells of it; `CancellationError`.
    func view(by deadline: MonotonicInstant) async throws -> ClusterView {
        while true {
            let (view, ended, isStopped) = state.withLock { ($0.view, rounds.ended, $0.isStopped) }
            guard !isStopped else { throw RedisError.shutDown(configuration.place) }
            if let view { return view }
            begin()
            refresh()
            guard .now < deadline else { throw unseen }
            try await rounds.wait(past: ended, until: deadline)
            // Those that waited for a round are told what it has found.
            if self.view == nil, rounds.ended > ended { throw unseen }
        }
    }

    private var unseen: RedisError {
        state.withLock { $0.lastError }
            ?? RedisError(
                code: .timeout,
                message: "no node described the cluster in time",
                endpoint: configuration.place
            )
    }

    /// The node that serves a slot, any for none; `nil` while that is not known.
    func node(of slot: UInt16?) -> ClusterNode? {
        state.withLock { state in
            guard let view = state.view else { return nil }
            if let slot { return view.node(of: slot) }
            state.turn = (state.turn + 1) % max(1, view.nodes.count)
            return view.nodes.isEmpty ? nil : view.nodes[state.turn]
        }
    }

    /// The client of the node that serves a slot; `nil` while that is not known.
    func client(of slot: UInt16?) -> RedisClient? {
        if let node = node(of: slot) { return try? node.client() }
        begin()
        return nil
    }

    /// The replicas of a slot that may be read; see ``ClusterReplicas/candidates(of:since:)``.
    func replicas(of slot: UInt16, since change: MonotonicInstant) -> [ReplicaCandidate] {
        guard let replicas, let node = node(of: slot) else { return [] }
        return replicas.candidates(of: node.endpoint, since: change)
    }

    /// The node at an address that a redirection has named.
    ///
    /// - Throws: ``RedisError/Code/tooManyRedirects`` when too many such addresses were named.
    func node(at endpoint: RedisEndpoint) throws(RedisError) -> ClusterNode {
        let (node, isStopped, strays) = state.withLock { state in
            // Copied only where strays change.
            let strays = state.strays
            let node = state.isStopped ? nil : state.node(at: endpoint, upTo: Self.mostStrays + seeds.count, make)
            return (node, state.isStopped, strays)
        }
        // With its last reference a node's client ends, which has effects of its own: not under the lock.
        withExtendedLifetime(strays) {}
        guard !isStopped else { throw RedisError.shutDown(endpoint.description) }
        guard let node else {
            throw RedisError(
                code: .tooManyRedirects,
                message: "the cluster's nodes keep naming nodes that are in no map",
                endpoint: endpoint.description
            )
        }
        return node
    }

    /// A redirection has told that a slot has moved.
    ///
    /// The map is changed at once, so that other calls need not be redirected, and is asked for anew. This adds no node
    /// to the map: a node could name any number of others.
    func moved(_ slot: UInt16, to node: ClusterNode) {
        guard view?.byEndpoint[node.endpoint] != nil else {
            exposed(slot, to: node)
            return refresh()
        }
        let (view, isTooMany) = state.withLock { state -> (ClusterView?, Bool) in
            guard let view = state.view, view.map.owner(of: slot) != node.endpoint else { return (nil, false) }
            guard state.patches < Self.mostPatches else { return (nil, true) }
            state.patches += 1
            let map = view.map.moving(slot, to: node.endpoint)
            let patched = ClusterView(map, after: view, epoch: view.epoch, askedAt: view.askedAt) {
                view.byEndpoint[$0] ?? node
            }
            state.view = patched
            return (patched, false)
        }
        // The map stays as it is until the next round, but the call goes there: what happens there has to be told.
        if isTooMany { exposed(slot, to: node) }
        if let view {
            observer?.seen(view)
            confirm([node])
        }
        refresh()
    }

    /// Takes over what a round has found.
    func apply(_ map: SlotMap, epoch: Int64, askedAt: MonotonicInstant) -> ClusterView? {
        let (view, before) = state.withLock { state -> (ClusterView?, State) in
            let before = state
            guard !state.isStopped else { return (nil, before) }
            let view = ClusterView(map, after: state.view, epoch: epoch, askedAt: askedAt) { endpoint in
                state.view?.byEndpoint[endpoint] ?? state.strays[endpoint]?.node ?? ClusterNode(endpoint, make: make)
            }
            state.view = view
            state.patches = 0
            state.lastError = nil
            state.toldOf = []
            let limit = MonotonicInstant.now.advanced(by: .seconds(-10))
            state.strays = state.strays.filter { view.byEndpoint[$0.key] == nil && $0.value.usedAt > limit }
            return (view, before)
        }
        // As above: nodes may have left.
        withExtendedLifetime(before) {}
        return view
    }
}

extension ClusterRouter.State {
    /// A node that is known, or a new one where there is room for it.
    fileprivate mutating func node(
        at endpoint: RedisEndpoint,
        upTo most: Int,
        _ make: @escaping @Sendable (RedisEndpoint) throws -> RedisClient
    ) -> ClusterNode? {
        if let node = view?.byEndpoint[endpoint] { return node }
        let now = MonotonicInstant.now
        if let stray = strays[endpoint] {
            strays[endpoint]?.usedAt = now
            return stray.node
        }
        if strays.count >= most {
            let limit = now.advanced(by: .seconds(-10))
            strays = strays.filter { $0.value.usedAt > limit }
        }
        guard strays.count < most else { return nil }
        let node = ClusterNode(endpoint, make: make)
        strays[endpoint] = (node, now)
        return node
    }
}
