import Strata
import StrataRedis
import Synchronization

/// The least that one fetch for a fleet can be: callers of this process share one task; processes agree by a lock that
/// is never renewed, and whoever did not get it is woken through a list.
///
/// No memory, envelope, lifetime, invalidation, deadline of a caller, failure that is shared, or outage. Every process
/// must ask, or a wake-up is left over.
final class FetchByHand: Sendable {
    private let redis: RedisClient
    private let processes: Int
    private let fetch: @Sendable (String) async throws -> String
    private let callers = Mutex<[Int: [CheckedContinuation<String?, Never>]]>([:])

    init(_ redis: RedisClient, processes: Int, _ fetch: @escaping @Sendable (String) async throws -> String) {
        self.redis = redis
        self.processes = processes
        self.fetch = fetch
    }

    func get(_ number: Int) async -> String? {
        await withCheckedContinuation { caller in
            let isFirst = callers.withLock { callers in
                callers[number, default: []].append(caller)
                return callers[number]?.count == 1
            }
            guard isFirst else { return }
            Task {
                let value = try? await find(number)
                for caller in callers.withLock({ $0.removeValue(forKey: number) ?? [] }) {
                    caller.resume(returning: value)
                }
            }
        }
    }

    private func find(_ number: Int) async throws -> String? {
        let (key, lock, news) = ("by-hand-\(number)", "by-hand-lock-\(number)", "by-hand-news-\(number)")
        if let found = try await value(of: key) { return found }
        let isMine = try await redis.send("SET", lock, "mine", "NX", "PX", "10000") != .null
        guard isMine else {
            _ = try await redis.send("BLPOP", news, "5", timeout: .seconds(6))
            return try await value(of: key)
        }
        let value = try await fetch("round-\(number)")
        let push = ["RPUSH", news] + Array(repeating: "news", count: max(1, processes - 1))
        let stored = Task { [redis] in try await redis.send("SET", key, value, "PX", "60000") }
        _ = try await redis.send(push.map { Array($0.utf8) })
        _ = try await stored.value
        return value
    }

    private func value(of key: String) async throws -> String? {
        try await redis.send("GET", key).bytes.map { String(decoding: $0, as: UTF8.self) }
    }
}
