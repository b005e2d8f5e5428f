import Strata
import StrataRedis
import StrataTesting

/// An instance of `load coldstart`: memory above Redis above the source.
struct ColdStartInstance: Sendable {
    let redis: RedisClient
    private let cache: Composed<MemoryLevel<Int, String>, FetchingLevel<Int, String>>
    private let tally: ColdStartTally
    private let zipf: ZipfDistribution

    init(
        _ url: String,
        _ number: Int,
        _ source: ColdStartSource,
        _ tally: ColdStartTally,
        _ zipf: ZipfDistribution
    ) throws {
        var configuration = try RedisConfiguration(url: url)
        configuration.instanceName = "cold-\(number)"
        redis = try RedisClient(configuration)
        cache = MemoryLevel<Int, String>(limit: .entries(100_000))
            .compose(
                RedisLevel(redis, keyspace: "coldstart", codec: .text)
                    .fetching { key in try await source.value(of: key) }
            )
        self.tally = tally
        self.zipf = zipf
    }

    /// Reads at a steady rate, whatever the reads before are waiting for, until the task is cancelled.
    func keepReading(each pause: Duration) async {
        await withDiscardingTaskGroup { group in
            var random = SystemRandomNumberGenerator()
            var due = ContinuousClock.now.advanced(by: pause * Double.random(in: 0..<1))
            while !Task.isCancelled {
                try? await ContinuousClock().sleep(until: due, tolerance: .zero)
                let (key, moment) = (zipf.next(using: &random), due)
                group.addTask { await read(key, dueAt: moment) }
                due = due.advanced(by: pause)
            }
        }
    }

    /// Sets keys at a steady rate, until the task is cancelled.
    func keepSetting(each pause: Duration) async {
        var random = SystemRandomNumberGenerator()
        var due = ContinuousClock.now.advanced(by: pause * Double.random(in: 0..<1))
        while !Task.isCancelled {
            try? await ContinuousClock().sleep(until: due, tolerance: .zero)
            let key = zipf.next(using: &random)
            do { try await cache.set(ColdStartSource.value(of: key), for: key) } catch { tally.failSet() }
            due = due.advanced(by: pause)
        }
    }

    private func read(_ key: Int, dueAt due: ContinuousClock.Instant) async {
        do {
            let (value, trace) = try await cache.getWithTrace(key)
            let hasWaited = trace.steps.contains { [.fetched, .waited, .joined].contains($0.event) }
            tally.add(isHit: !hasWaited, isOfMemory: trace.origin == .memory, dueAt: due)
            if value != ColdStartSource.value(of: key) { tally.fail() }
        } catch {
            if !Task.isCancelled { tally.fail() }
        }
    }
}
