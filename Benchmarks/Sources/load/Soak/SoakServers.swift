import FleetChecker
import Foundation
import StrataTesting

/// The Redis of a soak, whichever topology it has.
final class SoakServers: Sendable {
    private enum Backing {
        case single(RedisServer)
        case sentinel(RedisReplication)
    }

    struct NotWhole: Error, CustomStringConvertible {
        var description: String { "the servers have not become a whole set again" }
    }

    /// How long a set may take until it is whole again.
    private static let healing: Duration = .seconds(30)

    private let backing: Backing
    /// The file with the authority of the servers' certificates; `nil` without TLS.
    private let authority: TestAuthority?

    private init(_ backing: Backing, _ authority: TestAuthority?) {
        self.backing = backing
        self.authority = authority
    }

    /// Starts the servers, and stops them when the closure has ended.
    ///
    /// - Parameters:
    ///   - topology: What is started.
    ///   - encrypted: Whether instances and servers speak TLS.
    ///   - body: Uses them.
    /// - Returns: What `body` returns.
    /// - Throws: `HarnessError`; what `body` throws.
    static func with<Result: Sendable>(
        _ topology: SoakTopology,
        encrypted: Bool,
        _ body: (SoakServers) async throws -> Result
    ) async throws -> Result {
        // Without fsync what was acknowledged still survives the server's death, and the disk is left alone.
        var configuration = RedisServer.Configuration(directives: ["appendonly yes", "appendfsync no"])
        let authority = encrypted ? try await TestAuthority.make() : nil
        if let authority {
            configuration.tls = .init(try await authority.issue(), authorities: authority.certificate)
        }
        switch topology {
        case .single:
            return try await RedisServer.withServer(configuration) { server in
                try await body(SoakServers(.single(server), authority))
            }
        case .sentinel:
            var replication = RedisReplication.Configuration()
            replication.server = configuration
            let set = try await RedisReplication.start(replication)
            do {
                let result = try await body(SoakServers(.sentinel(set), authority))
                try await set.stop()
                return result
            } catch {
                try? await set.stop()
                throw error
            }
        }
    }

    /// Where an instance that has no proxy finds the servers.
    var url: String {
        switch backing {
        case .single(let server): url(to: server.tlsEndpoint ?? server.endpoint)
        case .sentinel(let set): trusted(set.url)
        }
    }

    /// Where proxies lead; `nil` where Sentinels tell addresses that no proxy stands before.
    var endpoint: TestEndpoint? {
        if case .single(let server) = backing { server.tlsEndpoint ?? server.endpoint } else { nil }
    }

    /// The URL of a server, or of a proxy before it.
    func url(to endpoint: TestEndpoint) -> String {
        authority == nil ? endpoint.url : trusted(endpoint.url.replacing("redis://", with: "rediss://"))
    }

    private func trusted(_ url: String) -> String {
        guard let authority else { return url }
        return url + (url.contains("?") ? "&" : "?") + "ca=" + authority.certificate
    }

    /// The server that takes writes.
    func primary() async throws -> RedisServer {
        switch backing {
        case .single(let server): server
        case .sentinel(let set): try await set.currentPrimary()
        }
    }

    @discardableResult
    func command(_ words: String...) async throws -> RawReply {
        try await primary().command(bytes: words.map { Array($0.utf8) })
    }

    @discardableResult
    func command(bytes: [[UInt8]]) async throws -> RawReply { try await primary().command(bytes: bytes) }

    // MARK: Faults

    /// Has the Sentinels promote another server.
    func failOver() async throws {
        guard case .sentinel(let set) = backing else { return }
        let old = try await set.currentPrimary()
        _ = try? await set.sentinels.first?.command("SENTINEL", "FAILOVER", set.name)
        _ = try? await set.waitForFailover(from: old, within: .seconds(5))
        try await heal()
    }

    /// Returns when a primary stands that all Sentinels name, with its replicas in step.
    func heal() async throws {
        guard case .sentinel(let set) = backing else { return }
        let end = ContinuousClock.now + Self.healing
        while .now < end {
            if try await isWhole(set) { return }
            try await Task.rest(for: .milliseconds(50))
        }
        throw NotWhole()
    }

    private func isWhole(_ set: RedisReplication) async throws -> Bool {
        guard let primary = try? await set.currentPrimary() else { return false }
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
}
