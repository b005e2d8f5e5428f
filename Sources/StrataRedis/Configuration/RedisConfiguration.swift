/// How a ``RedisClient`` reaches its server and what a call may cost.
///
/// | setting | default | why |
/// |---|---|---|
/// | connections | 1 | pipelining fills one connection; a second one splits the batches |
/// | connectTimeout | 500 ms | a cache has to lose faster than its source answers |
/// | commandTimeout | 1 s | a bound for a call that states none of its own |
/// | redisBudget | 500 ms | bridges a fork of the server or a lost packet, and leaves a caller with a second half of it |
/// | inFlightLimit | 8192 | replies owed per connection, then calls fail at once |
/// | queuedBytesLimit | 16 MiB | bytes not yet sent per connection, then calls fail at once |
/// | healthWindow | 2 s | no call was answered in time for so long with replies owed: the connection is dead |
/// | keepalive | 15 s | an idle connection is pinged, and dropped when that goes unanswered |
/// | reconnect | 50 ms … 5 s | full jitter, doubling from the first to the second |
/// | invalidationLimit | 10 000 | failed invalidations kept until Redis is back, some 500 bytes each |
/// | breaker | see ``BreakerOptions`` | an outage costs its first calls, then nothing |
/// | linkPingInterval, linkPingTimeout | 1 s each | memory is trusted for at most 2 × the first + the second |
public struct RedisConfiguration: Sendable {
    /// Where the server listens.
    public var endpoint: RedisEndpoint
    /// How the servers belong together; a single one by default.
    public var topology = RedisTopology.single
    /// Other addresses at which a cluster can be found, beside ``endpoint``.
    public var furtherEndpoints: [RedisEndpoint] = []
    /// Whether this is for one node of a cluster.
    var isNode = false
    /// The ACL user; `nil` means the server's default user.
    public var username: String?
    /// The password; `nil` means that none is sent.
    public var password: Secret?
    /// The database that is selected; 0 by default.
    public var database = 0
    /// What the connections call themselves in `CLIENT LIST`; without spaces or control characters.
    public var clientName: String? = "strata"
    /// What this process calls itself in leases, so that others can tell whom they wait for; host and process by default.
    public var instanceName = InstanceName.current
    /// How many connections calls are spread over.
    public var connections = 1
    /// How long resolving, connecting and the handshake may take together.
    public var connectTimeout: Duration = .milliseconds(500)
    /// How long a call may take that states no deadline of its own.
    public var commandTimeout: Duration = .seconds(1)
    /// How long a single call of a cache may wait for Redis in all its steps together.
    ///
    /// Each step's command may take what is left of it, and ``commandTimeout`` at most. Neither the source's time counts nor
    /// the wait for another instance's fetch. Commands that are sent to the client directly have no budget.
    public var redisBudget: Duration = .milliseconds(500)
    /// When caches stop asking a server that fails, and try again.
    public var breaker = BreakerOptions()
    /// How many invalidations that have failed are kept, to be repeated when Redis is back.
    ///
    /// Beyond that the ones that expire first are given up, and counted.
    public var invalidationLimit = 10_000
    /// Most replies owed at once, for each connection.
    public var inFlightLimit = 8192
    /// Most bytes waiting to be sent, for each connection.
    ///
    /// A single command may be larger if nothing else waits.
    public var queuedBytesLimit = 16 << 20
    /// With replies owed and no call answered in time for this long, a connection counts as dead.
    ///
    /// A large reply that keeps coming, 16 KiB in this time, is a sign of life.
    public var healthWindow: Duration = .seconds(2)
    /// After this long without traffic a connection is pinged.
    public var keepalive: Duration = .seconds(15)
    /// Bounds of the delay before connecting again.
    public var reconnectDelay: ClosedRange<Duration> = .milliseconds(50) ... .seconds(5)
    /// How often the invalidation link is pinged.
    public var linkPingInterval: Duration = .seconds(1)
    /// How long the invalidation link may take to answer a ping until it counts as lost.
    public var linkPingTimeout: Duration = .seconds(1)
    /// What a reply may cost.
    public var replyLimits = ReplyLimits()

    /// A configuration for a server, everything else at its default.
    public init(endpoint: RedisEndpoint) {
        self.endpoint = endpoint
    }

    /// A configuration from a URL: `redis://[[user]:password@]host[:port][/database]`, `unix://[[user]:password@]/path[?db=n]`,
    /// `redis-cluster://[[user]:password@]host[:port][,host[:port]…]`, which is `redis://…?topology=cluster`.
    ///
    /// - Parameter url: The URL; its password is kept as a ``Secret``, and neither it nor the user name is part of any error.
    /// - Throws: ``RedisError/Code/invalidConfiguration`` when the URL is malformed, without quoting it.
    public init(url: String) throws {
        let url = try RedisURL(url)
        endpoint = url.endpoint
        username = url.username
        password = url.password
        database = url.database
        topology = url.topology
        furtherEndpoints = url.furtherEndpoints
    }

    func validate() throws {
        func require(_ condition: Bool, _ message: String) throws {
            guard condition else { throw RedisError(code: .invalidConfiguration, message: message) }
        }
        try require((1...64).contains(connections), "connections is not within 1 to 64")
        try require(connectTimeout > .zero && commandTimeout > .zero, "a timeout is not above zero")
        try require(redisBudget > .zero, "redisBudget is not above zero")
        try require(invalidationLimit > 0, "invalidationLimit is not above zero")
        try require(breaker.window > .zero && breaker.slowAfter > .zero, "a time of the breaker is not above zero")
        try require(breaker.pause.lowerBound > .zero, "the breaker's pause does not begin above zero")
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
        try require(username == nil || password != nil, "there is a user name, but no password")
        if let clientName {
            let printable = clientName.utf8.allSatisfy { (0x21...0x7e).contains($0) }
            try require(printable && !clientName.isEmpty, "clientName holds a space or a control character")
        }
        try validateTopology()
        for endpoint in seeds { try endpoint.validate(require) }
    }
}

extension RedisEndpoint {
    fileprivate func validate(_ require: (Bool, String) throws -> Void) throws {
        switch address {
        case .unix(let path):
            try require(!path.isEmpty, "the path of the Unix socket is empty")
            try require(path.utf8.count < SocketAddress.longestPath, "the path of the Unix socket is too long")
            try require(!path.utf8.contains(0), "the path of the Unix socket holds a NUL")
        case .tcp(let host, let port):
            try require((1...255).contains(host.utf8.count), "the host is empty or too long")
            try require(!host.utf8.contains(0), "the host holds a NUL")
            try require(port > 0, "the port is zero")
        }
    }
}

extension RedisConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The server and the database, safe to log: neither user name nor password.
    public var description: String {
        topology == .single
            ? "Redis at \(endpoint), database \(database)"
            : "Redis \(topology.rawValue) at \(seeds.map(\.description).joined(separator: ", "))"
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// A mirror without user name and password.
    public var customMirror: Mirror {
        Mirror(self, children: ["endpoint": endpoint, "database": database, "connections": connections])
    }
}
