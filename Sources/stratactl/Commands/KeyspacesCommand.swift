import ArgumentParser
import StrataRedis

struct KeyspacesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keyspaces",
        abstract: "Lists the keyspaces of a database, with how much they hold.",
        discussion: """
            Walks over the whole database with SCAN. The size of all values is estimated from a random sample, without \
            the overhead of Redis. Keys that come and go meanwhile may be counted or not.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var prefix: PrefixOption

    @Flag(help: "List the keyspaces of all prefixes.")
    var allPrefixes = false

    @Option(help: ArgumentHelp("How many values of each keyspace to measure, 0 to 1000.", valueName: "n"))
    var samples = 64

    func validate() throws {
        guard (0...1000).contains(samples) else { throw ValidationError("--samples is not within 0 to 1000") }
    }

    func run() async throws {
        let prefix = try prefix.resolved(connection)
        let survey = try await connection.withClient { redis in
            try await KeyspaceSurvey.take(redis, prefix: allPrefixes ? nil : prefix, samples: samples)
        }
        switch output.format {
        case .table, .plain: StandardOutput.table(Self.table(survey), in: output.format)
        case .json: try JSONDocument.print(survey.rows.map { JSONRow($0) })
        }
        if survey.rows.isEmpty, !allPrefixes {
            let name = PrintableText.escape(Array(prefix.utf8))
            StandardError.line(
                "stratactl: no keyspace holds anything under the prefix \(name); --all-prefixes looks at all"
            )
        }
        if survey.keysPassedOver > 0 {
            StandardError.line(
                "stratactl: only the first \(survey.rows.count) keyspaces are listed; "
                    + "\(Quantity.text(survey.keysPassedOver, "key")) of others were passed over"
            )
        }
    }

    private static func table(_ survey: KeyspaceSurvey) -> Table {
        func printable(_ text: String) -> String { PrintableText.escape(Array(text.utf8)) }
        var table = Table(
            .left("PREFIX"),
            .left("NAME"),
            .right("VALUES"),
            .right("LEASES"),
            .right("SAMPLED"),
            .right("BYTES"),
            .right("ALL (EST.)")
        )
        table.rows = survey.rows.map { row in
            [
                printable(row.keyspace.prefix), printable(row.keyspace.name), String(row.counts.values),
                String(row.counts.leases), String(row.sampledValues), Quantity.bytes(row.sampledBytes),
                row.estimatedBytes.map { Quantity.bytes($0) } ?? "-",
            ]
        }
        return table
    }

    private struct JSONRow: Encodable {
        let prefix: String
        let name: String
        let values: Int
        let leases: Int
        let sampledValues: Int
        let sampledBytes: Int
        let estimatedBytes: Int?

        init(_ row: KeyspaceSurvey.Row) {
            prefix = row.keyspace.prefix
            name = row.keyspace.name
            values = row.counts.values
            leases = row.counts.leases
            sampledValues = row.sampledValues
            sampledBytes = row.sampledBytes
            estimatedBytes = row.estimatedBytes
        }
    }
}
