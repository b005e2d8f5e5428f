internal import Strata

/// The permissions that a user of Redis needs for a purpose, and no others.
///
/// The documentation quotes this list, `stratactl acl` prints it, and the tests run under it.
///
/// ```swift
/// let rules = AccessRules(for: [.cache], keyspaces: ["products"])
/// print("ACL SETUSER shop on >PASSWORD \(rules)")
/// ```
public struct AccessRules: Sendable, Hashable, CustomStringConvertible {
    /// The purpose of a user.
    public enum Purpose: String, Sendable, Hashable, CaseIterable {
        /// What a service does: read, write, remove, fetch under leases, invalidate, clear, hear of changes.
        case cache
        /// As ``cache``, and ``RedisLevel/sweep(rate:progress:)``.
        case sweep
        /// As ``cache``, and reading from replicas: for a ``RedisConfiguration/replicaLagLimit``.
        case replicas
        /// What the command line needs to show what is in Redis.
        case look
        /// As ``look``, and asking the instances of a fleet and hearing of changes; see ``FleetMember``.
        case inspect
        /// As ``look``, and removing.
        case remove
    }

    /// The commands, as ACL rules name them: `get`, `client|id`.
    public let commands: [String]
    /// Patterns of the keys.
    public let keys: [String]
    /// Patterns of the channels.
    public let channels: [String]
    /// What stands before the pattern of a key.
    let keyRule: String

    /// What a client of a cluster sends beside that, to find the nodes and to follow slots that move.
    ///
    /// SLOTS is asked for before Redis 7, and where SHARDS leaves out those of a dead primary's shard
    /// (redis/redis#13414).
    private static func commands(for topology: RedisTopology) -> [String] {
        topology == .cluster ? ["cluster|info", "cluster|shards", "cluster|slots", "asking"] : []
    }

    /// The rules for some keyspaces.
    ///
    /// - Parameters:
    ///   - purposes: What the user is for.
    ///   - keyspaces: The keyspaces. Each version of a keyspace is a keyspace of its own.
    ///   - database: The database; any but the first takes SELECT.
    ///   - serverVersion: The major version of the oldest server that has to know the rules. From 7 on, a purpose that
    ///     only looks gets the right to read keys and no more.
    ///   - topology: What the servers are: a cluster needs more commands, and has a channel for each part of a
    ///     keyspace.
    public init(
        for purposes: Set<Purpose>,
        keyspaces: [Keyspace],
        database: Int = 0,
        serverVersion: Int = 6,
        topology: RedisTopology = .single
    ) {
        let bases = keyspaces.map { Self.pattern(of: Array($0.values.dropLast(2))) }
        self.init(
            for: purposes,
            database: database,
            serverVersion: serverVersion,
            topology: topology,
            keys: bases.map { $0 + "*" },
            channels: bases.flatMap { topology == .cluster ? [$0 + "ev", $0 + "ev:*"] : [$0 + "ev"] }
        )
    }

    /// The rules for all keyspaces under a prefix, also those of versions to come.
    ///
    /// - Parameters:
    ///   - purposes: What the user is for.
    ///   - prefix: The prefix.
    ///   - database: The database; any but the first takes SELECT.
    ///   - serverVersion: The major version of the oldest server that has to know the rules. From 7 on, a purpose that
    ///     only looks gets the right to read keys and no more.
    ///   - topology: What the servers are: a cluster needs more commands.
    public init(
        for purposes: Set<Purpose>,
        prefix: String = "strata",
        database: Int = 0,
        serverVersion: Int = 6,
        topology: RedisTopology = .single
    ) {
        let base = Self.pattern(of: Keyspace.component(prefix) + [UInt8(ascii: ":")])
        self.init(
            for: purposes,
            database: database,
            serverVersion: serverVersion,
            topology: topology,
            keys: [base + "*"],
            channels: [base + "*"]
        )
    }

    private init(
        for purposes: Set<Purpose>,
        database: Int,
        serverVersion: Int,
        topology: RedisTopology,
        keys: [String],
        channels: [String]
    ) {
        var commands = ["ping", "client|setname"]
        if database != 0 { commands.append("select") }
        commands += Self.commands(for: topology)
        for purpose in Purpose.allCases where purposes.contains(purpose) { commands += Self.commands(for: purpose) }
        var seen: Set<String> = []
        self.commands = commands.filter { seen.insert($0).inserted }
        self.keys = keys
        keyRule = serverVersion >= 7 && purposes.isSubset(of: [.look, .inspect]) ? "%R~" : "~"
        // A user who only looks publishes nothing, and one who removes need not listen.
        if purposes.isDisjoint(with: [.cache, .sweep, .replicas, .inspect]) {
            self.channels = purposes.contains(.remove) ? channels : []
        } else {
            self.channels = channels + [String(decoding: LinkMachine.invalidationChannel, as: UTF8.self)]
        }
    }

    private static let change = [
        "eval", "evalsha", "time", "publish", "del", "unlink", "pttl", "pexpire", "hmget", "hset", "hdel", "hlen",
        "hscan",
    ]

    private static func commands(for purpose: Purpose) -> [String] {
        switch purpose {
        case .cache:
            [
                "client|id", "client|tracking", "subscribe", "get", "mget", "getrange", "strlen", "set", "setrange",
                "exists",
            ]
                + change
        case .sweep: commands(for: .cache) + ["scan", "dbsize", "hget"]
        case .replicas: commands(for: .cache) + ["readonly", "info"]
        case .look:
            [
                "info", "scan", "dbsize", "type", "get", "getrange", "strlen", "exists", "pttl", "time", "hmget",
                "hlen",
                "hscan", "memory|usage",
            ]
        case .inspect: commands(for: .look) + ["client|id", "client|tracking", "subscribe", "publish"]
        case .remove: commands(for: .look) + change + ["hget"]
        }
    }

    /// A glob that matches names with this beginning.
    ///
    /// ACL rules hold no spaces; where a name has one, any byte may stand.
    private static func pattern(of bytes: [UInt8]) -> String {
        var pattern: [UInt8] = []
        for byte in bytes {
            if byte == UInt8(ascii: " ") {
                pattern.append(UInt8(ascii: "?"))
                continue
            }
            if "*?[]\\".utf8.contains(byte) { pattern.append(UInt8(ascii: "\\")) }
            pattern.append(byte)
        }
        return String(decoding: pattern, as: UTF8.self)
    }

    /// The rules as ACL SETUSER takes them, one each; the first ones revoke all other permissions.
    public var rules: [String] {
        ["resetkeys", "resetchannels", "-@all"] + keys.map { keyRule + $0 } + channels.map { "&" + $0 }
            + commands.map { "+" + $0 }
    }

    /// The rules in one line.
    public var description: String { rules.joined(separator: " ") }
}
