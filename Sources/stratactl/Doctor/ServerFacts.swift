import Strata
import StrataRedis

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a server tells of itself.
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

    /// Where it is.
    var place: String
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
    /// CLUSTER INFO; `nil` for a server that is no node of a cluster.
    var cluster: Told<[String: String]>?
}

extension ServerFacts {
    /// Asks a server.
    ///
    /// - Parameters:
    ///   - redis: The server.
    ///   - isNode: Whether it is a node of a cluster.
    ///   - samples: How many PINGs to send.
    /// - Returns: The facts.
    /// - Throws: ``RedisError`` when the server cannot be asked; `CancellationError`. A refusal is a fact.
    static func take(_ redis: RedisClient, isNode: Bool, samples: Int) async throws -> ServerFacts {
        let roundTrips = try await ServerReport.take(redis, samples: samples).roundTrips.map { TimeSpan.seconds($0) }
        var facts = ServerFacts(
            place: redis.configuration.place,
            info: try await ask("INFO") { try await redis.info() },
            savePoints: try await ask("CONFIG GET") {
                try await redis.send("CONFIG", "GET", "save").array?.last?.string ?? ""
            },
            peers: try await ask("CLIENT LIST") { peers(in: try await redis.client("LIST").string ?? "") },
            tracking: try await ask("CLIENT TRACKING") { try await tracks(redis) },
            clock: try await ask("TIME") { try await clock(of: redis) },
            roundTrips: roundTrips
        )
        if isNode {
            facts.cluster = try await ask("CLUSTER INFO") {
                ServerFields.read(try await redis.send("CLUSTER", "INFO").string ?? "")
            }
        }
        return facts
    }

    /// The answer to a command, or that the server has refused it.
    static func ask<Value: Sendable>(
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

    /// Whether the server takes what the link of an instance asks for.
    ///
    /// Some managed services know the command, and refuse to tell another connection.
    private static func tracks(_ redis: RedisClient) async throws -> Bool {
        let connection = try await redis.client("ID").integer ?? 0
        // Nothing has such a name, so that nothing is told until the connection ends.
        let prefix = "stratactl doctor \(UInt64.random(in: 0 ... .max))"
        _ = try await redis.client("TRACKING", "ON", "REDIRECT", "\(connection)", "BCAST", "PREFIX", prefix)
        return try await redis.client("TRACKING", "OFF") != .null
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
