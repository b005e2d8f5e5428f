import FleetChecker
import Strata
import StrataRedis
import StrataTesting
import Synchronization

/// What the tasks of one process do with the cache while its server fails.
final class OutageTraffic: Sendable {
    typealias Cache = Composed<MemoryLevel<Int, VersionedValue>, FetchingLevel<Int, VersionedValue>>

    private struct State {
        var isEnding = false
        var running = 0
        var tally = OutageTally()
    }

    /// Keys of the source that only the sampler asks for, behind the others.
    static let sampledKeys = 256
    /// How long the source takes, but for sampled keys.
    static let sourceDelay: Duration = .milliseconds(2)

    private let settings: SoakSettings
    private let log: InstanceLog
    private let source: VersionedSource
    private let redis: RedisClient
    private let cache: Cache
    private let state: StateBox

    /// The state apart from the cache, whose source counts in it.
    private final class StateBox: Sendable {
        private let state = Mutex(State())
        func withLock<Result>(_ body: (inout sending State) -> sending Result) -> Result { state.withLock(body) }
    }

    init(_ settings: SoakSettings, log: InstanceLog, url: String) throws {
        self.settings = settings
        self.log = log
        let keys = settings.keys
        let source = try VersionedSource(opening: settings.sourcePath) { key, step in
            if step == .afterRead, key < keys { try await Task.rest(for: Self.sourceDelay) }
        }
        self.source = source
        let state = StateBox()
        self.state = state
        redis = try RedisClient(try settings.configuration(url: url, of: 0))
        let level = RedisLevel<Int, VersionedValue>(
            redis,
            keyspace: Keyspace(settings.keyspace),
            freshness: FreshnessPolicy(freshFor: .seconds(settings.freshSeconds))
        )
        // Not all fits into memory, so Redis is asked all the time.
        cache = MemoryLevel<Int, VersionedValue>(limit: .entries(settings.keys / 4))
            .compose(
                level.fetching { key in
                    guard key < keys else { return try await source.fetch(key) }
                    state.withLock { state in
                        state.running += 1
                        state.tally.fetches += 1
                        state.tally.mostFetches = max(state.tally.mostFetches, state.running)
                    }
                    defer { state.withLock { $0.running -= 1 } }
                    return try await log.fetch(key, from: source)
                }
            )
    }

    func end() { state.withLock { $0.isEnding = true } }

    /// What was counted since the last time.
    func take() -> OutageTally {
        state.withLock { state in
            defer { state.tally = OutageTally() }
            return state.tally
        }
    }

    /// How long it takes until Redis is used as before, in milliseconds; `nil` when that is longer than `limit`.
    func recovery(within limit: Duration) async -> Double? {
        let start = MonotonicInstant.now
        while start.duration(to: .now) < limit {
            let statistics = redis.outageStatistics
            if !statistics.isImpaired, statistics.pendingInvalidations == 0, (try? await redis.ping()) != nil {
                return start.duration(to: .now) / .milliseconds(1)
            }
            try? await Task.rest(for: .milliseconds(1))
        }
        return nil
    }

    // MARK: Work

    func run(seed: UInt64) async {
        await withTaskGroup { group in
            for task in 0..<settings.tasks {
                group.addTask { [self] in
                    var random = SeededGenerator(seed: seed &+ UInt64(task) &* 7_919)
                    await work(&random)
                }
            }
            group.addTask { [self] in
                var random = SeededGenerator(seed: seed &+ 1)
                await sample(&random)
            }
        }
    }

    private func work(_ random: inout SeededGenerator) async {
        let ranks = ZipfDistribution(count: settings.keys, exponent: 0.9)
        while !state.withLock({ $0.isEnding }) {
            let rest = Int.random(in: 0...(2_000 * settings.restMilliseconds), using: &random)
            try? await Task.rest(for: .microseconds(rest))
            let key = ranks.next(using: &random)
            if Int.random(in: 0..<100, using: &random) < 8 { await change(key) } else { await read(key) }
        }
    }

    private func read(_ key: Int) async {
        let start = HistoryClock.now()
        let began = MonotonicInstant.now
        do {
            let (value, trace) = try await cache.getWithTrace(key)
            let took = began.duration(to: .now) / .microseconds(1)
            var marks: ReadMarks = []
            if case .stale = trace.state { marks.insert(.stale) }
            if case .suspect = trace.state { marks.insert(.suspect) }
            log.got(key, since: start, Reading(value, from: .unknown, marks: marks))
            state.withLock { state in
                state.tally.gets += 1
                if !trace.hasWaited { state.tally.slowest = max(state.tally.slowest, took) }
            }
        } catch {
            log.failed(key, since: start)
            state.withLock { state in
                state.tally.gets += 1
                state.tally.errors["\(error)", default: 0] += 1
            }
        }
    }

    private func change(_ key: Int) async {
        do {
            try await log.change(key, in: source) { try await cache.remove(key) }
        } catch {
            state.withLock { $0.tally.failedChanges += 1 }
        }
    }

    /// Measures what a read costs that has to go to the source while the breaker is open, beside two ways to ask the
    /// source without a cache.
    ///
    /// Whoever comes first after the rest finds the caches of the processor cold, so they take turns at that.
    private func sample(_ random: inout SeededGenerator) async {
        var round = 0
        while !state.withLock({ $0.isEnding }) {
            try? await Task.rest(for: .milliseconds(5))
            guard isOpen else { continue }
            let key = settings.keys + Int.random(in: 0..<Self.sampledKeys, using: &random)
            round += 1
            var taken = [0.0, 0.0, 0.0]
            for turn in 0..<3 {
                let way = (round + turn) % 3
                let start = MonotonicInstant.now
                switch way {
                case 0: _ = try? await Task { [source] in try await source.fetch(key) }.value
                case 1: await askBounded(key)
                default: _ = try? await cache.lower.get(key)
                }
                taken[way] = start.duration(to: .now) / .microseconds(1)
            }
            guard isOpen else { continue }
            state.withLock { [taken] state in
                state.tally.bareReads.append(taken[0])
                state.tally.boundedReads.append(taken[1])
                state.tally.openReads.append(taken[2])
            }
        }
    }

    private func askBounded(_ key: Int) async {
        await withTaskGroup(of: Void.self) { [source] group in
            group.addTask { _ = try? await source.fetch(key) }
            group.addTask { try? await Task.rest(for: .seconds(1)) }
            await group.next()
            group.cancelAll()
        }
    }

    private var isOpen: Bool { redis.outageStatistics.breakers[.read]?.state == .open }
}
