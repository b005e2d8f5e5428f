import ArgumentParser
import Strata
import StrataRedis
import Synchronization

/// One process of `load herd`.
struct HerdInstance: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "herd-instance",
        abstract: "One process of `load herd`; started by that.",
        shouldDisplay: false
    )

    @Option var keyspace: String
    @Option var processes: Int
    @Option var tasks: Int
    @Option var fetchMilliseconds: Int

    func run() async throws {
        let redis = try RedisClient(try Orders.url())
        let level = RedisLevel<String, String>(redis, keyspace: Keyspace(keyspace))
        let fetches = Atomic<Int>(0)
        let fetchTimes = Mutex<(began: Int64, ended: Int64)?>(nil)
        let pause = Duration.milliseconds(fetchMilliseconds)
        let fetch: @Sendable (String) async throws -> String = { key in
            fetches.wrappingAdd(1, ordering: .relaxed)
            let began = MonotonicInstant.now.nanoseconds
            try await Task.rest(for: pause)
            fetchTimes.withLock { $0 = (began, MonotonicInstant.now.nanoseconds) }
            return "value of \(key)"
        }
        let cache = MemoryLevel<String, String>(limit: .entries(10_000))
            .compose(level.fetching { try await fetch($0) })
        let byHand = FetchByHand(try RedisClient(try Orders.url()), processes: processes, fetch)
        let changes = level.changes()
        try await redis.ping()
        for await change in changes where change == .listening { break }
        try Orders.answer(HerdResult())
        for await round in Orders.all(HerdRound.self) {
            let before = fetches.load(ordering: .relaxed)
            let start = MonotonicInstant(nanoseconds: round.start)
            let cpu = ProcessorTime.microseconds
            await start.reached()
            var result = HerdResult()
            await withTaskGroup(of: (began: MonotonicInstant, end: MonotonicInstant, failed: Bool).self) { group in
                for _ in 0..<tasks {
                    group.addTask {
                        let began = MonotonicInstant.now
                        switch round.kind {
                        case .cache:
                            let key = "round-\(round.number)"
                            let value = try? await cache.get(key)
                            return (began, .now, value != "value of \(key)")
                        case .byHand:
                            let value = await byHand.get(round.number)
                            return (began, .now, value != "value of round-\(round.number)")
                        case .sleep:
                            try? await Task.rest(for: pause)
                            return (began, .now, false)
                        }
                    }
                }
                for await (began, end, failed) in group {
                    result.allBegan = max(result.allBegan, began.nanoseconds - round.start)
                    result.first = min(result.first, end.nanoseconds - round.start)
                    result.last = max(result.last, end.nanoseconds - round.start)
                    if failed { result.failures += 1 }
                }
            }
            if let times = fetchTimes.withLock({ $0.take() }) {
                (result.fetchBegan, result.fetchEnded) = (times.began - round.start, times.ended - round.start)
            }
            result.fetches = fetches.load(ordering: .relaxed) - before
            result.processorTime = Int64(ProcessorTime.microseconds - cpu) * 1000
            try Orders.answer(result)
        }
    }
}
