import Strata
import StrataTesting

@testable import StrataRedis

/// An instance in the test's own process: memory over Redis over a source, and what its link hears.
struct FaultInstance {
    let base: Instance
    let cache: Composed<MemoryLevel<String, String>, FetchingLevel<String, String>>

    /// Connects, and returns when changes are told.
    init(
        _ url: String,
        _ keyspace: Keyspace,
        _ source: CountingSource,
        options: LeaseOptions = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600)),
        _ adjust: (inout RedisConfiguration) -> Void = { _ in }
    ) async throws {
        base = try Instance(url, keyspace, adjust)
        cache = base.memory.compose(base.level.fetching(options) { _ in try await source.fetch() })
        try await base.listen()
    }

    var redis: RedisClient { base.redis }

    var statistics: RedisLevelStatistics { base.level.statistics }

    /// Whether memory answers alone.
    func remembers(_ key: String) -> String? { cache.resident(key, at: .coarse)?.value }

    /// Returns when everything that the server has told until now has been heard.
    func catchUp() async throws {
        let mark = "mark \(UInt64.random(in: 0 ... .max))"
        try await base.level.set("mark", for: mark)
        await base.hears(mark)
    }

    /// Returns when so many callers wait for another instance.
    func waits(for count: Int = 1) async throws {
        while statistics.waits < count { try await nextTurn() }
    }
}
