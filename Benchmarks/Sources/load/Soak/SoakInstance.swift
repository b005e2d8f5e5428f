import ArgumentParser
import Strata
import StrataRedis
import StrataTesting

/// One process of `load soak`.
struct SoakInstance: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak-instance",
        abstract: "One process of `load soak`; started by that.",
        shouldDisplay: false
    )

    @Option var settings: String
    @Option var number: UInt16
    /// How many processes had this number before.
    @Option var life: Int

    func run() async throws {
        let settings = try SoakSettings(argument: settings)
        let seed = settings.seed &+ UInt64(number) &* 1_000_003 &+ UInt64(life) &* 10_007
        let source = try SoakSource(settings, seed: seed)
        let recorder = try HistoryRecorder(
            creating: "\(settings.folder)/\(number)-\(life).history",
            run: source.versions.run
        )
        let log = recorder.instance(number)
        let redis = try RedisClient(try settings.configuration(url: try Orders.url()))
        let level = RedisLevel<Int, VersionedValue>(
            redis,
            keyspace: Keyspace(settings.keyspace),
            freshness: settings.freshness
        )
        let cache = MemoryLevel<Int, VersionedValue>(limit: .entries(2 * settings.keys))
            .compose(level.fetching(several: { await Self.fetch($0, log, source.versions) }))
        let traffic = SoakTraffic(settings, number: Int(number), cache: cache, source: source, log: log)
        let presence = log.begin()
        try Orders.answer(SoakAnswer.ready)
        let work = Task { await traffic.run(seed: seed) }
        for await order in Orders.all(SoakOrder.self) {
            switch order {
            case .sweep:
                await traffic.sweep()
                try Orders.answer(SoakAnswer.swept)
            case .finish:
                traffic.end()
                await work.value
                presence.end()
                try Orders.answer(SoakAnswer.finished(traffic.tally))
            }
        }
    }

    /// Fetches several keys at once, each with its own outcome and its tag.
    private static func fetch(
        _ asked: [Int: FetchContext<VersionedValue>],
        _ log: InstanceLog,
        _ source: VersionedSource
    ) async -> [Int: FetchOutcome<VersionedValue>] {
        await withTaskGroup(of: (Int, FetchOutcome<VersionedValue>).self) { group in
            for key in asked.keys {
                group.addTask {
                    do {
                        let value = try await log.fetch(key, from: source)
                        return (key, .found(value, tags: [SoakTags.name(of: key)]))
                    } catch {
                        return (key, .failure(error))
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }
}
