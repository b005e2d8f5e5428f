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
        let pause = Duration.milliseconds(fetchMilliseconds)
        let cache = MemoryLevel<String, String>(limit: .entries(10_000))
            .compose(
                level.fetching { key in
                    fetches.wrappingAdd(1, ordering: .relaxed)
                    try await Task.rest(for: pause)
                    return "value of \(key)"
                }
            )
        let byHand = FetchByHand(try RedisClient(try Orders.url()), processes: processes, pause: pause)
        let changes = level.changes()
        try await redis.ping()
        for await change in changes where change == .listening { break }
        try Orders.answer(HerdResult())
        for await round in Orders.all(HerdRound.self) {
            let before = fetches.load(ordering: .relaxed)
            let start = MonotonicInstant(nanoseconds: round.start)
            await start.reached()
            var result = HerdResult()
            await withTaskGroup(of: (end: MonotonicInstant, failed: Bool).self) { group in
                for _ in 0..<tasks {
                    group.addTask {
                        switch round.kind {
                        case .cache:
                            let key = "round-\(round.number)"
                            let value = try? await cache.get(key)
                            return (.now, value != "value of \(key)")
                        case .byHand:
                            let value = await byHand.get(round.number)
                            return (.now, value != "value of round-\(round.number)")
                        case .sleep:
                            try? await Task.rest(for: pause)
                            return (.now, false)
                        }
                    }
                }
                for await (end, failed) in group {
                    result.last = max(result.last, end.nanoseconds - round.start)
                    if failed { result.failures += 1 }
                }
            }
            result.fetches = fetches.load(ordering: .relaxed) - before
            try Orders.answer(result)
        }
    }
}
