import ArgumentParser
import FleetChecker
import Foundation
import Strata
import StrataRedis
import StrataTesting

/// `load soak`: a fleet at work while things go wrong, and the checker's verdict on what it read.
struct SoakLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract:
            "A fleet reads, writes and removes while servers, links and instances fail; then its reads are judged.",
        discussion: """
            The order of operations and faults follows from the seed; when exactly each happens is the machine's doing.
            Ends with status 1 when a read broke a promise, with the first ones in words on the standard error output.

            What is left out, and why. single: failover, pri-kill, pri-stop, migrate, since there is no second server. sentinel:
            migrate; frozen, frozen-1, frozen-h, reset and late-set, since Sentinels tell addresses that no proxy stands before.
            sentinel and cluster: srv-old, since replicas copy what comes back, and nothing tells that from what a failover may
            lose. On a cluster the faults on the way strike the proxy before a node, and with that all instances and the
            replication of that node.
            """
    )

    @Option(help: "How long the fleet works.")
    var seconds = 60
    @Option(help: "Repeats the choices of a run; random by default, and printed.")
    var seed = UInt64(UInt32.random(in: 0 ... .max))
    @Option(help: "Instances, each a process.")
    var processes = 8
    @Option(help: "Keys; the first are asked for most.")
    var keys = 1_000
    @Option(help: "Tasks in each process.")
    var tasks = 12
    @Option(help: "How long a task rests between bursts of operations, on average, in milliseconds.")
    var rest = 20
    @Option(help: "The link's ping interval and ping timeout, in milliseconds.")
    var ping = 1_000
    @Option(help: "How long values are fresh, in seconds.")
    var fresh = 10
    @Option(help: "Seconds of faults, then of calm, in turns.")
    var troubleSeconds = 20
    @Option(help: "How old a value may be when nothing has been wrong for a while, in milliseconds.")
    var calmBound = 1_000
    @Option(help: "How long a read may wait while nobody fetches its key and nothing has been wrong, in milliseconds.")
    var orphanWait = 1_000
    @Option(
        parsing: .upToNextOption,
        help: "What goes wrong and what the work has in it; srv-old, which is not among the default, widens the bound."
    )
    var faults: [SoakFaultList] = []
    @Option(parsing: .upToNextOption, help: "What of that is left out.")
    var without: [SoakFaultList] = []
    @Option(
        help: """
            One server; a primary with a replica and three Sentinels; or a cluster of three primaries with a replica each. \
            Failovers and slots that move are among the faults there.
            """
    )
    var topology = SoakTopology.single
    @Option(
        parsing: .upToNextOption,
        help: """
            Of which changes Redis tells the instances; several modes are given to them in turns. Where \
            some choose, the load changes so that they change theirs.
            """
    )
    var tracking: [TrackingMode] = [.broadcast]
    @Flag(help: "Instances and servers speak TLS.")
    var tls = false
    @Flag(help: "Instances have a user with the rights that `stratactl acl` prints, and no others.")
    var acl = false
    @Option(help: "Where the histories are kept; by default they are removed in the end, unless a promise was broken.")
    var folder: String?

    func run() async throws {
        let place = folder ?? NSTemporaryDirectory() + "strata-soak-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        var isKept = folder != nil
        defer { if !isKept { try? FileManager.default.removeItem(atPath: place) } }
        Measurement(name: "soak.seed", value: Double(seed), unit: "1").print()
        let settings = SoakSettings(
            seed: seed,
            folder: place,
            keys: keys,
            tasks: tasks,
            restMilliseconds: rest,
            pingMilliseconds: ping,
            freshSeconds: fresh,
            instances: processes,
            faults: chosen,
            topology: topology,
            tracking: tracking
        )
        guard try await soak(settings) else {
            isKept = true
            print("the histories are in \(place)")
            throw ExitCode(1)
        }
    }

    /// What is to go wrong and to be in the work.
    private var chosen: [SoakFault] {
        let left = Set(without.flatMap(\.faults))
        let wanted =
            faults.isEmpty ? SoakFault.allCases.filter { $0 != .serverSetBack } : faults.flatMap(\.faults)
        return wanted.filter { !left.contains($0) && $0.happens(on: topology) }
    }

    private func soak(_ settings: SoakSettings) async throws -> Bool {
        let run = try VersionedRun(keyCount: SoakRoom.totalKeys(settings), seed: settings.seed)
        _ = try VersionedSource(creating: settings.sourcePath, run: run)
        let recorder = try HistoryRecorder(creating: settings.folder + "/driver.history", run: run)
        return try await SoakServers.with(settings, encrypted: tls, withUser: acl) { servers in
            let fleet = SoakFleet(settings, servers)
            let beats = SoakBeats(servers, fleet, recorder, settings)
            let trouble = SoakTrouble(servers, fleet, beats, recorder, settings)
            let watch = Task { await beats.run() }
            let tides = SoakTides(servers, settings).map { tides in Task { await tides.run() } }
            defer {
                watch.cancel()
                tides?.cancel()
            }
            // While all processes start at once on a machine with few processors, time says nothing.
            try await recorder.fault("start") { try await fleet.start() }
            let end = ContinuousClock.now + .seconds(seconds)
            var turn: UInt64 = 0
            while .now < end {
                let calm = SoakVerdict.recovery(settings) + .seconds(2)
                let stop = min(ContinuousClock.now + .seconds(troubleSeconds), end - calm)
                await trouble.run(until: stop, seed: settings.seed &+ turn &* 15_485_863)
                try await Task.rest(for: calm)
                try await fleet.sweep()
                for refusal in await servers.refusals() { trouble.refuse(refusal) }
                turn += 1
            }
            try await fleet.finish()
            let verdict = SoakVerdict(
                settings,
                calmBound: .milliseconds(calmBound),
                orphanWait: .milliseconds(orphanWait)
            )
            return try await verdict.print(trouble, beats, fleet.tally, crashes: fleet.crashes)
        }
    }
}
