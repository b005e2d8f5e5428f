internal import Strata

/// A replica that may be read, over the connection for which that holds.
struct ReplicaCandidate: Sendable {
    let client: RedisClient
    let connection: Connection
    let proof: ReplicaLag.Proof

    /// Whether the connection is still the one that it was.
    var stands: Bool { connection.standsSince == proof.connection }
}

/// The replicas of a cluster: asks them and their primaries how far they are, so that some may be read when a primary
/// fails.
final class ClusterReplicas: Watched {
    private struct State {
        var lag: ReplicaLag
        var view: ClusterView?
        var map = ReplicaMap()
        var nodes: [RedisEndpoint: ClusterNode] = [:]
        var hasBegun = false
        var isStopped = false
    }

    /// How often servers are asked.
    static let intervals: ClosedRange<Duration> = .milliseconds(50) ... .seconds(1)

    private let state: Locked<State>
    private let watch = Watch()
    private let interval: Duration
    private let callTimeout: Duration
    private let make: @Sendable (RedisEndpoint) throws -> RedisClient

    /// - Parameters:
    ///   - limit: How old a value from a replica may be.
    ///   - configuration: Of the cluster.
    ///   - make: Makes a replica's client.
    init(
        limit: Duration,
        _ configuration: RedisConfiguration,
        make: @escaping @Sendable (RedisEndpoint) throws -> RedisClient
    ) {
        state = Locked(State(lag: ReplicaLag(limit: limit)))
        // So that a primary that has just failed has answered not long ago.
        interval = min(max(limit / 16, Self.intervals.lowerBound), Self.intervals.upperBound)
        callTimeout = configuration.connectTimeout
        self.make = make
    }

    /// The cluster was seen.
    func seen(_ view: ClusterView, _ map: ReplicaMap) {
        let (begins, before) = state.withLock { state -> (Bool, State) in
            let before = state
            guard !state.isStopped else { return (false, before) }
            var map = map
            // Only the answers of a replica and of its primary prove what the replica has, not what a third node has
            // heard of it.
            map.keep(from: state.map) { replica, primary in
                view.byEndpoint[primary] != nil && view.byEndpoint[replica] == nil
                    && state.lag.proof(of: replica, primary, at: .now, since: .distantPast) != nil
            }
            state.view = view
            state.map = map
            state.lag.keep(map)
            var nodes: [RedisEndpoint: ClusterNode] = [:]
            for endpoint in map.replicas.values.joined() {
                nodes[endpoint] = state.nodes[endpoint] ?? ClusterNode(endpoint, make: make)
            }
            state.nodes = nodes
            state.hasBegun = true
            return (!before.hasBegun, before)
        }
        // With its last reference a node's client ends, which has effects of its own: not under the lock.
        withExtendedLifetime(before) {}
        if begins { watch.schedule(self, by: .now) }
    }

    /// The clients of replicas that there are.
    var clients: [RedisClient] { state.withLock { Array($0.nodes.values) }.compactMap(\.existing) }

    /// Ends.
    ///
    /// - Returns: The clients of replicas, to be ended.
    func stop() -> [RedisClient] {
        let nodes = state.withLock { state in
            state.isStopped = true
            return Array(state.nodes.values)
        }
        for node in nodes { node.close() }
        return nodes.compactMap(\.existing)
    }

    /// The replicas of a primary that have everything from before the limit, and from before a change; the least late
    /// first.
    func candidates(of primary: RedisEndpoint, since change: MonotonicInstant) -> [ReplicaCandidate] {
        let now = MonotonicInstant.now
        let (proofs, nodes) = state.withLock { state in
            let replicas = state.map.replicas[primary] ?? []
            let proofs = replicas.compactMap { replica in
                state.lag.proof(of: replica, primary, at: now, since: change).map { (replica, $0) }
            }
            return (proofs, state.nodes)
        }
        return proofs.sorted { $0.1.includes > $1.1.includes }
            .compactMap { replica, proof in
                guard let client = nodes[replica]?.existing,
                    let connection = client.connections.first(where: { $0.standsSince == proof.connection })
                else { return nil }
                return ReplicaCandidate(client: client, connection: connection, proof: proof)
            }
    }

    // MARK: Asking

    func fire(at now: MonotonicInstant) -> MonotonicInstant {
        let (view, map, isStopped) = state.withLock { ($0.view, $0.map, $0.isStopped) }
        guard !isStopped, let view else { return .distantFuture }
        for primary in view.nodes where map.replicas[primary.endpoint] != nil {
            // Where nothing is read, nothing is read from replicas.
            guard let client = primary.existing, client.hasBegun else { continue }
            ask(primary.endpoint, client)
        }
        return now.advanced(by: interval)
    }

    /// Asks a primary, and then its replicas, which are to have what it has said.
    private func ask(_ primary: RedisEndpoint, _ client: RedisClient) {
        let answers = PrimaryAnswers()
        let askedAt = MonotonicInstant.now
        // Over one connection, so that the answers come in the order of the questions.
        let connection = client.connections.firstUsable
        // One that has lost the others does not know what is acknowledged elsewhere.
        post(client, on: connection, "CLUSTER", "INFO") { outcome in
            answers.heard(isWhole: ClusterInformation(outcome)?.isWhole ?? false)
        }
        post(client, on: connection, "INFO", "replication") { [weak self] outcome in
            answers.heard(account: (try? outcome.get()).flatMap { ReplicationAccount($0) })
            guard let self else { return }
            let account = answers.account
            let replicas = state.withLock { state in
                state.lag.told(byPrimary: primary, account, askedAt: askedAt)
                return state.isStopped ? [] : (state.map.replicas[primary] ?? []).compactMap { state.nodes[$0] }
            }
            for replica in replicas { ask(replica, of: primary) }
        }
    }

    private func ask(_ replica: ClusterNode, of primary: RedisEndpoint) {
        guard let client = try? replica.client(), client.begin() else { return }
        let connection = client.connections.firstUsable
        let before = connection.standsSince
        post(client, on: connection, "INFO", "replication") { [weak self] outcome in
            let account = (try? outcome.get()).flatMap { ReplicationAccount($0) }
            let isSame = before != nil && connection.standsSince == before
            self?.state
                .withLock {
                    $0.lag.told(byReplica: replica.endpoint, of: primary, account, over: isSame ? before : nil)
                }
        }
    }

    private func post(
        _ client: RedisClient,
        on connection: Connection,
        _ command: StaticString,
        _ argument: StaticString,
        _ completion: @escaping @Sendable (Result<RESPValue, RedisError>) -> Void
    ) {
        let deadline = MonotonicInstant.now.advanced(by: callTimeout)
        client.post(
            deadline: deadline,
            on: connection,
            expecting: [.bytes, .large],
            completion: completion
        ) { writer in
            writer.begin(2)
            writer.argument(command)
            writer.argument(argument)
        }
    }
}

/// What a primary has said of itself: counts when it is part of a working cluster.
private final class PrimaryAnswers: Sendable {
    private let answers = Locked<(isWhole: Bool, account: ReplicationAccount?)>((false, nil))

    var account: ReplicationAccount? { answers.withLock { $0.isWhole ? $0.account : nil } }

    func heard(isWhole: Bool) { answers.withLock { $0.isWhole = isWhole } }

    func heard(account: ReplicationAccount?) { answers.withLock { $0.account = account } }
}
