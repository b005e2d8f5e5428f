import Strata
import StrataRedis

/// What `doctor` judges by: what the servers tell, what the user may do, and the numbers of invalidations.
struct CacheFacts: Sendable {
    /// What the user lacks for a purpose.
    struct Lack: Sendable {
        var purpose: AccessRules.Purpose
        var rules: [String]
    }

    /// A primary of a cluster that cannot be asked.
    struct Silence: Sendable {
        var place: String
        var error: String
    }

    /// What was asked for.
    var sentinels: String?
    /// One, or all primaries of a cluster that have answered.
    var servers: [ServerFacts] = []
    var silent: [Silence] = []
    /// What the user may not do; by purpose.
    var lacks: ServerFacts.Told<[Lack]>
    /// Whether the user has these purposes, by the user's own word.
    var hasPurpose: Bool
    var marks: ServerFacts.Told<[MarksInspection]>
    /// Whether there are keyspaces beside those of the marks.
    var hasMoreMarks = false
}

extension CacheFacts {
    /// Most keyspaces whose marks are looked at.
    static let mostKeyspaces = 1_000

    /// Asks a server, or all primaries of a cluster.
    ///
    /// - Parameters:
    ///   - redis: The server, or the cluster.
    ///   - keyspace: The keyspace to look at; `nil` for all of the prefix.
    ///   - prefix: The prefix.
    ///   - purpose: What the user is for; `nil` when that is not said.
    ///   - samples: How many PINGs to send to each.
    /// - Returns: The facts.
    /// - Throws: ``RedisError`` when the server, or each primary of a cluster, cannot be asked; `CancellationError`. A
    ///   refusal is a fact.
    static func take(
        _ redis: RedisClient,
        keyspace: Keyspace?,
        prefix: String,
        purpose: AccessRules.Purpose?,
        samples: Int
    ) async throws -> CacheFacts {
        var servers: [ServerFacts] = []
        var silent: [Silence] = []
        for server in try await redis.primaries() {
            do {
                servers.append(try await ServerFacts.take(server, isNode: redis.isCluster, samples: samples))
            } catch let error as RedisError where redis.isCluster {
                silent.append(Silence(place: server.configuration.place, error: error.message))
            }
        }
        let isWhole = silent.isEmpty
        guard !servers.isEmpty else { throw Failure(.failed, silent.first?.error ?? "the cluster has no primaries") }
        let lacks: ServerFacts.Told<[Lack]> = try await ask("a try of its rules", isWhole: isWhole) {
            var lacks: [Lack] = []
            for purpose in purpose.map({ [$0] }) ?? [.look, .cache] {
                lacks.append(Lack(purpose: purpose, rules: try await missing(purpose, redis, keyspace, prefix: prefix)))
            }
            return lacks
        }
        var more = false
        let marks: ServerFacts.Told<[MarksInspection]> = try await ask("a look at its numbers", isWhole: isWhole) {
            if let keyspace { return try await KeyspaceInspector(redis, keyspace).marks() }
            let found = try await KeyspaceInspector.keyspaces(redis, prefix: prefix, limit: mostKeyspaces)
            more = found.more
            var marks: [MarksInspection] = []
            for keyspace in found.keyspaces { marks += try await KeyspaceInspector(redis, keyspace).marks() }
            return marks
        }
        return CacheFacts(
            sentinels: redis.configuration.topology == .sentinel ? redis.configuration.sentinels?.description : nil,
            servers: servers,
            silent: silent,
            lacks: lacks,
            hasPurpose: purpose != nil,
            marks: marks,
            hasMoreMarks: more
        )
    }

    /// An answer of all servers; where one of them is silent, its silence is the reason that there is none.
    private static func ask<Value: Sendable>(
        _ command: String,
        isWhole: Bool,
        _ body: () async throws -> Value
    ) async throws -> ServerFacts.Told<Value> {
        do {
            return try await ServerFacts.ask(command, body)
        } catch let error as RedisError where !isWhole {
            return .failure(Refusal(command: command, answer: error.message, isOfRights: false))
        }
    }

    private static func missing(
        _ purpose: AccessRules.Purpose,
        _ redis: RedisClient,
        _ keyspace: Keyspace?,
        prefix: String
    ) async throws -> [String] {
        let database = redis.configuration.database
        let topology: RedisTopology = redis.isCluster ? .cluster : .single
        let rules =
            keyspace.map { AccessRules(for: [purpose], keyspaces: [$0], database: database, topology: topology) }
            ?? AccessRules(for: [purpose], prefix: prefix, database: database, topology: topology)
        return try await redis.missingRules(of: rules)
    }
}
