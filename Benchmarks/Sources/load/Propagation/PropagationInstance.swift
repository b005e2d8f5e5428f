import ArgumentParser
import Strata
import StrataRedis

/// One process of `load propagation`: one instance that is watched, or several that only listen.
struct PropagationInstance: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "propagation-instance",
        abstract: "One process of `load propagation`; started by that.",
        shouldDisplay: false
    )

    static let key = "the key"

    @Option var keyspace: String
    /// How many instances of the service the process stands for, each with connections and memory of its own.
    @Option var instances: Int

    typealias Cache = Composed<MemoryLevel<String, String>, RedisLevel<String, String>>

    static func cache(_ redis: RedisClient, _ keyspace: String) -> Cache {
        MemoryLevel(limit: .entries(1_000)).compose(RedisLevel(redis, keyspace: Keyspace(keyspace)))
    }

    func run() async throws {
        var caches: [Cache] = []
        for _ in 0..<instances {
            let redis = try RedisClient(try Orders.url())
            let cache = Self.cache(redis, keyspace)
            let heard = cache.lower.changes()
            try await redis.ping()
            for await change in heard where change == .listening { break }
            _ = try await cache.get(Self.key)
            caches.append(cache)
        }
        try Orders.answer(PropagationAnswer.armed)
        for await _ in Orders.all(PropagationOrder.self) {
            let changes = caches.map { $0.lower.changes() }
            for cache in caches {
                while cache.resident(Self.key, at: .now) == nil { _ = try await cache.get(Self.key) }
            }
            try Orders.answer(PropagationAnswer.armed)
            // Each has a time of its own: the last of them counts, not who comes to look at it.
            let last = await withTaskGroup { group in
                for (cache, changes) in zip(caches, changes) {
                    group.addTask {
                        var changes = changes.makeAsyncIterator()
                        while cache.resident(Self.key, at: .now) != nil { _ = await changes.next() }
                        return MonotonicInstant.now.nanoseconds
                    }
                }
                return await group.reduce(Int64.min) { max($0, $1) }
            }
            try Orders.answer(PropagationAnswer.seen(last))
        }
    }
}
