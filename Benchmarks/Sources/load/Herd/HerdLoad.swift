import ArgumentParser
import Strata
import StrataTesting

/// `load herd`: many processes ask for the same cold key at the same instant.
struct HerdLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "herd",
        abstract: "Processes of many tasks ask for one cold key at once; beside the same by hand, and a bare sleep.",
        discussion: "Ends with status 1 when a key was fetched twice by the cache, or a caller got an error."
    )

    @Option(parsing: .upToNextOption, help: "How many processes there are.")
    var processes = [4, 16]
    @Option(help: "Tasks in each process.")
    var tasks = 64
    @Option(help: "Rounds with a cold key each, and as many with a bare sleep.")
    var rounds = 200
    @Option(help: "How long the fetch takes, in milliseconds.")
    var fetchMilliseconds = 50

    func run() async throws {
        for count in processes { try await measure(count) }
    }

    private func measure(_ count: Int) async throws {
        try await RedisServer.withServer { server in
            let arguments = [
                "herd-instance", "--keyspace", "herd", "--processes", "\(count)", "--tasks", "\(tasks)",
                "--fetch-milliseconds", "\(fetchMilliseconds)",
            ]
            var members: [Member<HerdRound, HerdResult>] = []
            for _ in 0..<count { members.append(try await Member(arguments, url: server.url)) }
            for member in members { _ = try await member.answer() }
            // The first rounds pay for what is loaded and allocated once.
            for number in 0..<5 {
                for kind in [HerdRound.Kind.cache, .byHand, .sleep] { _ = try await round(kind, -1 - number, members) }
            }
            var cache: [HerdResult] = []
            var byHand: [HerdResult] = []
            var sleep: [HerdResult] = []
            for number in 0..<rounds {
                cache.append(try await round(.cache, number, members))
                byHand.append(try await round(.byHand, number, members))
                sleep.append(try await round(.sleep, number, members))
            }
            for member in members { await member.stop() }
            report("herd.procs\(count)", cache, byHand, sleep)
            reportCourse("herd.procs\(count)", cache)
            reportCourse("herd.procs\(count).by_hand", byHand)
            guard cache.allSatisfy({ $0.fetches == 1 }), (cache + byHand).allSatisfy({ $0.failures == 0 }) else {
                throw ExitCode(1)
            }
        }
    }

    /// One round: all processes begin at the same instant, far enough ahead that each has heard of it.
    private func round(
        _ kind: HerdRound.Kind,
        _ number: Int,
        _ members: [Member<HerdRound, HerdResult>]
    ) async throws -> HerdResult {
        let start = MonotonicInstant.now.advanced(by: .milliseconds(20 + 2 * members.count))
        let order = HerdRound(kind: kind, number: number, start: start.nanoseconds)
        for member in members { try await member.send(order) }
        var total = HerdResult()
        for member in members { total.add(try await member.answer()) }
        return total
    }

    private func report(_ name: String, _ cache: [HerdResult], _ byHand: [HerdResult], _ sleep: [HerdResult]) {
        let fetches = cache.map { Double($0.fetches) }
        let last = cache.map { Double($0.last) / 1e6 }
        let hand = byHand.map { Double($0.last) / 1e6 }
        let bare = sleep.map { Double($0.last) / 1e6 }
        let comparedTo = "the last caller after a bare sleep of \(fetchMilliseconds) ms, same quantile, same run"
        Measurement(name: name + ".fetches_per_round.max", value: fetches.max() ?? .nan, unit: "1").print()
        Measurement(
            name: name + ".fetches_per_round.mean",
            value: fetches.reduce(0, +) / Double(max(1, fetches.count)),
            unit: "1"
        )
        .print()
        for (label, share) in [("p50", 0.5), ("p99", 0.99)] {
            for (what, times) in [("last_caller", last), ("by_hand", hand)] {
                Measurement(
                    name: "\(name).\(what)_added_ms.\(label)",
                    value: times.quantile(share) - bare.quantile(share),
                    unit: "ms",
                    comparedTo: comparedTo
                )
                .print()
            }
            Measurement(name: name + ".bare_sleep_ms." + label, value: bare.quantile(share), unit: "ms").print()
        }
        let failures = (cache + byHand).reduce(0) { $0 + $1.failures }
        Measurement(name: name + ".failures", value: Double(failures), unit: "1").print()
    }

    /// Where the time of a round goes, all processes together.
    private func reportCourse(_ name: String, _ rounds: [HerdResult]) {
        let steps: [(String, (HerdResult) -> Int64)] = [
            ("last_caller_began", { $0.allBegan }),
            ("fetch_began", { $0.fetchBegan ?? 0 }),
            ("first_caller_after_fetch", { $0.first - ($0.fetchEnded ?? 0) }),
            ("last_caller_after_fetch", { $0.last - ($0.fetchEnded ?? 0) }),
            ("processor_time", { $0.processorTime }),
        ]
        for (step, time) in steps {
            let median = rounds.map { Double(time($0)) / 1e6 }.median
            Measurement(name: "\(name).\(step)_ms.p50", value: median, unit: "ms").print()
        }
    }
}
