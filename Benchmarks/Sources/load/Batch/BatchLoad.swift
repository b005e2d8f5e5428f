import ArgumentParser
import Strata
import StrataRedis
import StrataTesting

/// `load batch`: fifty keys, half in memory, a quarter in Redis, a quarter missing; by one call, by fifty, by plain MGET.
struct BatchLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "batch",
        abstract:
            "A read of 50 keys through all levels beside 50 single reads and beside plain MGET: time and commands."
    )

    @Option(help: "Rounds; the median counts.")
    var rounds = 200
    @Option(help: "Keys of a batch.")
    var keys = 50

    /// How the keys are asked for.
    private enum Way: String, CaseIterable {
        case batch
        case together
        case oneByOne = "one_by_one"
        case plainMGET = "plain_mget"
    }

    private typealias Level = FetchingLevel<String, String>
    private typealias Cache = Composed<MemoryLevel<String, String>, Level>

    func run() async throws {
        try await RedisServer.withServer { server in
            let redis = try RedisClient(server.url)
            let cache = MemoryLevel<String, String>(limit: .entries(4 * keys))
                .compose(
                    RedisLevel<String, String>(redis, keyspace: "batch", codec: .text)
                        .fetchingSeveral { keys in Dictionary(keys.map { ($0, $0) }) { first, _ in first } }
                )
            var times: [Way: [Double]] = [:]
            var commands: [Way: [Double]] = [:]
            for round in 0..<(rounds + 20) {
                for way in Way.allCases {
                    let names = (0..<keys).map { "\(way.rawValue)-\(round)-\($0)" }
                    try await prepare(names, cache)
                    let before = try await processed(redis)
                    let start = ContinuousClock.now
                    try await ask(way, names, cache, redis)
                    let time = start.duration(to: .now)
                    let after = try await processed(redis)
                    guard round >= 20 else { continue }
                    times[way, default: []].append(Double(time.components.attoseconds) / 1e12)
                    commands[way, default: []].append(after - before - 1)
                }
            }
            let yardstick = times[.plainMGET]?.median ?? .nan
            for way in Way.allCases {
                let time = times[way]?.median ?? .nan
                Measurement(name: "batch.\(way.rawValue).us", value: time, unit: "µs").print()
                Measurement(
                    name: "batch.\(way.rawValue).ratio",
                    value: time / yardstick,
                    unit: "1",
                    comparedTo: "MGET of as many values that are there, same run"
                )
                .print()
                let count = commands[way]?.median ?? .nan
                Measurement(name: "batch.\(way.rawValue).commands", value: count, unit: "1").print()
            }
            await redis.shutDown()
        }
    }

    /// Puts half of the keys into memory and Redis, a quarter into Redis alone.
    private func prepare(_ names: [String], _ cache: Cache) async throws {
        let (memory, level) = (cache.upper, cache.lower)
        for name in names.prefix(keys / 2) { try await memory.set("value of \(name)", for: name) }
        try await withThrowingDiscardingTaskGroup { group in
            for name in names.dropFirst(keys / 2).prefix(keys / 4) {
                group.addTask { try await level.set("value of \(name)", for: name) }
            }
        }
    }

    private func ask(_ way: Way, _ names: [String], _ cache: Cache, _ redis: RedisClient) async throws {
        switch way {
        case .batch: _ = try await cache.get(names)
        case .together:
            try await withThrowingDiscardingTaskGroup { group in
                for name in names { group.addTask { _ = try await cache.get(name) } }
            }
        case .oneByOne: for name in names { _ = try await cache.get(name) }
        case .plainMGET: _ = try await redis.get(names.map { RedisKey($0) })
        }
    }

    private func processed(_ redis: RedisClient) async throws -> Double {
        let info = try await redis.info("stats")
        return info["total_commands_processed"].flatMap { Double($0) } ?? .nan
    }
}
