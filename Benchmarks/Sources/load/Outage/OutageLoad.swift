import ArgumentParser
import FleetChecker
import Foundation
import Strata
import StrataRedis
import StrataTesting

/// `load outage`: a fleet at work while its server fails in every way, one after the other.
struct OutageLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outage",
        abstract: "A fleet reads and removes while its server stands still, dies, restarts, fills up or refuses.",
        discussion: """
            Ends with status 1 when a reader got an error, or a read broke a promise.
            """
    )

    @Option(help: "Instances, each a process.")
    var processes = 8
    @Option(help: "How long each fault lasts, in seconds.")
    var seconds = 5
    @Option(help: "Keys; the first are asked for most.")
    var keys = 2_000
    @Option(help: "Tasks in each process.")
    var tasks = 8
    @Option(help: "How long a task rests between two operations, on average, in milliseconds.")
    var rest = 20
    @Option(help: "Repeats the choices of a run.")
    var seed = UInt64(UInt32.random(in: 0 ... .max))
    @Option(parsing: .upToNextOption, help: "The faults.")
    var faults = OutageFault.allCases

    func run() async throws {
        let folder = NSTemporaryDirectory() + "strata-outage-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var settings = SoakSettings(
            seed: seed,
            folder: folder,
            keys: keys,
            tasks: tasks,
            restMilliseconds: rest,
            pingMilliseconds: 1_000,
            freshSeconds: 60,
            instances: processes
        )
        settings.keyspace = "outage"
        let isClean = try await measure(settings)
        guard isClean else { throw ExitCode(1) }
    }

    private func measure(_ settings: SoakSettings) async throws -> Bool {
        let run = try VersionedRun(keyCount: settings.keys + OutageTraffic.sampledKeys, seed: settings.seed)
        _ = try VersionedSource(creating: settings.sourcePath, run: run)
        let recorder = try HistoryRecorder(creating: settings.folder + "/driver.history", run: run)
        let configuration = RedisServer.Configuration(directives: ["appendonly yes", "appendfsync no"])
        return try await RedisServer.withServer(configuration) { server in
            var members: [Member<OutageOrder, OutageAnswer>] = []
            for number in 0..<settings.instances {
                let arguments = ["outage-instance", "--settings", try settings.argument, "--number", "\(number)"]
                members.append(try await Member(arguments, url: server.url))
            }
            for member in members { _ = try await member.answer() }
            try await Task.rest(for: .seconds(2))
            var all = OutageTally()
            for fault in faults {
                all.add(try await cause(fault, server, members, recorder))
                try await Task.rest(for: SoakVerdict.recovery(settings) + .seconds(1))
            }
            for member in members { try await member.send(.finish) }
            for member in members { _ = try await member.answer() }
            for member in members { await member.stop() }
            report("outage", all)
            let report = try judge(settings)
            print("outage.worst_staleness_ms", report.worstStaleness / .milliseconds(1), "ms", "at most 3005 ms")
            print("outage.violations", Double(report.violations), "1", "none")
            // Also between the faults, whose tallies are not told.
            print("outage.failed_gets", Double(report.totals.failedGets), "1", "none")
            if !report.isClean { note("\(report)") }
            return report.isClean && all.errors.isEmpty && report.totals.failedGets == 0
        }
    }

    /// Causes a fault under load; returns what the fleet has counted from its beginning until all is as before.
    private func cause(
        _ fault: OutageFault,
        _ server: RedisServer,
        _ members: [Member<OutageOrder, OutageAnswer>],
        _ recorder: HistoryRecorder
    ) async throws -> OutageTally {
        for member in members { try await member.send(.begin) }
        let begin = ContinuousClock.now
        try await recorder.fault(fault.rawValue) { try await fault.cause(at: server, for: .seconds(seconds)) }
        for member in members { try await member.send(.recover) }
        var recoveries: [Double] = []
        for member in members {
            guard case .recovered(let time?) = try await member.answer() else {
                throw Member<OutageOrder, OutageAnswer>.Failure(description: "no recovery from \(fault.rawValue)")
            }
            recoveries.append(time)
        }
        let name = "outage.\(fault.rawValue)"
        print("\(name).time_to_recover_ms", recoveries.max() ?? 0, "ms")
        for member in members { try await member.send(.tell) }
        var tally = OutageTally()
        for member in members {
            guard case .told(let counted) = try await member.answer() else { continue }
            tally.add(counted)
        }
        let length = (ContinuousClock.now - begin) / .seconds(1)
        print("\(name).fetches_per_second", Double(tally.fetches) / length, "1/s", cap)
        print("\(name).slowest_read_ms", tally.slowest / 1_000, "ms", "a budget of 500 ms and the source")
        report(name, tally)
        return tally
    }

    private func report(_ name: String, _ tally: OutageTally) {
        print("\(name).gets", Double(tally.gets), "1")
        print("\(name).caller_errors", Double(tally.errors.values.reduce(0, +)), "1", "none")
        print("\(name).failed_changes", Double(tally.failedChanges), "1")
        print("\(name).most_fetches_at_once", Double(tally.mostFetches), "1", "\(LeaseOptions().fetchLimit) a process")
        for (error, count) in tally.errors { note("\(name): \(count) × \(error)") }
        guard !tally.openReads.isEmpty else { return }
        for share in [0.5, 0.99] {
            let bare = tally.bareReads.quantile(share)
            let text = "\(Int(bare)) us of a task that asks the source, \(tally.openReads.count) times"
            let label = "us.p\(Int(share * 100))"
            print("\(name).open_breaker_added_\(label)", tally.openReads.quantile(share) - bare, "us", text)
            print("\(name).bounded_by_hand_added_\(label)", tally.boundedReads.quantile(share) - bare, "us", text)
        }
    }

    /// Fetches without a lease that could be made at most.
    private var cap: String {
        let each = Double(LeaseOptions().fetchLimit) / (OutageTraffic.sourceDelay / .seconds(1))
        return "\(Int(each) * processes) a second by the limit of fetches at once"
    }

    private func judge(_ settings: SoakSettings) throws -> StalenessReport {
        let files = try FileManager.default.contentsOfDirectory(atPath: settings.folder)
            .filter { $0.hasSuffix(".history") }
            .map { settings.folder + "/" + $0 }
        let faulty = settings.trustBound + .milliseconds(5)
        var bounds = StalenessBounds(normal: StalenessBound(fleet: .seconds(1)))
        bounds.recovery = SoakVerdict.recovery(settings)
        bounds.duringFaults = StalenessBound(fleet: faulty, own: .zero)
        return try StalenessChecker(bounds: bounds).check(History(files: files.sorted()))
    }

    private func print(_ name: String, _ value: Double, _ unit: String, _ comparedTo: String? = nil) {
        Measurement(name: name, value: value, unit: unit, comparedTo: comparedTo).print()
    }

    private func note(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}
