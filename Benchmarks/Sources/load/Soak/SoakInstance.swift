import ArgumentParser
import FleetChecker
import Strata
import StrataRedis

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
        let name = "\(number)-\(life)"
        let recorder = try HistoryRecorder(
            creating: "\(settings.folder)/\(name).history",
            run: source.versions.run
        )
        let log = recorder.instance(number)
        let counters = SoakCounters()
        let configuration = try settings.configuration(url: try Orders.url(), of: Int(number))
        let redis = try RedisClient(configuration)
        let neighbour = settings.has(.refusals) ? try RedisClient(configuration) : nil
        let caches = SoakCaches(
            settings,
            number: Int(number),
            redis,
            neighbour: neighbour,
            source.versions,
            recorder,
            counters
        )
        let traffic = SoakTraffic(settings, number: Int(number), caches, source: source, log: log)
        let presence = log.begin()
        try Orders.answer(SoakAnswer.ready)
        let work = Task { await traffic.run(seed: seed) }
        let pulse = SoakPulse(redis, log, counters, SoakModeChanges(of: name, in: settings.folder))
        let beats = Task { await pulse.run() }
        for await order in Orders.all(SoakOrder.self) {
            switch order {
            case .sweep:
                await traffic.sweep()
                try Orders.answer(SoakAnswer.swept)
            case .setLate:
                // Beside: the driver may order more meanwhile.
                Task { try Orders.answer(await traffic.setLate()) }
            case .finish:
                traffic.end()
                await work.value
                pulse.end()
                await beats.value
                presence.end()
                try Orders.answer(SoakAnswer.finished(traffic.tally))
            }
        }
    }
}
