import ArgumentParser
import Dispatch
import Foundation
import Strata
import StrataRedis
import StrataTesting
import Synchronization

/// One process of `load restart`: an instance of a service under a steady load.
struct RestartInstance: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restart-instance",
        abstract: "One process of `load restart`; started by that.",
        shouldDisplay: false
    )

    @Option var way: String
    @Option var file: String
    @Option var keys: Int
    @Option var entries: Int
    @Option var rate: Int
    @Option var exponent: Double
    @Option var fetchMilliseconds: Int
    @Option var lifetimeSeconds: Int

    func run() async throws {
        // A process-wide signal must not end it at once.
        signal(SIGTERM, SIG_IGN)
        let ended = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
        let (ends, feed) = AsyncStream.makeStream(of: Void.self)
        ended.setEventHandler { feed.yield() }
        ended.resume()

        let work = try RestartWork(self, url: try Orders.url())
        let begun = MonotonicInstant.now
        let filled = try await work.begin(RestartWay(rawValue: way) ?? .cold, file: file)
        var ready = RestartAnswer(kind: .ready)
        ready.milliseconds = begun.milliseconds(to: .now)
        ready.entries = filled
        let member = Task { await work.member.run() }
        let load = Task { await work.keepReading() }
        try Orders.answer(ready)
        let orders = Task {
            for await order in Orders.all(RestartOrder.self) {
                try Orders.answer(await work.counts(for: .milliseconds(order.milliseconds)))
            }
        }
        for await _ in ends { break }
        load.cancel()
        await load.value
        let stopped = MonotonicInstant.now
        var last = RestartAnswer(kind: .ended)
        if way == RestartWay.hibernate.rawValue {
            let report = try await work.cache.hibernate(to: file)
            (last.entries, last.bytes) = (report.written, report.bytes)
        }
        last.milliseconds = stopped.milliseconds(to: .now)
        try Orders.answer(last)
        orders.cancel()
        member.cancel()
        await work.redis.shutDown(within: .seconds(1))
        Foundation.exit(0)
    }
}

/// What an instance of `load restart` does.
final class RestartWork: Sendable {
    typealias Cache = Composed<MemoryLevel<Int, String>, FetchingLevel<Int, String>>

    let redis: RedisClient
    let cache: Cache
    let member = FleetMember(interval: .seconds(1))
    private let level: RedisLevel<Int, String>
    private let keys: Int
    private let rate: Int
    private let zipf: ZipfDistribution
    private let reads = Atomic(0)
    private let hits = Atomic(0)
    private let fetches: SharedCount
    private let failures = Atomic(0)

    init(_ instance: RestartInstance, url: String) throws {
        redis = try RedisClient(url)
        let policy = FreshnessPolicy(freshFor: .seconds(instance.lifetimeSeconds))
        level = RedisLevel(redis, keyspace: "restart", codec: .text, freshness: policy)
        let fetches = SharedCount()
        self.fetches = fetches
        let pause = Duration.milliseconds(instance.fetchMilliseconds)
        let memory = MemoryLevel<Int, String>(limit: .entries(instance.entries))
        cache = memory.compose(
            level.fetching { key in
                fetches.add()
                try await Task.rest(for: pause)
                return Self.value(of: key)
            }
        )
        member.add(cache, of: level, memory: memory)
        (keys, rate) = (instance.keys, instance.rate)
        zipf = ZipfDistribution(count: instance.keys, exponent: instance.exponent)
    }

    private static func value(of key: Int) -> String { "value of \(key) " + String(repeating: "x", count: 500) }

    /// Fills memory before requests come.
    ///
    /// - Returns: How many entries it has then.
    func begin(_ way: RestartWay, file: String) async throws -> Int {
        try await level.ready()
        switch way {
        case .hibernate: return try await cache.restore(from: file).restored
        case .fleet:
            let options = FleetWarmingOptions(keys: 10_000)
            return try await cache.warm(fromInstancesOf: level, options).warming.warmed
        case .cold: return 0
        }
    }

    /// Reads at a steady rate, each key by its popularity.
    func keepReading() async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<16 { group.addTask { await self.read(each: .microseconds(16_000_000 / self.rate)) } }
        }
    }

    private func read(each pause: Duration) async {
        var random = SystemRandomNumberGenerator()
        var next = ContinuousClock.now
        while !Task.isCancelled {
            next = next.advanced(by: pause)
            try? await ContinuousClock().sleep(until: next, tolerance: nil)
            let key = zipf.next(using: &random)
            reads.add(1, ordering: .relaxed)
            if let resident = cache.resident(key, at: .coarse) {
                hits.add(1, ordering: .relaxed)
                if !resident.value.hasPrefix("value of \(key) ") { failures.add(1, ordering: .relaxed) }
            } else {
                let value = try? await cache.get(key)
                if !Task.isCancelled, value?.hasPrefix("value of \(key) ") != true {
                    failures.add(1, ordering: .relaxed)
                }
            }
        }
    }

    /// What happens from now on for a while.
    func counts(for time: Duration) async -> RestartAnswer {
        let before = counts
        try? await Task.rest(for: time)
        var counted = counts
        counted.reads -= before.reads
        counted.hits -= before.hits
        counted.fetches -= before.fetches
        counted.failures -= before.failures
        return counted
    }

    private var counts: RestartAnswer {
        var counts = RestartAnswer(kind: .counts)
        counts.reads = reads.load(ordering: .relaxed)
        counts.hits = hits.load(ordering: .relaxed)
        counts.fetches = fetches.count
        counts.failures = failures.load(ordering: .relaxed)
        return counts
    }
}

/// A count that closures share.
private final class SharedCount: Sendable {
    private let value = Atomic(0)

    var count: Int { value.load(ordering: .relaxed) }

    func add() { value.add(1, ordering: .relaxed) }
}

extension MonotonicInstant {
    fileprivate func milliseconds(to other: MonotonicInstant) -> Double {
        duration(to: other) / .milliseconds(1)
    }
}
