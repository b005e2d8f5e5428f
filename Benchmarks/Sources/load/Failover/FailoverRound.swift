import Strata
import StrataRedis
import StrataTesting
import Synchronization

/// One failover under load.
///
/// Writers send plain SETs and take down when each was accepted; readers ask a cache whose source never fails; a third
/// kind of task stores values and removes them, and takes down which removals were confirmed.
final class FailoverRound: Sendable {
    private struct State {
        var isEnding = false
        /// When a Sentinel named another primary for the first time.
        var namedAt: MonotonicInstant?
        var tally = FailoverTally()
        /// Confirmed removals, with when the value was stored.
        var removed: [(key: Int, at: MonotonicInstant)] = []
    }

    private let set: RedisReplication
    private let lifetime: Duration
    private let redis: RedisClient
    private let level: RedisLevel<Int, String>
    private let cache: Composed<MemoryLevel<Int, String>, FetchingLevel<Int, String>>
    private let state = Mutex(State())

    init(_ set: RedisReplication, lifetime: Duration) throws {
        self.set = set
        self.lifetime = lifetime
        var configuration = try RedisConfiguration(url: set.url)
        configuration.password = Secret("load")
        redis = try RedisClient(configuration)
        level = RedisLevel(
            redis,
            keyspace: "failover",
            codec: .text,
            freshness: FreshnessPolicy(freshFor: lifetime)
        )
        cache = MemoryLevel<Int, String>(limit: .entries(100))
            .compose(level.fetching { key in "source \(key)" })
    }

    func run(_ fault: FailoverFault, writers: Int, readers: Int) async throws -> FailoverTally {
        try await redis.ping()
        while redis.outageStatistics.isImpaired { try await Task.rest(for: .milliseconds(1)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<writers { group.addTask { try await self.write(number) } }
            for number in 0..<readers { group.addTask { try await self.read(number) } }
            group.addTask { try await self.remove() }
            try await Task.rest(for: .seconds(1))
            try await withThrowingTaskGroup(of: Void.self) { watching in
                watching.addTask { try await self.watch() }
                try await fault.cause(at: set)
                try await watching.waitForAll()
            }
            _ = try await set.waitForFailover(from: set.primary, within: .seconds(60))
            try await Task.rest(for: .seconds(2))
            state.withLock { $0.isEnding = true }
            try await group.waitForAll()
        }
        try await survey()
        await redis.shutDown()
        return state.withLock { $0.tally }
    }

    private var isEnding: Bool { state.withLock { $0.isEnding } }

    /// Takes down when the first Sentinel names another primary.
    private func watch() async throws {
        let old = set.primary.port.map { Int64($0) }
        while true {
            for sentinel in set.sentinels {
                let reply = try? await sentinel.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", set.name)
                guard let port = reply?.elements?.last?.integer, port != old else { continue }
                return state.withLock { $0.namedAt = .now }
            }
            try await Task.rest(for: .milliseconds(2))
        }
    }

    private func write(_ number: Int) async throws {
        var last = MonotonicInstant.now
        var longest = (from: last, to: last)
        while !isEnding {
            if (try? await redis.set(RedisKey("failover-writer-\(number)"), [1])) != nil {
                let now = MonotonicInstant.now
                if last.duration(to: now) > longest.from.duration(to: longest.to) { longest = (last, now) }
                last = now
            }
            try await Task.rest(for: .milliseconds(2))
        }
        state.withLock { [last, longest] state in
            // A writer that was not let in again has no end of its gap.
            let gap = last.duration(to: .now) > .seconds(1) ? (from: last, to: MonotonicInstant.now) : longest
            let named = state.namedAt ?? gap.to
            state.tally.gaps.append(gap.from.duration(to: gap.to) / .milliseconds(1))
            let beyond = max(gap.from, named).duration(to: gap.to)
            state.tally.gapsBeyond.append(max(0, beyond / .milliseconds(1)))
        }
    }

    private func read(_ number: Int) async throws {
        var random = SeededGenerator(seed: UInt64(number))
        while !isEnding {
            // Far more keys than fit into memory.
            let key = Int.random(in: 0..<10_000, using: &random)
            do {
                let value = try await cache.get(key)
                guard value != "source \(key)" else {
                    state.withLock { $0.tally.reads += 1 }
                    try await Task.rest(for: .milliseconds(1))
                    continue
                }
                note("a wrong value")
            } catch { note("\(error)") }
        }
    }

    private func note(_ error: String) {
        state.withLock { state in
            state.tally.reads += 1
            state.tally.errors[error, default: 0] += 1
        }
    }

    /// Stores values and removes them after a while, each key once.
    private func remove() async throws {
        var waiting: [(key: Int, at: MonotonicInstant)] = []
        var key = 100_000
        while !isEnding {
            key += 1
            if (try? await level.set("removed", for: key)) != nil { waiting.append((key, .now)) }
            if waiting.count > 50 {
                let oldest = waiting.removeFirst()
                if (try? await level.remove(oldest.key)) != nil { state.withLock { $0.removed.append(oldest) } }
            }
            try await Task.rest(for: .milliseconds(2))
        }
    }

    /// Counts the confirmed removals that the new primary does not have, and what is left of them after the values'
    /// lifetime.
    private func survey() async throws {
        let removed = state.withLock { $0.removed }
        var back: [(key: Int, at: MonotonicInstant)] = []
        for one in removed where one.at.duration(to: .now) < lifetime {
            if try await level.get(one.key) != nil { back.append(one) }
        }
        var late = 0
        if let last = back.map(\.at).max() {
            // Stored before it was taken down, so its end is not later than this.
            try await Task.rest(for: max(.zero, MonotonicInstant.now.duration(to: last.advanced(by: lifetime))))
            for one in back where try await level.get(one.key) != nil { late += 1 }
        }
        state.withLock { [back, late] state in
            state.tally.removals += removed.count
            state.tally.lostRemovals += back.count
            state.tally.servedTooLong += late
        }
    }
}
