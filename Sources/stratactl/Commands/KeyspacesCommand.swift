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
        let chosen = try prefix.resolved(connection)
        let searched = allPrefixes ? nil : chosen
        let survey = try await connection.withClient { redis in
            try await KeyspaceSurvey.take(redis, prefix: searched, samples: samples)
        }
        switch output.format {
        case .table, .plain: StandardOutput.table(Self.table(survey), in: output.format)
        case .json: try JSONDocument.print(survey.rows.map { JSONRow($0) })
        }
        for note in survey.notes(under: searched) { StandardError.line(note) }
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
