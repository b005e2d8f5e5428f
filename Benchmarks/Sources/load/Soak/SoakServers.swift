import FleetChecker
import Foundation
import Strata
import StrataRedis
import StrataTesting

/// The Redis of a soak, whichever topology it has.
final class SoakServers: Sendable {
    private enum Backing {
        case single(RedisServer)
        case sentinel(RedisReplication)
        case cluster(SoakCluster)
    }

    struct NotWhole: Error, CustomStringConvertible {
        var description: String { "the servers have not become a whole set again" }
    }

    /// How long a set may take until it is whole again.
    static let healing: Duration = .seconds(60)
    /// For how long a primary must be silent until another takes over: longer than a busy machine lets a server wait.
    static let silence: Duration = .milliseconds(1_500)
    /// The user of the instances, and that of Sentinels.
    private static let user = (name: "soak", password: "least-rights")
    private static let watcher = (name: "watcher", password: "least-rights-too")
    /// What the documentation grants to a user of the Sentinels.
    private static let watcherRules = [
        "-@all", "+hello", "+ping", "+subscribe", "+sentinel|get-master-addr-by-name", "+sentinel|master",
        "resetchannels", "&+switch-master", "&+promoted-slave",
    ]

    private let backing: Backing
    /// The file with the authority of the servers' certificates; `nil` without TLS.
    private let authority: TestAuthority?
    /// Whether the instances have a user that may do what they need, and no more.
    let hasUser: Bool

    private init(_ backing: Backing, _ authority: TestAuthority?, hasUser: Bool) {
        self.backing = backing
        self.authority = authority
        self.hasUser = hasUser
    }

    /// Starts the servers, and stops them when the closure has ended.
    ///
    /// - Parameters:
    ///   - settings: What is started, and for which keyspaces.
    ///   - encrypted: Whether instances and servers speak TLS.
    ///   - withUser: Whether the instances have a user of their own, with the least rights.
    ///   - body: Uses them.
    /// - Returns: What `body` returns.
    /// - Throws: `HarnessError`; what `body` throws.
    static func with<Result: Sendable>(
        _ settings: SoakSettings,
        encrypted: Bool,
        withUser: Bool,
        _ body: (SoakServers) async throws -> Result
    ) async throws -> Result {
        // Without fsync what was acknowledged still survives the server's death, and the disk is left alone.
        var configuration = RedisServer.Configuration(directives: ["appendonly yes", "appendfsync no"])
        let authority = encrypted ? try await TestAuthority.make() : nil
        if let authority {
            configuration.tls = .init(try await authority.issue(), authorities: authority.certificate)
        }
        if withUser {
            let line = "user \(user.name) on >\(user.password) \(rules(settings))"
            configuration.directives.append(.init(stringLiteral: line))
        }
        switch settings.topology {
        case .single:
            return try await RedisServer.withServer(configuration) { server in
                try await body(SoakServers(.single(server), authority, hasUser: withUser))
            }
        case .sentinel:
            var replication = RedisReplication.Configuration()
            replication.server = configuration
            replication.downAfter = Self.silence
            let set = try await RedisReplication.start(replication)
            return try await ending(set.stop) {
                for sentinel in set.sentinels {
                    // What is promoted on purpose they make a replica again if they do not hear of it for four such
                    // periods, and this machine may be busy for that long. Servers before 7.0 keep their own period.
                    _ = try? await sentinel.command("SENTINEL", "DEBUG", "PUBLISH-PERIOD", "1000")
                }
                if withUser {
                    let words = ["ACL", "SETUSER", watcher.name, "on", ">\(watcher.password)"] + watcherRules
                    for sentinel in set.sentinels { try await sentinel.command(bytes: words.map { Array($0.utf8) }) }
                }
                return try await body(SoakServers(.sentinel(set), authority, hasUser: withUser))
            }
        case .cluster:
            let cluster = try await SoakCluster.start(configuration, seed: settings.seed)
            return try await ending(cluster.stop) {
                try await body(SoakServers(.cluster(cluster), authority, hasUser: withUser))
            }
        }
    }

    private static func ending<Result: Sendable>(
        _ stop: () async throws -> Void,
        _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            let result = try await body()
            try await stop()
            return result
        } catch {
            try? await stop()
            throw error
        }
    }

    /// What `stratactl acl` prints for the keyspaces of a soak.
    private static func rules(_ settings: SoakSettings) -> AccessRules {
        let tenants = SoakRoom.tenants.keys(settings).prefix(SoakRoom.tenantCount)
        let keyspaces = SoakRoom.allCases.filter { $0 != .tenants }.map { $0.keyspace(settings) }
        return AccessRules(
            for: [.cache],
            keyspaces: keyspaces + tenants.map { SoakRoom.tenants.keyspace(settings, key: $0) },
            serverVersion: 7,
            topology: settings.topology == .cluster ? .cluster : .single
        )
    }

    // MARK: Addresses

    /// Where an instance that has no proxy of its own finds the servers.
    var url: String {
        switch backing {
        case .single(let server): url(to: server.tlsEndpoint ?? server.endpoint)
        case .sentinel(let set):
            complete(
                set.url,
                hasUser ? ["sentinelUser=\(Self.watcher.name)", "sentinelPassword=\(Self.watcher.password)"] : []
            )
        case .cluster(let cluster): complete("\(authority == nil ? "redis" : "rediss")-cluster://\(cluster.places)")
        }
    }

    /// Where proxies of instances lead; `nil` if servers tell their own addresses.
    var endpoint: TestEndpoint? {
        if case .single(let server) = backing { server.tlsEndpoint ?? server.endpoint } else { nil }
    }

    /// The proxies before the nodes of a cluster.
    var nodeProxies: [FaultProxy] {
        if case .cluster(let cluster) = backing { cluster.proxies } else { [] }
    }

    /// The URL of a server, or of a proxy before it.
    func url(to endpoint: TestEndpoint) -> String {
        complete(authority == nil ? endpoint.url : endpoint.url.replacing("redis://", with: "rediss://"))
    }

    private func complete(_ url: String, _ parameters: [String] = []) -> String {
        let parameters = parameters + (authority.map { ["ca=" + $0.certificate] } ?? [])
        var url = hasUser ? url.replacing("://", with: "://\(Self.user.name):\(Self.user.password)@") : url
        for parameter in parameters { url += (url.contains("?") ? "&" : "?") + parameter }
        return url
    }

    // MARK: Who serves

    /// The server that takes writes, of a shard.
    func primary(of shard: Int = 0) async throws -> RedisServer {
        switch backing {
        case .single(let server): server
        case .sentinel(let set): try await set.currentPrimary()
        case .cluster(let cluster): try await cluster.primary(of: shard)
        }
    }

    /// All servers that keep data.
    var all: [RedisServer] {
        switch backing {
        case .single(let server): [server]
        case .sentinel(let set): set.servers
        case .cluster(let cluster): cluster.nodes
        }
    }

    /// Whether all who tell clients of primaries know by now that a server is one.
    func isKnown(_ server: RedisServer, as shard: Int) async -> Bool {
        switch backing {
        case .single: return true
        case .sentinel(let set):
            for sentinel in set.sentinels {
                let reply = try? await sentinel.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", set.name)
                guard let port = reply?.elements?.last?.integer else { return false }
                if port != (server.tlsPort ?? server.port).map(Int64.init) { return false }
            }
            return true
        case .cluster(let cluster): return await cluster.isKnown(server, as: shard)
        }
    }

    /// The keys whose changes a primary takes; `nil` for all.
    func keys(of server: RedisServer, _ settings: SoakSettings) async throws -> Set<Int>? {
        guard case .cluster(let cluster) = backing else { return nil }
        return SoakSlots.keys(SoakRoom.totalKeys(settings), of: try await cluster.slots(of: server))
    }

    /// Runs a command whose second word is a key, at the server that has it.
    @discardableResult
    func command(_ words: String...) async throws -> RawReply {
        try await command(bytes: words.map { Array($0.utf8) })
    }

    /// Runs a command whose second word is a key, at the server that has it.
    @discardableResult
    func command(bytes words: [[UInt8]]) async throws -> RawReply {
        guard case .cluster(let cluster) = backing else { return try await primary().command(bytes: words) }
        let slot = SoakSlots.slot(ofName: String(decoding: words[1], as: UTF8.self))
        var attempts = 0
        while true {
            do {
                return try await cluster.owner(of: slot).command(bytes: words)
            } catch let error as HarnessError where error.code == .errorReply && attempts < 20 {
                // It has moved, or is on its way.
                guard ["MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN"].contains(where: error.message.contains) else {
                    throw error
                }
                attempts += 1
                try await Task.rest(for: .milliseconds(50))
            }
        }
    }

    // MARK: Faults

    /// Whether a failover on purpose loses nothing: the primary of a cluster waits for its successor.
    var isAgreed: Bool { if case .cluster = backing { true } else { false } }

    /// Has a replica promoted; whether that has happened.
    func failOver(_ shard: Int) async throws -> Bool {
        switch backing {
        case .single: return false
        case .sentinel(let set):
            let old = try await set.currentPrimary()
            _ = try? await set.sentinels.first?.command("SENTINEL", "FAILOVER", set.name)
            return (try? await set.waitForFailover(from: old, within: .seconds(5))) != nil
        case .cluster(let cluster): return try await cluster.failOver(shard)
        }
    }

    /// Waits until another server is the primary of a shard.
    func waitForSuccessor(of old: RedisServer, _ shard: Int) async throws {
        let end = ContinuousClock.now + Self.healing
        while .now < end {
            if let now = try? await primary(of: shard), now !== old { return }
            try await Task.rest(for: .milliseconds(50))
        }
        throw NotWhole()
    }

    /// Moves some slots from one on; how many have moved.
    func move(_ number: Int, from slot: Int, to shard: Int) async throws -> Int {
        guard case .cluster(let cluster) = backing else { return 0 }
        return try await cluster.move(number, from: slot, to: shard)
    }

    /// Returns when each primary stands and is named by all, with its replicas in step.
    func heal() async throws {
        switch backing {
        case .single: return
        case .cluster(let cluster): try await cluster.heal()
        case .sentinel(let set):
            let end = ContinuousClock.now + Self.healing
            while .now < end {
                if try await isWhole(set) { return }
                try await Task.rest(for: .milliseconds(50))
            }
            throw NotWhole()
        }
    }

    /// What the servers say of themselves, for whoever wants to know why they are not whole.
    func account() async -> String {
        var lines: [String] = []
        let words = settingsOfAccount
        for server in all {
            let reply = try? await server.command(bytes: words, within: .seconds(1))
            lines.append("\(server.port ?? 0): \(reply?.text ?? "no answer")")
        }
        return lines.joined(separator: "\n")
    }

    private var settingsOfAccount: [[UInt8]] {
        let words = if case .cluster = backing { ["CLUSTER", "NODES"] } else { ["INFO", "replication"] }
        return words.map { Array($0.utf8) }
    }

    private func isWhole(_ set: RedisReplication) async throws -> Bool {
        guard let primary = try? await set.currentPrimary(), await isKnown(primary, as: 0) else { return false }
        for sentinel in set.sentinels {
            // It may still be about to replace a primary that is back: then its flags say more.
            let reply = try? await sentinel.command("SENTINEL", "MASTER", set.name)
            guard reply?.fields["flags"]?.text == "master" else { return false }
        }
        for server in set.servers {
            guard let role = try? await server.command("ROLE").elements else { return false }
            if server === primary {
                guard role.first?.text == "master" else { return false }
            } else {
                guard role.first?.text == "slave", role.count > 3, role[3].text == "connected" else { return false }
            }
        }
        return true
    }

    // MARK: Rights

    /// What the servers have refused to the instances' user since the last question.
    func refusals() async -> [String] {
        guard hasUser else { return [] }
        var refused: [String] = []
        for server in all {
            for entry in (try? await server.command("ACL", "LOG").elements) ?? [] {
                let fields = entry.fields
                guard fields["username"]?.text == Self.user.name else { continue }
                refused.append("\(fields["reason"]?.text ?? "") \(fields["object"]?.text ?? "")")
            }
            _ = try? await server.command("ACL", "LOG", "RESET")
        }
        return refused
    }
}
