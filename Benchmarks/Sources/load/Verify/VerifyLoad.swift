import ArgumentParser
import FleetChecker
import Foundation
import Strata
import StrataRedis
import StrataTesting

/// `load verify`: whether the monitor of consistency finds what is planted, and nothing else.
struct VerifyLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "A monitor watches fleets in which nothing is wrong, links fail, or protections are taken out.",
        discussion: """
            Each instance is a process that reads and changes keys. What it reads is recorded, and judged by the checker of \
            the soak, which knows nothing of the monitor: both have to name the same keys of the same instances.

            calm: nothing is wrong. faults: links freeze and break; nothing may be reported beyond the bound for which memory \
            trusts itself. planted: an instance that does not listen, notices that are taken from a link, and memory that is \
            written by hand under the version that it had. Ends with status 1 unless verify.missed and verify.false are 0.
            """
    )

    enum Part: String, CaseIterable, ExpressibleByArgument {
        case calm
        case faults
        case planted
    }

    @Option(help: "How long a fleet works in each part, beside the planting.")
    var seconds = 20
    @Option(help: "Inconsistencies of each kind that are planted.")
    var planted = 6
    @Option(help: "Keys that the work changes.")
    var keys = 60
    @Option(help: "How long an instance rests between two changes, on average, in milliseconds.")
    var rest = 250
    @Option(help: "Repeats the choice of faults; random by default, and printed.")
    var seed = UInt64(UInt32.random(in: 0 ... .max))
    @Option(parsing: .upToNextOption, help: "Which parts.")
    var parts = Part.allCases

    func run() async throws {
        Measurement(name: "verify.seed", value: Double(seed), unit: "1").print()
        var verdicts: [VerifyVerdict] = []
        var isMeasured = true
        for part in parts {
            let (verdict, checks) = try await run(part)
            verdicts.append(verdict)
            // A monitor that has looked at nothing has found nothing.
            if checks < 10 * seconds { isMeasured = false }
            if part == .planted, verdict.planted.count < 2 * planted { isMeasured = false }
        }
        let missed = verdicts.map(\.missed.count).reduce(0, +)
        let unfounded = verdicts.map(\.unfounded.count).reduce(0, +)
        Measurement(name: "verify.missed", value: Double(missed), unit: "1").print()
        Measurement(name: "verify.false", value: Double(unfounded), unit: "1").print()
        if !isMeasured { tell("too little was checked or planted to say anything") }
        guard missed == 0, unfounded == 0, isMeasured else { throw ExitCode(1) }
    }

    private func run(_ part: Part) async throws -> (VerifyVerdict, checks: Int) {
        let folder = NSTemporaryDirectory() + "strata-verify-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let extra = keys..<keys + 5 * planted
        _ = try VersionedSource(
            creating: VerifyInstance.sourcePath(in: folder),
            run: try VersionedRun(keyCount: extra.upperBound, seed: seed)
        )
        let kinds: [VerifyFleet.Kind] =
            switch part {
            case .calm: Array(repeating: .init(), count: 3)
            case .faults: Array(repeating: .init(ping: 300, hasProxy: true), count: 3)
            case .planted: VerifyPlanting.kinds
            }
        // Memory trusts itself for three pings; then its link is made anew.
        let delay: Duration = part == .faults ? .seconds(3) : .seconds(1)
        var served: Set<VerifyCase> = []
        var found: [VerifyCase: Set<String>] = [:]
        var report: ConsistencyReport?
        var late = Duration.zero
        try await RedisServer.withServer { server in
            try await VerifyFleet.with(kinds, server, folder: folder, keys: keys, rest: rest, seed: seed) { fleet in
                try await VerifyWatch.with(server, instances: kinds.count, delay: delay) { watch in
                    try await fleet.orderAll(.work(true))
                    if part == .faults {
                        try await harm(fleet)
                    } else {
                        try await Task.rest(for: .seconds(seconds))
                    }
                    try await fleet.orderAll(.work(false))
                    let settling = delay + .milliseconds(1_500)
                    // What was in memory before the monitor knew its version is decided by one more change of its key.
                    try await Task.rest(for: settling)
                    for key in 0..<keys {
                        try await fleet.order(.change(key, .set), to: key % kinds.count)
                        try await Task.rest(for: .milliseconds(100))
                    }
                    if part == .planted {
                        let planting = VerifyPlanting(
                            fleet: fleet,
                            server: server,
                            keys: extra,
                            count: self.planted,
                            settling: settling
                        )
                        served.formUnion(try await planting.keep())
                        served.formUnion(try await planting.rob())
                    }
                    // The last changes are looked at, too, and the checker needs reads that come after its bound.
                    try await Task.rest(for: settling * 2)
                    try await fleet.orderAll(.finish)
                    (found, report, late) = (watch.found, watch.monitor.report, watch.late)
                }
            }
        }
        let verdict = try VerifyVerdict(folder, bound: delay + .seconds(1), found: found, planted: served)
        return (verdict, print(part, verdict, report, late: late))
    }

    /// Freezes and breaks the ways of instances, one at a time.
    private func harm(_ fleet: VerifyFleet) async throws {
        var random = SeededGenerator(seed: seed)
        let end = ContinuousClock.now + .seconds(seconds)
        while .now < end {
            guard let proxy = fleet.proxies.randomElement(using: &random) ?? nil else { return }
            switch Int.random(in: 0..<5, using: &random) {
            case 0: proxy.stall(.toClient)
            case 1: proxy.stall(.toServer)
            case 2: proxy.stall(.both)
            case 3: proxy.resetConnections()
            default: proxy.closeConnections()
            }
            try await Task.rest(for: .milliseconds(Int.random(in: 200...2_000, using: &random)))
            try proxy.heal()
            try await Task.rest(for: .milliseconds(Int.random(in: 200...2_000, using: &random)))
        }
    }

    /// - Returns: How many checks had a result.
    private func print(_ part: Part, _ verdict: VerifyVerdict, _ report: ConsistencyReport?, late: Duration) -> Int {
        func measure(_ name: String, _ value: Int) {
            Measurement(name: "verify.\(part).\(name)", value: Double(value), unit: "1").print()
        }
        guard let report, let counts = report.total.last else { return 0 }
        measure("checks", counts.checks)
        measure("undecided", counts.undecided)
        measure("silent", counts.silent)
        measure("left_out", report.leftOut)
        measure("abandoned", report.abandoned)
        Measurement(name: "verify.\(part).latest_look_ms", value: late / .milliseconds(1), unit: "ms").print()
        if part == .planted { measure("planted", verdict.planted.count) }
        measure("found", verdict.found.count)
        measure("found_by_checker", verdict.late.union(verdict.planted).count)
        for found in verdict.missed { tell("\(part): missed: \(found)") }
        for found in verdict.unfounded {
            tell("\(part): without cause: \(found), \(verdict.found[found, default: []].sorted())")
        }
        return counts.checks
    }

    private func tell(_ line: String) { FileHandle.standardError.write(Data((line + "\n").utf8)) }
}
