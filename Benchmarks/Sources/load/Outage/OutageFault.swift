import ArgumentParser
import StrataTesting

/// What a server does in `load outage`.
enum OutageFault: String, CaseIterable, Codable, ExpressibleByArgument {
    case stopped
    case killed
    case restartedEmpty = "restarted_empty"
    case restartedWithData = "restarted_with_data"
    case paused = "client_pause"
    case callersKilled = "callers_killed"
    case linksKilled = "links_killed"
    case memoryFull = "memory_full"
    case readOnly = "read_only"

    /// How often connections are killed.
    private static let killInterval: Duration = .milliseconds(200)

    /// Causes the fault, keeps it up, and sets it right.
    func cause(at server: RedisServer, for duration: Duration) async throws {
        switch self {
        case .stopped:
            try await server.pause()
            try await Task.rest(for: duration)
            try await server.resume()
        case .killed:
            try await server.kill()
            try await Task.rest(for: duration)
            try await server.restart(keepingData: false)
        case .restartedEmpty, .restartedWithData:
            try await server.kill()
            try await server.restart(keepingData: self == .restartedWithData)
        case .paused:
            try await server.command("CLIENT", "PAUSE", "\(Int(duration / .milliseconds(1)))", "ALL")
            try await Task.rest(for: duration)
        case .callersKilled: try await kill("normal", at: server, for: duration)
        case .linksKilled: try await kill("pubsub", at: server, for: duration)
        case .memoryFull:
            try await server.command("CONFIG", "SET", "maxmemory", "1")
            try await Task.rest(for: duration)
            try await server.command("CONFIG", "SET", "maxmemory", "0")
        case .readOnly:
            try await server.command("REPLICAOF", "127.0.0.1", "1")
            try await Task.rest(for: duration)
            try await server.command("REPLICAOF", "NO", "ONE")
        }
    }

    private func kill(_ type: String, at server: RedisServer, for duration: Duration) async throws {
        let end = ContinuousClock.now + duration
        while .now < end {
            try await server.command("CLIENT", "KILL", "TYPE", type)
            try await Task.rest(for: Self.killInterval)
        }
    }
}
