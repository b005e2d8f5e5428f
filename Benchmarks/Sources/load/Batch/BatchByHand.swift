import Strata
import StrataRedis

/// The least that a batch through memory, Redis and a source can be: MGET, a lock and a value for each key that is
/// missing, all of them sent at once.
///
/// No envelope, version, invalidation, flight, limit or outage; no caller waits for a lock that another has.
struct BatchByHand: Sendable {
    let memory: MemoryLevel<String, String>
    let redis: RedisClient

    /// - Throws: ``RedisError``, ``CacheError``; `CancellationError`.
    func get(_ keys: [String]) async throws -> [String?] {
        var values: [String?] = []
        for key in keys { values.append(try await memory.get(key)) }
        let rest = keys.indices.filter { values[$0] == nil }
        for (index, bytes) in zip(rest, try await redis.get(rest.map { RedisKey(keys[$0]) })) {
            guard let bytes else { continue }
            values[index] = String(decoding: bytes, as: UTF8.self)
        }
        let missing = rest.filter { values[$0] == nil }
        try await eachAtOnce(missing.map { keys[$0] }) { key in
            try await redis.set(RedisKey("lock-\(key)"), Array("mine".utf8), expiringIn: .seconds(10), if: .absent)
        }
        for index in missing { values[index] = "fetched \(keys[index])" }
        try await eachAtOnce(missing.map { keys[$0] }) { key in
            try await redis.set(RedisKey(key), Array("fetched \(key)".utf8), expiringIn: .seconds(60))
        }
        for index in rest { if let value = values[index] { try await memory.set(value, for: keys[index]) } }
        return values
    }

    private func eachAtOnce(_ keys: [String], _ work: @escaping @Sendable (String) async throws -> Bool) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for key in keys { group.addTask { _ = try await work(key) } }
        }
    }
}
