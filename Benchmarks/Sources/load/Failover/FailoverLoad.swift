import ArgumentParser
import Foundation
import StrataTesting

/// `load failover`: a client that finds its primary by Sentinels, while the primary dies, stands still or is replaced.
struct FailoverLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "failover",
        abstract: "How long writes are refused beyond Sentinel's own detection, and what a failover brings back.",
        discussion: """
            Each round has a primary, a replica and three Sentinels of its own. Ends with status 1 when a reader got an error,
            or a value came back for longer than values live.
            """
    )

    @Option(help: "Rounds of each fault.")
    var rounds = 5
    @Option(help: "Tasks that write.")
    var writers = 8
    @Option(help: "Tasks that read through a cache.")
    var readers = 8
    @Option(help: "Milliseconds that a primary has to be silent until a Sentinel holds it for down.")
    var downAfter = 1_000
    @Option(help: "Seconds that values live: the bound for what a failover brings back.")
    var lifetime = 20.0
    @Option(parsing: .upToNextOption, help: "The faults.")
    var faults = FailoverFault.allCases

    func run() async throws {
        var all = FailoverTally()
        for fault in faults {
            var tally = FailoverTally()
            for _ in 0..<rounds { tally.add(try await round(fault)) }
            report("failover.\(fault.rawValue)", tally)
            all.add(tally)
        }
        report("failover", all)
        guard all.errors.isEmpty, all.servedTooLong == 0 else { throw ExitCode(1) }
    }

    private func round(_ fault: FailoverFault) async throws -> FailoverTally {
        var configuration = RedisReplication.Configuration()
        configuration.downAfter = .milliseconds(downAfter)
        configuration.server.credentials = .init(password: "load")
        let set = try await RedisReplication.start(configuration)
        do {
            let round = try FailoverRound(set, lifetime: .seconds(lifetime))
            let tally = try await round.run(fault, writers: writers, readers: readers)
            try await set.stop()
            return tally
        } catch {
            try? await set.stop()
            throw error
        }
    }

    private func report(_ name: String, _ tally: FailoverTally) {
        func print(_ part: String, _ value: Double, _ unit: String, _ comparedTo: String? = nil) {
            Measurement(name: "\(name).\(part)", value: value, unit: unit, comparedTo: comparedTo).print()
        }
        for share in [0.5, 0.99] {
            let label = "p\(Int(share * 100))"
            print("write_gap_beyond_detection_ms.\(label)", tally.gapsBeyond.quantile(share), "ms", "at most 1000 ms")
            print("write_gap_ms.\(label)", tally.gaps.quantile(share), "ms", "detection by Sentinels included")
        }
        print("caller_errors", Double(tally.errors.values.reduce(0, +)), "1", "none of \(tally.reads) reads")
        let removals = "of \(tally.removals) acknowledged removals"
        print("lost_removals", Double(tally.lostRemovals), "1", removals)
        print("lost_removals_served_too_long", Double(tally.servedTooLong), "1", "none after \(lifetime) s")
        for (error, count) in tally.errors {
            FileHandle.standardError.write(Data("\(name): \(count) × \(error)\n".utf8))
        }
    }
}

/// What the rounds of `load failover` have counted.
struct FailoverTally: Sendable {
    /// The longest time without an accepted write, for each writer of each round, in milliseconds.
    var gaps: [Double] = []
    /// The part of it that lies behind the moment at which a Sentinel named the new primary.
    var gapsBeyond: [Double] = []
    var reads = 0
    /// Errors that readers got, by their text.
    var errors: [String: Int] = [:]
    /// Removals that the old primary had confirmed.
    var removals = 0
    /// How many of them the new one did not have.
    var lostRemovals = 0
    /// How many of those values were still served after their lifetime.
    var servedTooLong = 0

    mutating func add(_ other: FailoverTally) {
        gaps += other.gaps
        gapsBeyond += other.gapsBeyond
        reads += other.reads
        errors.merge(other.errors, uniquingKeysWith: +)
        removals += other.removals
        lostRemovals += other.lostRemovals
        servedTooLong += other.servedTooLong
    }
}
