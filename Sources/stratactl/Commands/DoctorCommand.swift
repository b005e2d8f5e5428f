import ArgumentParser
import StrataRedis

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Looks for what is wrong with a server or a keyspace, and says what to do.",
        discussion: """
            Version, role, memory, eviction, persistence, fragmentation, connections, tracking, permissions, clock, \
            latency, and the numbers of invalidations; of a cluster, each primary. Each finding is ok, a note, a \
            warning, or unknown because the server refused a command. Nothing is changed. The exit status is 1 when \
            there are warnings.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var prefix: PrefixOption

    @Argument(
        help: "The name of the keyspace whose numbers to check; without it, all of the prefix.",
        completion: KnownNames.keyspaces
    )
    var keyspace: String?

    @Flag(help: "Read the keyspace as it is printed: with \\xHH, \\u{…} and \\\\ as escapes.")
    var escaped = false

    @Option(
        name: .customLong("for"),
        help:
            "What the user of --url is for: cache, sweep, replicas, look, inspect or remove; without it, look and cache are tried."
    )
    private var purpose: AccessPurpose?

    @Option(help: ArgumentHelp("How many round trips to measure, 1 to 1000.", valueName: "n"))
    var count = 20

    func validate() throws {
        guard (1...1000).contains(count) else { throw ValidationError("--count is not within 1 to 1000") }
    }

    func run() async throws {
        let prefix = try prefix.resolved(connection)
        let keyspace = try keyspace.map { try KeyspaceOptions.keyspace($0, prefix: prefix, escaped: escaped) }
        let (place, diagnosis) = try await connection.withClient { redis in
            let facts = try await CacheFacts.take(
                redis,
                keyspace: keyspace,
                prefix: prefix,
                purpose: purpose?.rules,
                samples: count
            )
            // Which keyspaces there are is not known while a primary is silent.
            if let keyspace, facts.silent.isEmpty { try await KeyspaceInspector(redis, keyspace).checkPresence() }
            return (redis.configuration.place, Diagnosis(facts))
        }
        let findings = diagnosis.findings
        switch output.format {
        case .table: StandardOutput.fields(Self.lines(findings))
        case .plain: StandardOutput.cells(findings.map { [$0.severity.rawValue, $0.check, $0.line, $0.advice ?? ""] })
        case .json:
            try JSONDocument.print(
                Report(endpoint: place, findings: findings, warnings: diagnosis.warnings)
            )
        }
        guard diagnosis.warnings == 0 else {
            throw Failure(.failed, "\(Quantity.text(diagnosis.warnings, "warning")) about \(place)")
        }
    }

    private static func lines(_ findings: [Finding]) -> FieldList {
        var fields = FieldList()
        for finding in findings {
            fields.add(finding.severity.rawValue, "\(finding.check): \(finding.line)", finding.severity.tint)
            fields.add("", finding.advice.map { "→ \($0)" })
        }
        return fields
    }

    private struct Report: Encodable {
        let endpoint: String
        let findings: [Finding]
        let warnings: Int
    }
}
