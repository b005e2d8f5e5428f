import Strata
import StrataTesting

@testable import StrataRedis

extension RedisReplication {
    /// Starts a set whose servers take down what they were asked by whom.
    static func watched(_ adjust: (inout Configuration) -> Void = { _ in }) async throws -> RedisReplication {
        var configuration = Configuration()
        configuration.deadline = .seconds(60)
        configuration.server.directives = ["slowlog-log-slower-than 0", "slowlog-max-len 100000"]
        adjust(&configuration)
        return try await start(configuration)
    }

    /// Starts a set, and stops it when the closure has ended.
    static func withSet(
        _ adjust: (inout Configuration) -> Void = { _ in },
        _ body: (RedisReplication) async throws -> Void
    ) async throws {
        let set = try await watched(adjust)
        do {
            try await body(set)
        } catch {
            try? await set.stop()
            throw error
        }
        try await set.stop()
    }

    /// One instance of a service whose client finds the primary by these Sentinels.
    func instance(
        _ keyspace: Keyspace,
        url: String? = nil,
        _ adjust: (inout RedisConfiguration) -> Void = { _ in }
    ) throws -> Instance {
        try Instance(url ?? self.url, keyspace) { configuration in
            configuration.sentinels?.timeout = .seconds(10)
            configuration.reconnectDelay = .milliseconds(1) ... .milliseconds(50)
            configuration.linkPingTimeout = .seconds(10)
            adjust(&configuration)
        }
    }
}

extension RedisServer {
    /// Ends the connections of our clients alone: Sentinels need theirs to see what is going on.
    func killOwnClients() async throws {
        for client in try await command("CLIENT", "LIST", "TYPE", "normal").text.split(whereSeparator: \.isNewline) {
            let fields = client.split(separator: " ")
            guard fields.contains(where: { $0.hasPrefix("name=strata@") }),
                let id = fields.first(where: { $0.hasPrefix("id=") })
            else {
                continue
            }
            do {
                try await command("CLIENT", "KILL", "ID", String(id.dropFirst(3)))
            } catch let error as HarnessError where error.code == .errorReply {
                // It has left meanwhile.
            }
        }
    }

    /// Whether a client of ours has asked this server for anything that names this key.
    func wasAskedByClient(about key: String) async throws -> Bool {
        let entries = try await command("SLOWLOG", "GET", "100000", within: .seconds(60)).elements ?? []
        return entries.contains { entry in
            // number, time, duration, arguments, client's address, client's name
            guard let parts = entry.elements, parts.count > 5, parts[5].text.hasPrefix("strata@") else { return false }
            return parts[3].text.contains(key)
        }
    }
}
