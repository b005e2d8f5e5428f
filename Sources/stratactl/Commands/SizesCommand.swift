import ArgumentParser
import StrataRedis

struct SizesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sizes",
        abstract: "Shows how large the values of a keyspace are: by size, by what keys begin with, and the largest.",
        discussion: """
            Counts all keys with SCAN, and measures a random sample of the values with STRLEN and MEMORY USAGE. The \
            beginning of a key goes up to its first colon or slash. What was not measured is estimated from the \
            sample; --samples 0 measures all.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var space: KeyspaceOptions

    @Option(help: ArgumentHelp("How many values to measure, up to 100000; 0 measures all.", valueName: "n"))
    var samples = 10_000

    @Option(
        help: ArgumentHelp("How many beginnings of keys, and how many of the largest values to show.", valueName: "n")
    )
    var top = 10

    func validate() throws {
        guard (0...100_000).contains(samples) else { throw ValidationError("--samples is not within 0 to 100000") }
        guard (0...1000).contains(top) else { throw ValidationError("--top is not within 0 to 1000") }
    }

    func run() async throws {
        let keyspace = try space.resolved(connection)
        let sizes = try await connection.withClient { redis in
            let inspector = KeyspaceInspector(redis, keyspace)
            var progress = WalkProgress()
            let sizes = try await KeyspaceSizes.take(
                inspector,
                samples: samples == 0 ? nil : samples,
                largest: top
            ) { progress.report($0) }
            if sizes.total.values == 0 { try await inspector.checkPresence() }
            return sizes
        }
        let report = SizesReport(sizes, keyspace, top: top)
        switch output.format {
        case .table: report.printTables()
        case .plain: StandardOutput.cells(report.rows)
        case .json: try JSONDocument.print(report)
        }
        if !sizes.tellsMemory {
            StandardError.line(
                "stratactl: the server does not report MEMORY USAGE; lengths are those of the values alone"
            )
        }
    }
}
