import Strata
import StrataTesting

@testable import StrataRedis

/// An instance whose cache has lists: memory over Redis, patient enough for a busy machine.
struct ListInstance {
    let redis: RedisClient
    let level: RedisLevel<String, [Int]>
    let memory = MemoryLevel<String, [Int]>(limit: .entries(100))
    let cache: Composed<MemoryLevel<String, [Int]>, RedisLevel<String, [Int]>>

    init(
        _ url: String,
        _ keyspace: Keyspace,
        _ freshness: FreshnessPolicy = FreshnessPolicy(jitter: 0),
        coherence: Coherence = .tracking,
        schema: UInt32? = nil,
        _ adjust: (inout RedisConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = try RedisConfiguration.patient(url)
        adjust(&configuration)
        redis = try RedisClient(configuration)
        level = RedisLevel(redis, keyspace: keyspace, freshness: freshness, coherence: coherence, schema: schema)
        cache = memory.compose(level)
    }

    /// Connects, and returns when changes are told.
    func listen() async throws {
        try await level.ready(within: .seconds(60))
        try await level.listens()
    }

    /// Whether memory answers alone.
    func remembers(_ key: String) -> [Int]? { cache.resident(key, at: .coarse)?.value }
}

/// The code of the error of a cache that a body throws.
func cacheCode(_ body: () async throws -> Void) async throws -> CacheError.Code? {
    do {
        try await body()
        return nil
    } catch let error as CacheError {
        return error.code
    }
}
