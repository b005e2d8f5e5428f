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
        var changes = caches[0].lower.changes().makeAsyncIterator()
        for await _ in Orders.all(PropagationOrder.self) {
            while caches[0].resident(Self.key, at: .now) == nil { _ = try await caches[0].get(Self.key) }
            try Orders.answer(PropagationAnswer.armed)
            while caches[0].resident(Self.key, at: .now) != nil { _ = await changes.next() }
            try Orders.answer(PropagationAnswer.seen(MonotonicInstant.now.nanoseconds))
        }
    }
}
