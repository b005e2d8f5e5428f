/// A cluster of primaries, each with the same number of replicas, all private to this process.
///
/// It is put together by commands (ADDSLOTSRANGE, MEET, REPLICATE); no other program is needed.
///
/// ```swift
/// let cluster = try await RedisCluster.start()
/// let owner = try await cluster.owner(of: 42)
/// try await cluster.stop()
/// ```
public final class RedisCluster: Sendable {
    /// How a cluster is started.
    public struct Configuration: Sendable {
        /// How many primaries share the 16 384 slots; 3 by default, which is the least that can elect a replica.
        public var primaries = 3
        /// How many replicas each primary has; none by default.
        public var replicasPerPrimary = 0
        /// How long a node must be silent until the others consider it down; 1 s by default.
        public var nodeTimeout: Duration = .seconds(1)
        /// How each node is started.
        ///
        /// A port in it is ignored, and so is a user name. With TLS the nodes use it among themselves, too.
        public var server = RedisServer.Configuration()
        /// How long it may take until all nodes agree; 20 s by default.
        public var deadline: Duration = .seconds(20)

        /// Creates the default configuration.
        public init() {}
    }

    /// The number of hash slots of any cluster.
    public static let slotCount = 16_384

    /// The nodes that were primaries at the start, in the order of their slots.
    public let primaries: [RedisServer]
    /// The nodes that were replicas at the start: first those of the first primary, then those of the second, and so
    /// on.
    public let replicas: [RedisServer]

    /// All nodes.
    public var nodes: [RedisServer] { primaries + replicas }

    /// A URL by which a client finds the cluster, without a password: `redis-cluster://127.0.0.1:7001,…`.
    ///
    /// With TLS it is `rediss-cluster://`, and the client needs the authority.
    public var url: String {
        let places = primaries.compactMap(\.replicationPort).map { "127.0.0.1:\($0)" }
        let scheme = configuration.server.tls == nil ? "redis-cluster" : "rediss-cluster"
        return "\(scheme)://\(places.joined(separator: ","))"
    }

    /// How it was started.
    let configuration: Configuration

    private init(_ configuration: Configuration, primaries: [RedisServer], replicas: [RedisServer]) {
        self.configuration = configuration
        self.primaries = primaries
        self.replicas = replicas
    }

    /// Starts the nodes, joins them, and waits until each of them knows all others and the owner of every slot.
    ///
    /// - Parameter configuration: What to start.
    /// - Returns: The running cluster.
    /// - Throws: ``HarnessError`` as ``RedisServer/start(_:)``, or when the deadline passes. `CancellationError` when
    ///   the task is cancelled. It leaves nothing behind then.
    public static func start(_ configuration: Configuration = Configuration()) async throws -> RedisCluster {
        try await BlockingThread.run { try launch(configuration, $0) }
    }

    /// Ends all nodes and removes their folders.
    ///
    /// May be called again.
    ///
    /// - Throws: ``HarnessError`` when a folder cannot be removed.
    public func stop() async throws {
        try await RedisServer.stopAll(nodes)
    }

    private static func launch(
        _ configuration: Configuration,
        _ cancellation: BlockingThread.Cancellation
    ) throws -> RedisCluster {
        guard (1...1000).contains(configuration.primaries), (0...10).contains(configuration.replicasPerPrimary) else {
            throw HarnessError(.invalidConfiguration, "a cluster has 1 to 1000 primaries with 0 to 10 replicas each")
        }
        let deadline = ContinuousClock.now + configuration.deadline
        let node = nodeConfiguration(configuration)
        let replicaCount = configuration.primaries * configuration.replicasPerPrimary
        let primaries = try (0..<configuration.primaries).map { _ in RedisServer(try .launch(node, cancellation)) }
        let replicas = try (0..<replicaCount).map { _ in RedisServer(try .launch(node, cancellation)) }
        let cluster = RedisCluster(configuration, primaries: primaries, replicas: replicas)
        try cluster.join(until: deadline, cancellation)
        return cluster
    }

    static func nodeConfiguration(_ configuration: Configuration) -> RedisServer.Configuration {
        var node = configuration.server
        node.port = nil
        node.listensOnTCP = true
        node.credentials?.username = nil
        node.role = .clusterNode
        let timeout = max(1, Int(configuration.nodeTimeout / .milliseconds(1)))
        node.directives.insert("repl-diskless-sync-delay 0", at: 0)
        node.directives.insert(.init("cluster-node-timeout", String(timeout)), at: 0)
        if let password = node.credentials?.password {
            node.directives.append(.init("masterauth", password))
        }
        if node.tls != nil { node.directives += ["tls-cluster yes", "tls-replication yes"] }
        return node
    }

    private func join(until deadline: ContinuousClock.Instant, _ cancellation: BlockingThread.Cancellation) throws {
        for (index, node) in nodes.enumerated() {
            // Epochs that differ from the beginning need no settling of conflicts, which takes seconds.
            try node.ask("CLUSTER", "SET-CONFIG-EPOCH", String(index + 1), until: deadline)
            if index < primaries.count { try assignSlots(to: node, number: index, until: deadline) }
        }
        for node in nodes.dropFirst() {
            try primaries[0].ask("CLUSTER", "MEET", "127.0.0.1", String(node.replicationPort ?? 0), until: deadline)
        }
        try waitUntilAllSee(.init(members: nodes.count, replicas: 0), until: deadline, cancellation)
        for (index, replica) in replicas.enumerated() {
            let primary = primaries[index / (replicas.count / primaries.count)]
            let identity = try primary.ask("CLUSTER", "MYID", until: deadline).text
            try replica.ask("CLUSTER", "REPLICATE", identity, until: deadline)
        }
        try waitUntilAllSee(.init(members: nodes.count, replicas: replicas.count), until: deadline, cancellation)
    }

    private func assignSlots(to node: RedisServer, number: Int, until deadline: ContinuousClock.Instant) throws {
        let first = Self.slotCount * number / primaries.count
        let last = Self.slotCount * (number + 1) / primaries.count - 1
        do {
            try node.ask("CLUSTER", "ADDSLOTSRANGE", String(first), String(last), until: deadline)
        } catch let error as HarnessError where error.code == .errorReply {
            // Before 7.0 they are named one by one.
            let slots = (first...last).map { Array(String($0).utf8) }
            _ = try node.ask([Array("CLUSTER".utf8), Array("ADDSLOTS".utf8)] + slots, until: deadline)
        }
    }

    private struct View {
        var members: Int
        var replicas: Int
    }

    /// Waits until every node sees the expected members and replicas connected, and all slots served.
    private func waitUntilAllSee(
        _ view: View,
        until deadline: ContinuousClock.Instant,
        _ cancellation: BlockingThread.Cancellation
    ) throws {
        for node in nodes {
            _ = try BlockingThread.poll(
                for: "\(node.endpoint) to know the cluster",
                until: deadline,
                every: .milliseconds(10),
                cancellation
            ) {
                try Self.sees(view, node, until: deadline) ? true : nil
            }
        }
    }

    private static func sees(_ view: View, _ node: RedisServer, until deadline: ContinuousClock.Instant) throws -> Bool
    {
        // id, address, flags, primary, ping sent, pong received, epoch, link state, slots
        let members = try node.ask("CLUSTER", "NODES", until: deadline).text.split(separator: "\n")
            .map { $0.split(separator: " ") }
        guard members.count == view.members, members.allSatisfy({ $0.count > 7 && $0[7] == "connected" }),
            !members.contains(where: { $0[2].contains("handshake") || $0[2].contains("fail") }),
            members.count(where: { $0[2].contains("slave") }) == view.replicas,
            try node.ask("CLUSTER", "INFO", until: deadline).text.contains("cluster_state:ok")
        else { return false }
        let replication = try node.information("replication", until: deadline)
        return replication["role"] == "master" || replication["master_link_status"] == "up"
    }
}

extension RedisServer {
    /// Ends several servers at the same time; throws the first error after all have ended.
    static func stopAll(_ servers: [RedisServer]) async throws {
        try await withThrowingTaskGroup(of: Result<Void, any Error>.self) { group in
            for server in servers {
                group.addTask {
                    do {
                        return .success(try await server.stop())
                    } catch {
                        return .failure(error)
                    }
                }
            }
            var results: [Result<Void, any Error>] = []
            for try await result in group {
                results.append(result)
            }
            for result in results {
                try result.get()
            }
        }
    }
}
