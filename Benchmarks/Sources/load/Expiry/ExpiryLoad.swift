import ArgumentParser
import Strata
import StrataRedis
import StrataTesting

/// `load expiry`: what the source feels when many values were filled at once, and whether any caller waits for a hot
/// one.
struct ExpiryLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "expiry",
        abstract: "Peak over mean of source calls with and without jitter and early refresh; waits for a hot key."
    )

    @Option(help: "Keys that are filled at once.")
    var keys = 100_000
    @Option(help: "Seconds that a value is fresh.")
    var lifetime = 20.0
    @Option(help: "Milliseconds that a fetch takes.")
    var fetch = 20
    @Option(help: "Tasks that ask for the hot key.")
    var tasks = 64
    @Option(help: "Seconds that they ask.")
    var seconds = 5.0

    func run() async throws {
        for (name, jitter, early) in [
            ("plain", 0.0, 0.0), ("jitter", 0.3, 0.0), ("early", 0.0, 1.0), ("jitter_early", 0.3, 1.0),
        ] {
            let value = try await peakOverMean(jitter: jitter, early: early)
            Measurement(name: "expiry.\(name).peak_over_mean", value: value, unit: "1").print()
        }
        try await measureHotKey()
    }

    // MARK: Many keys

    /// Asks for each key every tenth of a second for two lifetimes, and counts source calls in tenths of a second.
    ///
    /// Some keys each millisecond, as callers ask who know nothing of each other: were all asked at one instant, only
    /// as many could be refreshed as may be under way at once.
    private func peakOverMean(jitter: Double, early: Double) async throws -> Double {
        let calls = CallBuckets(width: .milliseconds(100))
        let fetch = fetch
        let policy = FreshnessPolicy(
            freshFor: .seconds(lifetime),
            staleWhileRevalidate: early > 0 ? .seconds(lifetime) : .zero,
            jitter: jitter,
            earlyRefresh: early
        )
        let cache = MemoryLevel<Int, Int>(limit: .entries(2 * keys))
            .compose(
                Source(freshness: policy, limit: keys) { key in
                    calls.count()
                    try await Task.rest(for: .milliseconds(fetch))
                    return key
                }
            )
        try await ask(cache, 0..<keys)
        calls.start()
        let clock = ContinuousClock()
        let end = clock.now + .seconds(2 * lifetime)
        var next = clock.now
        var slice = 0
        while next < end {
            try await ask(cache, slice * keys / Self.slices..<(slice + 1) * keys / Self.slices)
            slice = (slice + 1) % Self.slices
            next += .milliseconds(1)
            try await clock.sleep(until: next)
        }
        await cache.drain(within: .seconds(10))
        return calls.peakOverMean
    }

    private static let slices = 100

    private func ask(_ cache: some CacheLevel<Int, Int>, _ keys: Range<Int>) async throws {
        let missing = keys.filter { cache.resident($0, at: .coarse) == nil }
        try await withThrowingDiscardingTaskGroup { group in
            for key in missing { group.addTask { _ = try await cache.get(key) } }
        }
    }

    // MARK: One key

    private func measureHotKey() async throws {
        try await RedisServer.withServer { server in
            let redis = try RedisClient(server.url)
            let policy = FreshnessPolicy(
                freshFor: .milliseconds(300),
                staleWhileRevalidate: .seconds(10),
                jitter: 0,
                earlyRefresh: 1
            )
            let counter = SharedCounter()
            let level = RedisLevel<String, Int>(redis, keyspace: "expiry", freshness: policy)
            let cache = MemoryLevel<String, Int>(limit: .entries(10))
                .compose(
                    level.fetching { _ in
                        try await Task.rest(for: .milliseconds(50))
                        return counter.next()
                    }
                )
            let changes = level.changes()
            try await redis.ping()
            for await change in changes where change == .listening { break }
            _ = try await cache.get("hot")
            let clock = ContinuousClock()
            let end = clock.now + .seconds(seconds)
            let waits = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<tasks {
                    group.addTask {
                        var waits = 0
                        while clock.now < end {
                            let (_, trace) = try await cache.getWithTrace("hot")
                            let isWait = trace.hasWaited || trace.steps.contains { $0.event == .fetched }
                            if isWait { waits += 1 }
                            try await Task.rest(for: .milliseconds(1))
                        }
                        return waits
                    }
                }
                return try await group.reduce(0, +)
            }
            Measurement(name: "expiry.hot_key.waits", value: Double(waits), unit: "1").print()
            Measurement(name: "expiry.hot_key.fetches", value: Double(counter.value), unit: "1").print()
            await cache.drain(within: .seconds(5))
            await redis.shutDown()
        }
    }
}
