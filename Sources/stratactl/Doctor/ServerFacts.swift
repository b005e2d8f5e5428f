import Strata
import StrataRedis

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What `doctor` judges by, as the server tells it.
struct ServerFacts: Sendable {
    typealias Told<Value: Sendable> = Result<Value, Refusal>

    /// A connection in CLIENT LIST.
    struct Peer: Hashable, Sendable {
        let name: String
        /// Whether it is told of changes.
        let hearsOfChanges: Bool
    }

    /// The server's clock compared with this machine's.
    struct Clock: Sendable {
        /// Microseconds since 1970.
        var server: Int64
        /// How far the server's clock is ahead, in seconds.
        var ahead: Double
        /// How exact that is, in seconds.
        var exactness: Double
    }

    /// What the user lacks for a purpose.
    struct Lack: Sendable {
        var purpose: AccessRules.Purpose
        var rules: [String]
    }

    /// What was asked for.
    var sentinels: String?
    /// INFO.
    var info: Told<[String: String]>
    /// `save` of CONFIG.
    var savePoints: Told<String>
    var peers: Told<[Peer]>
    /// CLIENT TRACKING.
    var tracking: Told<Bool>
    var clock: Told<Clock>
    /// PINGs; at least one.
    var roundTrips: [Double]
    /// What the user may not do; by purpose.
    var lacks: [Lack]
    /// Whether the user has these purposes, by the user's own word.
    var hasPurpose: Bool
    var marks: Told<[MarksInspection]>
    /// Whether there are keyspaces beside those of the marks.
    var hasMoreMarks = false
}

extension ServerFacts {
    /// Most keyspaces whose marks are looked at.
    static let mostKeyspaces = 1_000

    /// Asks a server.
    ///
    /// - Parameters:
    ///   - redis: The server.
    ///   - keyspace: The keyspace to look at; `nil` for all of the prefix.
    ///   - prefix: The prefix.
    ///   - purpose: What the user is for; `nil` when that is not said.
    ///   - samples: How many PINGs to send.
    /// - Returns: The facts.
    /// - Throws: ``RedisError`` when the server cannot be asked; `CancellationError`. A refusal is a fact.
    static func take(
        _ redis: RedisClient,
        keyspace: Keyspace?,
        prefix: String,
        purpose: AccessRules.Purpose?,
        samples: Int
    ) async throws -> ServerFacts {
        let roundTrips = try await ServerReport.take(redis, samples: samples).roundTrips.map { TimeSpan.seconds($0) }
        var lacks: [Lack] = []
        for purpose in purpose.map({ [$0] }) ?? [.look, .cache] {
            lacks.append(Lack(purpose: purpose, rules: try await missing(purpose, redis, keyspace, prefix: prefix)))
        }
        var more = false
        let marks: Told<[MarksInspection]> = try await ask("a look at its numbers") {
            if let keyspace { return [try await KeyspaceInspector(redis, keyspace).marks()] }
            let found = try await KeyspaceInspector.keyspaces(redis, prefix: prefix, limit: mostKeyspaces)
            more = found.more
            var marks: [MarksInspection] = []
            for keyspace in found.keyspaces { marks.append(try await KeyspaceInspector(redis, keyspace).marks()) }
            return marks
        }
        return ServerFacts(
            sentinels: redis.configuration.topology == .sentinel ? redis.configuration.sentinels?.description : nil,
            info: try await ask("INFO") { try await redis.info() },
            savePoints: try await ask("CONFIG GET") {
                try await redis.send("CONFIG", "GET", "save").array?.last?.string ?? ""
            },
            peers: try await ask("CLIENT LIST") { peers(in: try await redis.client("LIST").string ?? "") },
            tracking: try await ask("CLIENT TRACKING") { try await redis.client("TRACKING", "OFF") != .null },
            clock: try await ask("TIME") { try await clock(of: redis) },
            roundTrips: roundTrips,
            lacks: lacks,
            hasPurpose: purpose != nil,
            marks: marks,
            hasMoreMarks: more
        )
    }

    private static func ask<Value: Sendable>(
        _ command: String,
        _ body: () async throws -> Value
    ) async throws -> Told<Value> {
        do {
            return .success(try await body())
        } catch let error as RedisError where [.server, .tooLarge, .unexpectedReply].contains(error.code) {
            let isOfRights = error.serverCode == "NOPERM"
            return .failure(Refusal(command: command, answer: error.message, isOfRights: isOfRights))
        }
    }

    private static func missing(
        _ purpose: AccessRules.Purpose,
        _ redis: RedisClient,
        _ keyspace: Keyspace?,
        prefix: String
    ) async throws -> [String] {
        let database = redis.configuration.database
        let rules =
            keyspace.map { AccessRules(for: [purpose], keyspaces: [$0], database: database) }
            ?? AccessRules(for: [purpose], prefix: prefix, database: database)
        return try await redis.missingRules(of: rules)
    }

    /// The names and flags in the text of CLIENT LIST.
    static func peers(in text: String) -> [Peer] {
        text.split(whereSeparator: \.isNewline)
            .map { line in
                var (name, flags) = ("", "")
                for field in line.split(separator: " ") {
                    if field.hasPrefix("name=") { name = String(field.dropFirst(5)) }
                    if field.hasPrefix("flags=") { flags = String(field.dropFirst(6)) }
                }
                return Peer(name: name, hearsOfChanges: flags.contains("B"))
            }
    }

    /// The quickest of a few answers is the most exact one.
    private static func clock(of redis: RedisClient) async throws -> Clock {
        var best: Clock?
        for _ in 0..<5 {
            let before = Date().timeIntervalSince1970
            let time = try await redis.time()
            let after = Date().timeIntervalSince1970
            let seconds = TimeSpan.seconds(time)
            let clock = Clock(
                server: Int64((seconds * 1_000_000).rounded()),
                ahead: seconds - (before + after) / 2,
                exactness: max(0, after - before) / 2
            )
            if best.map({ clock.exactness < $0.exactness }) ?? true { best = clock }
        }
        return best ?? Clock(server: 0, ahead: 0, exactness: .infinity)
    }
}
