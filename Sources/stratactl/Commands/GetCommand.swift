import ArgumentParser
import StrataRedis

struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Shows what is stored under a key: the envelope, and the value on request.",
        discussion: """
            Entries that no level can use are shown as well, with the reason, and so are those that a tag or a clear \
            has voided. Times are those of the server's clock. The value is shown by its codec: JSON indented, text \
            escaped, anything else as a hex dump.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var space: KeyspaceOptions

    @Argument(help: "The key.")
    var key: String

    @OptionGroup var keyOptions: KeyOptions

    @Flag(help: "Show the value as well.")
    var value = false

    @Option(help: ArgumentHelp("How much of the value to show at most; 0 shows all.", valueName: "bytes"))
    var maxBytes = 4096

    func validate() throws {
        guard maxBytes >= 0 else { throw ValidationError("--max-bytes is below 0") }
    }

    func run() async throws {
        let keyspace = try space.resolved(connection)
        let key = try keyOptions.key(key, in: space, connection)
        let found = try await connection.withClient { redis in
            let inspector = KeyspaceInspector(redis, keyspace)
            if let found = try await inspector.entry(of: key) { return found }
            try await inspector.checkPresence()
            throw Failure(.notFound, "there is no such key")
        }
        let limit: Int? = value ? (maxBytes == 0 ? .max : maxBytes) : nil
        switch output.format {
        case .table, .plain:
            let page = EntryLines(found, valueLimit: limit)
            StandardOutput.fields(page.fields, in: output.format)
            StandardOutput.lines(page.value)
        case .json: try JSONDocument.print(JSONEntry(found, valueLimit: limit))
        }
    }
}
