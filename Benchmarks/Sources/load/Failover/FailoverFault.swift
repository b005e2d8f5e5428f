import ArgumentParser
import StrataTesting

/// What happens to the primary in `load failover`.
enum FailoverFault: String, CaseIterable, ExpressibleByArgument {
    case killed
    case stopped
    case ordered
    /// Killed while its replica has not been able to follow it for a while: what it confirmed meanwhile is lost.
    case lagging

    /// For how long the replica cannot follow.
    private static let lag: Duration = .milliseconds(300)

    func cause(at set: RedisReplication) async throws {
        switch self {
        case .killed: try await set.primary.kill()
        case .stopped: try await set.primary.pause()
        case .ordered: try await set.sentinels[0].command("SENTINEL", "FAILOVER", set.name)
        case .lagging:
            for replica in set.replicas {
                try await replica.command("CONFIG", "SET", "masterauth", "wrong")
                try await replica.command("CLIENT", "KILL", "TYPE", "MASTER")
            }
            try await Task.rest(for: Self.lag)
            try await set.primary.kill()
        }
    }
}
