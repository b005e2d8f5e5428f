import ArgumentParser
import Strata
import StrataRedis

/// An instance of `load fanout`: memory above Redis.
final class FanoutInstance: Sendable {
    static let keyspace: Keyspace = "fanout"

    let redis: RedisClient
    let level: RedisLevel<Int, String>
    private let memory: MemoryLevel<Int, String>
    private let number: Int

    init(_ url: String, _ mode: TrackingMode, number: Int, keys: Int) throws {
        var configuration = try RedisConfiguration.patient(url, name: "fanout-\(number)")
        configuration.tracking = mode
        redis = try RedisClient(configuration)
        level = RedisLevel(redis, keyspace: Self.keyspace, codec: .text)
        memory = MemoryLevel(limit: .entries(keys))
        self.number = number
    }

    /// Reads its share of the keys, so that memory holds them.
    func hold(_ share: Double, of keys: Int) async throws {
        let count = Int(share * Double(keys))
        let cache = memory.compose(level)
        // Others hold others.
        let first = number * count
        for start in stride(from: 0, to: count, by: 1_000) {
            let some = (start..<min(start + 1_000, count)).map { (first + $0) % keys }
            _ = try await cache.get(some)
        }
    }
}

/// Who writes the keys of `load fanout`: a program that knows nothing of instances.
struct FanoutWriter: Sendable {
    let count: Int
    private let redis: RedisClient
    private let keys: [RedisKey]
    private let value: [UInt8]

    init(_ url: String, keys count: Int) async throws {
        var configuration = try RedisConfiguration(url: url)
        configuration.commandTimeout = .seconds(60)
        redis = try RedisClient(configuration)
        self.count = count
        keys = (0..<count).map { RedisKey("\(FanoutInstance.keyspace):v:{\($0)}") }
        // What instances store, so that they can read it; and the proof that these are the keys that they are told of.
        let level = RedisLevel<Int, String>(redis, keyspace: FanoutInstance.keyspace, codec: .text)
        try await level.set(String(repeating: "x", count: 100), for: 0)
        guard let value = try await redis.get(keys[0]) else { throw ValidationError("\(keys[0]) is no key of a level") }
        self.value = value
    }

    /// Writes each key once, 256 at a time.
    func writeAll() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<256 {
                group.addTask {
                    for index in stride(from: task, to: count, by: 256) {
                        try await redis.set(keys[index], value)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
