import Strata
import StrataTesting

@testable import StrataRedis

/// An instance of a service whose caches go by a test's clock: memory over Redis over a source.
struct DrivenInstance {
    let redis: RedisClient
    let memory: MemoryLevel<String, String>
    let fetching: FetchingLevel<String, String>
    let cache: AnyLevel<String, String>

    var level: RedisLevel<String, String> { fetching.level }

    /// Everything is made in the clock's scope, as a test of a user makes its service.
    init(
        _ clock: ManualClock,
        _ server: RedisServer,
        _ keyspace: Keyspace,
        _ freshness: FreshnessPolicy,
        _ options: LeaseOptions = .lasting,
        adjust: @escaping (inout RedisConfiguration) -> Void = { _ in },
        _ fetch: @escaping @Sendable (String) async throws -> String?
    ) throws {
        (redis, memory, fetching, cache) = try clock.driving {
            let redis = try TestServer.client(of: server, adjust)
            let memory = MemoryLevel<String, String>(limit: .entries(100))
            let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text, freshness: freshness)
            let fetching = level.fetching(options, fetch)
            return (redis, memory, fetching, memory.compose(fetching).normalized())
        }
    }

    /// A read that memory does not answer.
    func getBelowMemory(_ key: String) async throws -> String? {
        try await cache.get(key, ReadOptions(skipsReading: [.memory]))
    }
}

extension LeaseOptions {
    /// Leases that no process loses because it stands still for some seconds.
    static var lasting: LeaseOptions { LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(6_000)) }
}

extension FreshnessPolicy {
    /// Exact times.
    static func exact(_ freshFor: Duration) -> FreshnessPolicy {
        FreshnessPolicy(freshFor: freshFor, jitter: 0, earlyRefresh: 0)
    }
}
