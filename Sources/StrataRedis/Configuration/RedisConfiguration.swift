internal import Strata

/// How a ``RedisClient`` reaches its server and what a call may cost.
///
/// | setting | default | why |
/// |---|---|---|
/// | connections | 1 | pipelining fills one connection; a second one splits the batches |
/// | credentials | none | a source of user and password that may change: see ``CredentialSource`` |
/// | tls | none; `rediss://` sets it | see ``TLSOptions`` |
/// | connectTimeout | 500 ms | a cache has to lose faster than its source answers |
/// | commandTimeout | 1 s | a bound for a call that states none of its own |
/// | redisBudget | 500 ms | bridges a fork of the server or a lost packet, and leaves a caller half of a second |
/// | inFlightLimit | 8192 | replies owed per connection, then calls fail at once |
/// | queuedBytesLimit | 16 MiB | bytes not yet sent per connection, then calls fail at once |
/// | healthWindow | 2 s | no call was answered in time for so long with replies owed: the connection is dead |
/// | keepalive | 15 s | an idle connection is pinged, and dropped when that goes unanswered |
/// | reconnect | 50 ms … 5 s | full jitter, doubling from the first to the second |
/// | invalidationLimit | 10 000 | failed invalidations kept until Redis is back, some 500 bytes each |
/// | breaker | see ``BreakerOptions`` | an outage costs its first calls, then nothing |
/// | tracking | broadcast | of which changes the server tells; see ``TrackingMode`` |
/// | linkPingInterval, linkPingTimeout | 1 s each | memory is trusted for at most 2 × the first + the second |
/// | replicaLagLimit | none | reading from replicas is a decision: they may lack what was acknowledged |
public struct RedisConfiguration: Sendable {
    /// Where the server listens; with ``RedisTopology/sentinel`` the first of the Sentinels, used for nothing else.
    public var endpoint: RedisEndpoint
    /// What stands behind the address; one server by default.
    public var topology = RedisTopology.single
    /// The Sentinels that are asked for the primary, with ``RedisTopology/sentinel`` and ``RedisTopology/auto``.
    public var sentinels: SentinelOptions?
    /// Other nodes of a cluster, beside ``endpoint``; with ``RedisTopology/cluster`` only.
    public var furtherEndpoints: [RedisEndpoint] = []
    /// Whether this is for one node of a cluster.
    var isNode = false
    /// Whether the node is read as a replica.
    var isReplica = false
    /// Looks names up in place of the system, for tests; called on a thread of its own, and may block.
    var lookUp: (@Sendable (_ host: String, _ port: UInt16) -> Result<[SocketAddress], RedisError>)?
    /// What other nodes of the same client were warned of.
    var warnings: SharedWarnings?
    /// What calls of caches may cost now; the nodes of one client share it, and another client has its own.
    var terms: Adjustable<CallTerms>?
    /// The ACL user; `nil` means the server's default user.
    public var username: String?
    /// The password; `nil` means that none is sent.
    public var password: Secret?
    /// Where user and password come from when they may change; in place of ``username`` and ``password``.
    public var credentials: CredentialSource?
    /// How connections are encrypted; `nil`, the default, means that they are not.
    public var tls: TLSOptions?
    /// The database that is selected; 0 by default.
    public var database = 0
    /// What the connections call themselves in `CLIENT LIST`, before ``instanceName``: `strata@web-2/811`.
    ///
    /// Without spaces or control characters. With `nil` the connections have no name.
    public var clientName: String? = "strata"
    /// The name of this process in leases and in the names of its connections, so that others can tell which instance
    /// they wait for; host and process by default.
    public var instanceName = InstanceName.current
    /// The number of connections that calls are spread over.
    public var connections = 1
    /// How long resolving, connecting and the handshake may take together.
    public var connectTimeout: Duration = .milliseconds(500)
    /// How long a call may take that states no deadline of its own.
    public var commandTimeout: Duration = .seconds(1)
    /// How long a single call of a cache may wait for Redis in all its steps together.
    ///
    /// Each step's command may take the rest of it, and ``commandTimeout`` at most. The time of the source and the wait
    /// for another instance's fetch do not count. Commands that are sent to the client directly have no budget.
    public var redisBudget: Duration = .milliseconds(500)
    /// When caches stop asking a server that fails, and try again.
    public var breaker = BreakerOptions()
    /// How many failed invalidations are kept, to be repeated when Redis is back.
    ///
    /// Beyond that, those that expire first are given up, and counted.
    public var invalidationLimit = 10_000
    /// Most replies owed at once, for each connection.
    public var inFlightLimit = 8192
    /// Most bytes waiting to be sent, for each connection.
    ///
    /// A single command may be larger if nothing else waits.
    public var queuedBytesLimit = 16 << 20
    /// With replies owed and no call answered in time for this long, a connection counts as dead.
    ///
    /// A large reply that keeps arriving, at 16 KiB in this time, counts as a sign of life, and so does a large value
    /// that is still being sent.
    public var healthWindow: Duration = .seconds(2)
    /// After this long without traffic a connection is pinged.
    public var keepalive: Duration = .seconds(15)
    /// Bounds of the delay before connecting again.
    public var reconnectDelay: ClosedRange<Duration> = .milliseconds(50) ... .seconds(5)
    /// Which changes the server tells this instance.
    public var tracking = TrackingMode.broadcast
    /// How often the invalidation link is pinged.
    public var linkPingInterval: Duration = .seconds(1)
    /// How long the invalidation link may take to answer a ping until it counts as lost.
    public var linkPingTimeout: Duration = .seconds(1)
    /// How much older a value from a replica may be than what its primary has acknowledged; with `nil`, the default, no
    /// replica is read.
    ///
    /// For a cluster only. While the primary of a key does not answer, caches read the key from a replica that is known
    /// to have every change that is older than this. A value that was removed since then may come back in such a read,
    /// so no level keeps it. The client keeps connections to two replicas of each primary that it uses, and asks them
    /// and the primary for their offsets: 16 times in this time, and at least once a second. The shortest limit is 100
    /// ms.
    public var replicaLagLimit: Duration?
    /// What a reply may cost.
    public var replyLimits = ReplyLimits()

    /// A configuration for a server, everything else at its default.
    public init(endpoint: RedisEndpoint) {
        self.endpoint = endpoint
    }

    /// A configuration for the primary that Sentinels name, everything else at its default.
    public init(sentinels: SentinelOptions) {
        endpoint = sentinels.endpoints.first ?? .tcp(host: "")
        topology = .sentinel
        self.sentinels = sentinels
    }

    /// A configuration from a URL: `redis://[[user]:password@]host[:port][/database]`,
    /// `unix://[[user]:password@]/path[?db=n]`,
    /// `redis-sentinel://[[user]:password@]host[:port],host[:port]…[/database]?master=name`,
    /// `redis-cluster://[[user]:password@]host[:port],host[:port]…`; with TLS `rediss://`, `rediss-sentinel://` and
    /// `rediss-cluster://`.
    ///
    /// Parameters: `topology`, one of `single`, `sentinel`, `cluster`, `auto`; `master`, the name that the Sentinels
    /// have for the primary; `sentinelUser` and `sentinelPassword`, for the Sentinels themselves; `replicaLagLimit`, in
    /// milliseconds, for a cluster (``replicaLagLimit``); `tracking`, `broadcast`, `per-key` or `automatic`
    /// (``tracking``). The schemes for TLS take ``tls`` from `ca`, `cert`, `key`, `server-name`, `tls13=true` and
    /// `dangerously-accept-any-certificate=true`; without any, the server is verified as ``TLSOptions`` says.
    ///
    /// - Parameter url: The URL; its password is kept as a ``Secret``. Errors contain neither it nor the user name.
    /// - Throws: ``RedisError/Code/invalidConfiguration`` when the URL is malformed, without quoting it.
    public init(url: String) throws {
        let url = try RedisURL(url)
        endpoint = url.endpoint
        username = url.username
        password = url.password
        database = url.database
        tls = url.tls
        topology = url.topology
        sentinels = url.sentinels
        furtherEndpoints = url.furtherEndpoints
        replicaLagLimit = url.replicaLagLimit
        tracking = url.tracking
    }

    /// What errors, log lines and labels call the server; safe to print.
    package var place: String {
        if topology == .sentinel, let sentinels { return sentinels.description }
        guard isRouted else { return endpoint.description }
        let shown = seeds.prefix(3).map(\.description).joined(separator: ",")
        return "cluster@\(shown)\(seeds.count > 3 ? ",…" : "")"
    }

    package func validate() throws {
        func require(_ condition: Bool, _ message: String) throws {
            guard condition else { throw RedisError(code: .invalidConfiguration, message: message) }
        }
        try require((1...64).contains(connections), "connections is not within 1 to 64")
        try require(connectTimeout > .zero && commandTimeout > .zero, "a timeout is not above zero")
        try Self.validate(redisBudget, breaker)
        try require(invalidationLimit > 0, "invalidationLimit is not above zero")
        try require(healthWindow > .zero && keepalive > .zero, "healthWindow or keepalive is not above zero")
        try require(linkPingInterval > .zero && linkPingTimeout > .zero, "a ping time of the link is not above zero")
        try require(reconnectDelay.lowerBound > .zero, "reconnectDelay does not begin above zero")
        try require(inFlightLimit > 0 && queuedBytesLimit > 0, "a limit is not above zero")
        let reply = replyLimits
        try require(
            min(reply.bulkLength, reply.length, reply.elements, reply.lineLength) > 0,
            "a limit of replies is not above zero"
        )
        // Nested values are freed by recursion, on whatever stack drops them.
        try require((1...128).contains(reply.depth), "the depth of replies is not within 1 to 128")
        try require(database >= 0, "database is negative")
        // Without a password nothing would be sent, and the connection be another user's.
        try require(
            credentials == nil || (username == nil && password == nil),
            "there are both credentials and a user name or password"
        )
        try require(credentials.map { $0.interval > .zero } ?? true, "the interval of credentials is not above zero")
        try require(username == nil || password != nil, "there is a user name, but no password")
        if let clientName {
            let printable = clientName.utf8.allSatisfy { (0x21...0x7e).contains($0) }
            try require(printable && !clientName.isEmpty, "clientName holds a space or a control character")
        }
        // A node's were looked at with the client's: files that cannot be used any more are no reason to have no client
        // for it.
        if !isNode { try tls?.validate(for: endpoint) }
        try validateTopology()
        try endpoint.validate()
    }

    private func validateTopology() throws {
        switch topology {
        case .single: break
        case .sentinel:
            guard let sentinels else { throw RedisURL.invalid("there is no Sentinel") }
            try sentinels.validate(needsName: true)
        case .auto: try sentinels?.validate(needsName: false)
        case .cluster: return try validateCluster()
        }
        guard replicaLagLimit == nil else {
            throw RedisURL.invalid("replicaLagLimit needs a cluster, but the topology is not cluster")
        }
        guard furtherEndpoints.isEmpty else {
            throw RedisURL.invalid("there are several endpoints, but the topology is not cluster")
        }
    }
}

extension RedisConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The server and the database, safe to log: neither user name nor password.
    public var description: String {
        isRouted
            ? "Redis cluster at \(seeds.map(\.description).joined(separator: ", "))"
            : "Redis at \(place), database \(database)"
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// A mirror without user name and password.
    public var customMirror: Mirror {
        Mirror(self, children: ["endpoint": endpoint, "database": database, "connections": connections])
    }
}
