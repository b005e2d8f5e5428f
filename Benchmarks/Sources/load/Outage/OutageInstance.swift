import ArgumentParser
import FleetChecker
import StrataRedis

/// One process of `load outage`.
struct OutageInstance: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outage-instance",
        abstract: "One process of `load outage`; started by that.",
        shouldDisplay: false
    )

    @Option var settings: String
    @Option var number: UInt16

    func run() async throws {
        let settings = try SoakSettings(argument: settings)
        let run = try VersionedSource(opening: settings.sourcePath).run
        let recorder = try HistoryRecorder(creating: "\(settings.folder)/\(number).history", run: run)
        let log = recorder.instance(number)
        let traffic = try OutageTraffic(settings, log: log, url: try Orders.url())
        let presence = log.begin()
        try Orders.answer(OutageAnswer.ready)
        let work = Task { await traffic.run(seed: settings.seed &+ UInt64(number) &* 1_000_003) }
        for await order in Orders.all(OutageOrder.self) {
            switch order {
            case .begin: _ = traffic.take()
            case .recover: try Orders.answer(OutageAnswer.recovered(await traffic.recovery(within: .seconds(30))))
            case .tell: try Orders.answer(OutageAnswer.told(traffic.take()))
            case .finish:
                traffic.end()
                await work.value
                presence.end()
                try Orders.answer(OutageAnswer.told(traffic.take()))
            }
        }
    }
}
