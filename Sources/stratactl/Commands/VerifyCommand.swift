import ArgumentParser
import Strata
import StrataRedis

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract:
            "Measures whether what instances have in memory is true: the nines of consistency by time after a change.",
        discussion: """
            Follows the changes in a keyspace, and some time after each asks the instances that run a FleetMember which \
            version their memory holds. What is proved to be older than what Redis holds is an inconsistency, with its \
            cause as far as the instance knows it. Ends after --seconds, or with Ctrl-C, and then prints the result. No \
            value is read. It needs a user for 'inspect'. Status 1 when there is an inconsistency.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var space: KeyspaceOptions

    @Option(
        help: ArgumentHelp(
            "Ends this many seconds after it begins to hear of changes; without it, with Ctrl-C.",
            valueName: "seconds"
        )
    )
    private var seconds: Double?

    @Option(help: ArgumentHelp("How many changes to follow in a second, 1 to 60.", valueName: "n"))
    private var rate = 20

    @Option(
        help: ArgumentHelp(
            "How long after a change to look: up to eight numbers of seconds, separated by commas, 0.001 to 3600.",
            valueName: "seconds"
        )
    )
    private var delays = "0.1,1,3,60"

    @Option(help: ArgumentHelp("How many instances to ask at most, 1 to 1000.", valueName: "n"))
    private var limit = 100

    /// How long the server may take until it tells of changes.
    private static let listenTimeout: Duration = .seconds(10)

    private func seconds(of text: String) throws -> [Double] {
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
        guard (1...8).contains(numbers.count),
            let delays = numbers as? [Double], delays.allSatisfy({ (0.001...3600).contains($0) })
        else { throw ValidationError("--delays are not up to eight numbers within 0.001 to 3600") }
        return delays
    }

    func validate() throws {
        guard seconds.map({ $0 > 0 && $0 <= 1e9 }) ?? true else {
            throw ValidationError("--seconds is not above 0 and within 1000000000")
        }
        guard (1...60).contains(rate) else { throw ValidationError("--rate is not within 1 to 60") }
        guard (1...1000).contains(limit) else { throw ValidationError("--limit is not within 1 to 1000") }
        _ = try seconds(of: delays)
    }

    func run() async throws {
        let keyspace = try space.resolved(connection)
        let delays = try seconds(of: delays).map { Duration.seconds($0) }
        let (rate, limit, format) = (rate, limit, output.format)
        let span = seconds.map { Duration.seconds($0) }
        let page = try await connection.withClient { redis in
            try await KeyspaceInspector(redis, keyspace).checkPresence()
            // Fails at once if the user may not ask, and learns which instances answer.
            let fleet = FleetInspector(redis, keyspace)
            let listed = try await fleet.instances(limit: limit).instances.filter { $0.record != nil }
            let first = try await fleet.figures(of: listed, hottest: 0, within: .seconds(1))
            let monitor = ConsistencyMonitor(
                redis,
                keyspace: keyspace,
                delays: delays,
                rate: rate,
                mostInstances: limit
            )
            Interruption.expect()
            var page = VerifyPage(keyspace)
            page.isAnswered = first.values.contains { if case .content = $0 { true } else { false } }
            let findings = monitor.inconsistencies(bufferingNewest: VerifyPage.mostFindings)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await monitor.run() }
                group.addTask { try await Self.wait(for: monitor, span) }
                try await group.next()
                group.cancelAll()
            }
            for await finding in findings { page.findings.append(finding) }
            page.report = monitor.report
            return page
        }
        try page.print(in: format)
        for line in page.remarks { StandardError.line("stratactl: \(line)") }
        if page.isInconsistent { throw Failure(.failed, nil) }
    }

    /// Returns a while after changes are told, or when the person wants it.
    private static func wait(for monitor: ConsistencyMonitor, _ span: Duration?) async throws {
        let deadline = MonotonicInstant.now.advanced(by: listenTimeout)
        while !monitor.report.isListening, !Interruption.isWanted {
            guard .now < deadline else {
                throw Failure(
                    .failed,
                    "changes are not reported: \(monitor.report.refusal ?? "the server did not agree to that in time")"
                )
            }
            try await Interruption.wait(until: MonotonicInstant.now.advanced(by: .milliseconds(50)))
        }
        try await Interruption.wait(until: span.map { MonotonicInstant.now.advanced(by: $0) } ?? .distantFuture)
    }
}
