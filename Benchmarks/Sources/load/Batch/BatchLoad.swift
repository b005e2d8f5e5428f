import ArgumentParser
import Strata
import StrataRedis
import StrataTesting

/// `load batch`: fifty keys, half in memory, a quarter in Redis, a quarter missing; by one call, by fifty, by hand, by
/// plain MGET.
///
/// And fifty that are all in Redis, by one call and by hand.
struct BatchLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "batch",
        abstract: """
            A read of 50 keys through all levels, of which some or all are in Redis, beside 50 single reads, the same by \
            hand, and plain MGET: time and commands.
            """
    )

    @Option(help: "Rounds; the median counts.")
    var rounds = 200
    @Option(help: "Keys of a batch.")
    var keys = 50
    @Option(parsing: .upToNextOption, help: "How they are asked for; plain_mget is what the others are compared with.")
    var ways = Way.allCases

    /// How the keys are asked for.
    enum Way: String, CaseIterable, ExpressibleByArgument {
        case batch
        case together
        case oneByOne = "one_by_one"
        /// By one call, and all of them are in Redis, none in memory.
        case warm
        /// The first and the last of these by hand, see ``BatchByHand``.
        case byHand = "by_hand"
        case warmByHand = "warm_by_hand"
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
                for way in ways {
                    let names = (0..<keys).map { "\(way.rawValue)-\(round)-\($0)" }
                    try await prepare(way, names, cache, redis)
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
            for way in ways {
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

    /// Puts half of the keys into memory, a quarter into Redis alone; or all into Redis alone.
    private func prepare(_ way: Way, _ names: [String], _ cache: Cache, _ redis: RedisClient) async throws {
        let (memory, level) = (cache.upper, cache.lower)
        let (inMemory, inRedis) =
            switch way {
            case .batch, .together, .oneByOne, .byHand:
                (names.prefix(keys / 2), names.dropFirst(keys / 2).prefix(keys / 4))
            case .warm, .warmByHand, .plainMGET: (names.prefix(0), names[...])
            }
        for name in inMemory { try await memory.set("value of \(name)", for: name) }
        try await withThrowingDiscardingTaskGroup { group in
            for name in inRedis {
                group.addTask {
                    switch way {
                    case .byHand, .warmByHand, .plainMGET:
                        try await redis.set(RedisKey(name), Array("value of \(name)".utf8))
                    case .batch, .together, .oneByOne, .warm: try await level.set("value of \(name)", for: name)
                    }
                }
            }
        }
    }

    private func ask(_ way: Way, _ names: [String], _ cache: Cache, _ redis: RedisClient) async throws {
        switch way {
        case .batch, .warm: _ = try await cache.get(names)
        case .together:
            try await withThrowingDiscardingTaskGroup { group in
                for name in names { group.addTask { _ = try await cache.get(name) } }
            }
        case .oneByOne: for name in names { _ = try await cache.get(name) }
        case .byHand, .warmByHand: _ = try await BatchByHand(memory: cache.upper, redis: redis).get(names)
        case .plainMGET: _ = try await redis.get(names.map { RedisKey($0) })
        }
    }

    private func processed(_ redis: RedisClient) async throws -> Double {
        let info = try await redis.info("stats")
        return info["total_commands_processed"].flatMap { Double($0) } ?? .nan
    }
}
