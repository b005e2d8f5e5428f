import Strata
import StrataTesting

@testable import StrataRedis

/// A value that closures of a test share.
final class Shared<Value: Sendable>: Sendable {
    private let locked: Locked<Value>

    init(_ value: Value) { locked = Locked(value) }

    func withLock<Result>(_ body: (inout Value) -> Result) -> Result { locked.withLock { body(&$0) } }
}

extension Shared<Int> {
    /// Counts one more, and tells the number.
    func next() -> Int {
        withLock { count in
            count += 1
            return count
        }
    }
}

/// Clusters for tests, and clients of them that are patient enough for a busy machine.
enum TestCluster {
    private static let started = Task { try await RedisCluster.start(TestCluster.configuration()) }

    /// Nodes that do not hold each other for down because the machine is busy, where none is to be replaced.
    private static func configuration(replicas: Int = 0) -> RedisCluster.Configuration {
        var configuration = RedisCluster.Configuration()
        configuration.replicasPerPrimary = replicas
        configuration.nodeTimeout = replicas == 0 ? .seconds(10) : .seconds(2)
        configuration.deadline = .seconds(60)
        return configuration
    }

    /// Three primaries that tests share; none may change it.
    static func shared() async throws -> RedisCluster { try await started.value }

    /// Runs a test with a cluster of its own.
    static func with(
        replicas: Int = 0,
        nodeTimeout: Duration? = nil,
        server: RedisServer.Configuration = .init(),
        _ body: (RedisCluster) async throws -> Void
    ) async throws {
        var configuration = configuration(replicas: replicas)
        configuration.server = server
        if let nodeTimeout { configuration.nodeTimeout = nodeTimeout }
        let cluster = try await RedisCluster.start(configuration)
        do { try await body(cluster) } catch {
            try await cluster.stop()
            throw error
        }
        try await cluster.stop()
    }

    static func configuration(of cluster: RedisCluster) throws -> RedisConfiguration {
        var configuration = try RedisConfiguration(url: cluster.url)
        configuration.connectTimeout = .seconds(5)
        configuration.commandTimeout = .seconds(20)
        configuration.redisBudget = .seconds(20)
        configuration.breaker.slowAfter = .seconds(20)
        configuration.healthWindow = .seconds(20)
        configuration.linkPingTimeout = .seconds(20)
        return configuration
    }

    static func client(
        of cluster: RedisCluster,
        _ adjust: (inout RedisConfiguration) -> Void = { _ in }
    ) throws -> RedisClient {
        var configuration = try configuration(of: cluster)
        adjust(&configuration)
        return try RedisClient(configuration)
    }

    static func endpoint(of server: RedisServer) -> RedisEndpoint {
        .tcp(host: "127.0.0.1", port: server.port ?? 0)
    }

    /// A key of a slot whose name begins so, with nothing in braces.
    static func key(_ base: String, in slot: Int) -> String {
        var number = 0
        while Int(HashSlot.of(Array("\(base)\(number)".utf8))) != slot { number += 1 }
        return "\(base)\(number)"
    }

    /// Keys whose values lie at each primary of an unchanged cluster.
    static func keys(_ base: String, of cluster: RedisCluster) -> [String] {
        let width = RedisCluster.slotCount / cluster.primaries.count
        // In the middle of what each serves, away from parts that it shares.
        return cluster.primaries.indices.map { key(base, in: width * $0 + width / 2) }
    }
}
