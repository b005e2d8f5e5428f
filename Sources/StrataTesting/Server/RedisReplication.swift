/// A primary with replicas, watched by Sentinels, all private to this process.
///
/// ```swift
/// let replication = try await RedisReplication.start()
/// try await replication.primary.kill()
/// let promoted = try await replication.waitForFailover(from: replication.primary)
/// try await replication.stop()
/// ```
public final class RedisReplication: Sendable {
    /// How a replicated set of servers is started.
    public struct Configuration: Sendable {
        /// How many replicas; 1 by default.
        public var replicas = 1
        /// How many Sentinels; 3 by default.
        ///
        /// A majority of them has to agree on a failover.
        public var sentinels = 3
        /// The name under which the Sentinels know the set.
        public var name = "strata"
        /// How long a server must be silent until a Sentinel considers it down; 500 ms by default.
        public var downAfter: Duration = .milliseconds(500)
        /// How long until a failed failover is tried again; 5 s by default.
        public var failoverTimeout: Duration = .seconds(5)
        /// The password of the Sentinels themselves; `nil`, the default, for none.
        public var sentinelPassword: String?
        /// Whether the Sentinels name servers by host names, `localhost`, and not by addresses.
        ///
        /// Off by default, as it is for Sentinels.
        public var usesHostNames = false
        /// How the primary and the replicas are started.
        ///
        /// A port in it is ignored, and so is a user name: the replicas and Sentinels know only a password. With TLS
        /// the Sentinels use it too, and all of them among themselves.
        public var server = RedisServer.Configuration()
        /// How long it may take until everything is connected; 20 s by default.
        package var deadline: Duration = .seconds(20)

        /// Creates the default configuration.
        public init() {}
    }

    /// The name under which the Sentinels know the set.
    public let name: String
    /// The server that was the primary at the start.
    public let primary: RedisServer
    /// The servers that were replicas at the start.
    public let replicas: [RedisServer]
    /// The Sentinels.
    public let sentinels: [RedisServer]

    /// The primary and the replicas.
    public var servers: [RedisServer] { [primary] + replicas }

    /// A URL by which a client finds the primary, without a password:
    /// `redis-sentinel://127.0.0.1:26379,…/?master=strata`.
    ///
    /// With TLS it is `rediss-sentinel://`, and the client needs the authority.
    public var url: String {
        let places = sentinels.compactMap(\.replicationPort).map { "127.0.0.1:\($0)" }
        let scheme = primary.tlsPort == nil ? "redis-sentinel" : "rediss-sentinel"
        return "\(scheme)://\(places.joined(separator: ","))/?master=\(name)"
    }

    private init(name: String, primary: RedisServer, replicas: [RedisServer], sentinels: [RedisServer]) {
        self.name = name
        self.primary = primary
        self.replicas = replicas
        self.sentinels = sentinels
    }

    /// Starts the servers and waits until the replicas are in step and the Sentinels know them and each other.
    ///
    /// - Parameter configuration: What to start.
    /// - Returns: The running set.
    /// - Throws: ``HarnessError`` as ``RedisServer/start(_:)``, or when the deadline passes. `CancellationError` when
    ///   the task is cancelled. It leaves nothing behind then.
    public static func start(_ configuration: Configuration = Configuration()) async throws -> RedisReplication {
        try await BlockingThread.run { try launch(configuration, $0) }
    }

    /// The server that the Sentinels now name as the primary.
    ///
    /// - Returns: One of ``servers``.
    /// - Throws: ``HarnessError`` when no Sentinel answers.
    public func currentPrimary() async throws -> RedisServer {
        try await BlockingThread.run { [self] _ in
            for sentinel in sentinels where sentinel.isRunning {
                // One that is paused must not use up the time of the others.
                if let server = namedPrimary(by: sentinel, until: .now + .seconds(2)) ?? nil { return server }
            }
            throw HarnessError(.notRunning, "no Sentinel names a primary")
        }
    }

    /// Waits until another server is the primary, all Sentinels that answer say so, and it says so itself.
    ///
    /// - Parameters:
    ///   - old: The server that was the primary.
    ///   - limit: How long to wait; 20 s by default.
    /// - Returns: The new primary.
    /// - Throws: ``HarnessError`` when the time is over. `CancellationError` when the task is cancelled.
    public func waitForFailover(from old: RedisServer, within limit: Duration = .seconds(20)) async throws
        -> RedisServer
    {
        try await BlockingThread.run { [self] cancellation in
            let deadline = ContinuousClock.now + limit
            return try BlockingThread.poll(for: "a failover", until: deadline, every: .milliseconds(20), cancellation) {
                let named = sentinels.filter(\.isRunning)
                    .compactMap { namedPrimary(by: $0, until: min(deadline, .now + .seconds(2))) }
                guard let first = named.first, let candidate = first, candidate !== old,
                    named.allSatisfy({ $0 === candidate }),
                    let role = try? candidate.ask("ROLE", until: deadline).elements?.first?.text, role == "master"
                else { return nil }
                return candidate
            }
        }
    }

    /// Ends all servers and removes their folders.
    ///
    /// May be called again.
    ///
    /// - Throws: ``HarnessError`` when a folder cannot be removed.
    public func stop() async throws {
        try await RedisServer.stopAll(sentinels + replicas + [primary])
    }

    private static func launch(
        _ configuration: Configuration,
        _ cancellation: BlockingThread.Cancellation
    ) throws -> RedisReplication {
        let deadline = ContinuousClock.now + configuration.deadline
        let primary = RedisServer(try .launch(serverConfiguration(configuration, replicaOf: nil), cancellation))
        let replicas = try (0..<configuration.replicas)
            .map { _ in
                RedisServer(try .launch(serverConfiguration(configuration, replicaOf: primary), cancellation))
            }
        let sentinels = try (0..<configuration.sentinels)
            .map { _ in
                RedisServer(try .launch(sentinelConfiguration(configuration, watching: primary), cancellation))
            }
        let set = RedisReplication(
            name: configuration.name,
            primary: primary,
            replicas: replicas,
            sentinels: sentinels
        )
        _ = try BlockingThread.poll(for: "the replicas", until: deadline, every: .milliseconds(5), cancellation) {
            try replicas.allSatisfy {
                try $0.information("replication", until: deadline)["master_link_status"] == "up"
            } ? true : nil
        }
        for sentinel in sentinels {
            // Sentinels greet each other every 2 s and look for replicas every 10 s. Since version 7.0 this can be
            // changed; older servers refuse, and take their time. The ping period stays: a replica whose INFO is older
            // than five of them is not promoted, and during a failover INFO comes once a second.
            _ = try? sentinel.ask("SENTINEL", "DEBUG", "INFO-PERIOD", "200", "PUBLISH-PERIOD", "100", until: deadline)
        }
        _ = try BlockingThread.poll(for: "the Sentinels", until: deadline, every: .milliseconds(10), cancellation) {
            try sentinels.allSatisfy { try set.isInformed($0, until: deadline) } ? true : nil
        }
        // A Sentinel makes a replica again what was promoted while the primary is well, if it has not heard of a
        // failover for four such periods; the one that leads it hears of the promotion after a second.
        for sentinel in sentinels {
            _ = try? sentinel.ask("SENTINEL", "DEBUG", "PUBLISH-PERIOD", "500", until: deadline)
        }
        return set
    }

    private static func serverConfiguration(
        _ configuration: Configuration,
        replicaOf primary: RedisServer?
    ) -> RedisServer.Configuration {
        var server = configuration.server
        server.port = nil
        server.listensOnTCP = true
        server.credentials?.username = nil
        // The default delay of 5 s gathers replicas for one transfer; here it would only be waited for.
        server.directives.insert("repl-diskless-sync-delay 0", at: 0)
        server.directives.insert("repl-ping-replica-period 1", at: 0)
        if let password = server.credentials?.password {
            server.directives.append(.init("masterauth", password))
        }
        let host = host(configuration)
        if let port = primary?.replicationPort {
            server.directives.append(.init("replicaof", host, String(port)))
        }
        if server.tls != nil { server.directives.append("tls-replication yes") }
        if configuration.usesHostNames { server.directives.append(.init("replica-announce-ip", host)) }
        return server
    }

    private static func host(_ configuration: Configuration) -> String {
        configuration.usesHostNames ? "localhost" : "127.0.0.1"
    }

    private static func sentinelConfiguration(
        _ configuration: Configuration,
        watching primary: RedisServer
    ) -> RedisServer.Configuration {
        let name = configuration.name
        let quorum = configuration.sentinels / 2 + 1
        var sentinel = RedisServer.Configuration()
        sentinel.executable = configuration.server.executable
        sentinel.environment = configuration.server.environment
        sentinel.role = .sentinel
        sentinel.tls = configuration.server.tls
        if sentinel.tls != nil { sentinel.directives.append("tls-replication yes") }
        if configuration.usesHostNames {
            sentinel.directives += ["sentinel resolve-hostnames yes", "sentinel announce-hostnames yes"]
        }
        sentinel.directives += [
            .init(
                "sentinel",
                "monitor",
                name,
                host(configuration),
                String(primary.replicationPort ?? 0),
                String(quorum)
            ),
            .init("sentinel", "down-after-milliseconds", name, milliseconds(configuration.downAfter)),
            .init("sentinel", "failover-timeout", name, milliseconds(configuration.failoverTimeout)),
        ]
        if let password = configuration.server.credentials?.password {
            sentinel.directives.append(.init("sentinel", "auth-pass", name, password))
        }
        if let password = configuration.sentinelPassword {
            sentinel.credentials = .init(password: password)
            sentinel.directives.append(.init("sentinel", "sentinel-pass", password))
        }
        return sentinel
    }

    private static func milliseconds(_ duration: Duration) -> String {
        String(max(1, Int(duration / .milliseconds(1))))
    }

    private func isInformed(_ sentinel: RedisServer, until deadline: ContinuousClock.Instant) throws -> Bool {
        let fields = try sentinel.ask("SENTINEL", "MASTER", name, until: deadline).fields
        return fields["num-slaves"]?.integer == Int64(replicas.count)
            && fields["num-other-sentinels"]?.integer == Int64(sentinels.count - 1)
            && fields["flags"]?.text == "master"
    }

    /// Whom a Sentinel names, the inner `nil` for none of these servers; the outer one when it does not answer.
    private func namedPrimary(by sentinel: RedisServer, until deadline: ContinuousClock.Instant) -> RedisServer?? {
        guard let reply = try? sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name, until: deadline) else {
            return nil
        }
        let port = reply.elements?.last?.integer
        return .some(servers.first { $0.replicationPort.map(Int64.init) == port })
    }
}

extension RedisServer {
    /// Where the others of its set connect: by TLS, if it speaks that.
    var replicationPort: UInt16? { tlsPort ?? port }
}
