import ArgumentParser
import Foundation
import Strata
import StrataTesting

/// `load restart`: instances of a service under a steady load are replaced one after the other.
struct RestartLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restart",
        abstract: "A rolling restart under a Zipf load: hits in memory and fetches of the first ten seconds.",
        discussion: """
            Each instance ends by SIGTERM and writes its memory to a file; its successor reads it back. The same with memory that
            is filled from the other instances, and with one that begins cold. Ends with status 1 when a read failed.
            """
    )

    @Option(help: "How many processes there are.")
    var processes = 4
    @Option(help: "How many keys there are.")
    var keys = 50_000
    @Option(help: "How many entries the memory of each process holds.")
    var entries = 10_000
    @Option(help: "Reads a second in each process.")
    var rate = 1_500
    @Option(help: "The exponent of Zipf's law.")
    var exponent = 1.0
    @Option(help: "How long a fetch takes, in milliseconds.")
    var fetchMilliseconds = 20
    @Option(help: "How long values are fresh, in seconds.")
    var lifetimeSeconds = 120
    @Option(help: "Seconds before the first restart.")
    var warmup = 60
    @Option(help: "Seconds that are counted before and after each restart.")
    var span = 10
    @Option(parsing: .upToNextOption, help: "How processes begin: hibernate, fleet, cold.")
    var ways = RestartWay.allCases

    private typealias Process = Member<RestartOrder, RestartAnswer>

    func run() async throws {
        for way in ways { try await measure(way) }
    }

    private func measure(_ way: RestartWay) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "strata-restart-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await RedisServer.withServer { server in
            func begin(_ number: Int) async throws -> (Process, RestartAnswer) {
                let arguments = [
                    "restart-instance", "--way", way.rawValue, "--file", folder.appending(path: "\(number)").path,
                    "--keys", "\(keys)", "--entries", "\(entries)", "--rate", "\(rate)", "--exponent", "\(exponent)",
                    "--fetch-milliseconds", "\(fetchMilliseconds)", "--lifetime-seconds", "\(lifetimeSeconds)",
                ]
                let process = try await Process(arguments, url: server.url)
                return (process, try await process.answer())
            }
            var members: [Process] = []
            for number in 0..<processes { members.append(try await begin(number).0) }
            try await Task.rest(for: .seconds(warmup))
            var restarts: [Restart] = []
            for number in 0..<processes {
                let steady = try await count(members)
                try members[number].process.signal(SIGTERM)
                let ended = try await members[number].answer()
                _ = try await members[number].process.waitForExit()
                let (process, ready) = try await begin(number)
                members[number] = process
                let first = try await count(members)
                restarts.append(
                    Restart(
                        steady: steady[number],
                        first: first[number],
                        allBefore: steady.reduce(into: RestartAnswer(kind: .counts)) { $0.add($1) },
                        allAfter: first.reduce(into: RestartAnswer(kind: .counts)) { $0.add($1) },
                        ended: ended,
                        ready: ready
                    )
                )
            }
            for member in members { await member.stop() }
            report(way, restarts)
            let failures = restarts.reduce(0) { $0 + $1.allBefore.failures + $1.allAfter.failures }
            guard failures == 0 else { throw ExitCode(1) }
        }
    }

    /// What was counted before and after one restart.
    private struct Restart {
        var steady: RestartAnswer
        var first: RestartAnswer
        var allBefore: RestartAnswer
        var allAfter: RestartAnswer
        var ended: RestartAnswer
        var ready: RestartAnswer
    }

    /// Lets all count at the same time.
    private func count(_ members: [Process]) async throws -> [RestartAnswer] {
        for member in members { try await member.send(RestartOrder(milliseconds: span * 1_000)) }
        var answers: [RestartAnswer] = []
        for member in members { answers.append(try await member.answer()) }
        return answers
    }

    private func report(_ way: RestartWay, _ restarts: [Restart]) {
        let name = way == .hibernate ? "restart" : "restart.\(way.rawValue)"
        func sum(_ field: KeyPath<RestartAnswer, Int>, of answer: KeyPath<Restart, RestartAnswer>) -> Double {
            Double(restarts.reduce(0) { $0 + $1[keyPath: answer][keyPath: field] })
        }
        func print(_ what: String, _ value: Double, _ unit: String, _ comparedTo: String? = nil) {
            Measurement(name: "\(name).\(what)", value: value, unit: unit, comparedTo: comparedTo).print()
        }
        let steady = sum(\.hits, of: \.steady) / sum(\.reads, of: \.steady)
        let first = sum(\.hits, of: \.first) / sum(\.reads, of: \.first)
        let before = "the same process's last \(span) s, \(restarts.count) restarts, same run"
        print("steady_hit_ratio", steady, "1")
        print("first\(span)s_hit_ratio", first, "1")
        print("first\(span)s_hit_ratio.ratio", first / steady, "1", before)
        print(
            "first\(span)s_hit_ratio.worst_ratio",
            restarts.map { $0.first.ratio / $0.steady.ratio }.min() ?? .nan,
            "1",
            before
        )
        // Values end all the time and some process fetches them anew, each as often as the others.
        let others =
            (sum(\.fetches, of: \.allAfter) - sum(\.fetches, of: \.first))
            / (sum(\.reads, of: \.allAfter) - sum(\.reads, of: \.first))
        print(
            "added_fetches.share",
            sum(\.fetches, of: \.first) / sum(\.reads, of: \.first) - others,
            "of the restarted process's reads",
            "fetches a read of the other processes in the same \(span) s"
        )
        let (fetchedBefore, fetchedAfter) = (sum(\.fetches, of: \.allBefore), sum(\.fetches, of: \.allAfter))
        // As many as were asked for before, by as many reads.
        let expected = fetchedBefore / sum(\.reads, of: \.allBefore) * sum(\.reads, of: \.allAfter)
        print("fetches.ratio", fetchedAfter / expected, "1", "fetches of all processes in the \(span) s before")
        print("fetches_per_second", fetchedBefore / Double(span * restarts.count), "1")
        print("failures", sum(\.failures, of: \.allBefore) + sum(\.failures, of: \.allAfter), "1")
        print("begin_ms.p50", restarts.map(\.ready.milliseconds).median, "ms")
        print("begin_entries.p50", restarts.map { Double($0.ready.entries) }.median, "1")
        guard way == .hibernate else { return }
        print("end_ms.p50", restarts.map(\.ended.milliseconds).median, "ms")
        print("file_bytes.p50", restarts.map { Double($0.ended.bytes) }.median, "bytes")
    }
}
