import ArgumentParser
import Strata
import StrataRedis

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Lists the keys of a keyspace that have a value.",
        discussion: """
            A key is shown with escapes where it has to be: \\xHH for a byte, \\u{…} for a character, \\\\ for a backslash. \
            \\# and a hash stand for a key too long to be spelled out in Redis, \\= and a name for a key that no \
            keyspace would name that way. With --escaped the other commands take keys as they are shown here.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var space: KeyspaceOptions

    @Option(
        help: ArgumentHelp(
            "Only keys that match: * ? [a-z] [^a] and \\ as in Redis, byte by byte.",
            discussion: "Matched against the keys themselves; those of which only the hash is known never match.",
            valueName: "glob"
        )
    )
    var match: String?

    @Option(help: ArgumentHelp("How many keys to list at most; 0 lists all.", valueName: "n"))
    var limit = 1000

    @Flag(help: "List the full names in Redis instead of the keys.")
    var names = false

    @Flag(
        name: .customLong("print0"),
        help: ArgumentHelp(
            "Write keys as they are, each followed by a NUL, for programs such as xargs -0.",
            discussion: "Not to a terminal. Keys that cannot be written that way are left out."
        )
    )
    var printsNul = false

    func validate() throws {
        guard limit >= 0 else { throw ValidationError("--limit is below 0") }
        if printsNul, output.format == .json { throw ValidationError("--print0 and --format json exclude each other") }
    }

    func run() async throws {
        let pattern = try match.map { text in
            guard let pattern = GlobPattern(text.keyBytes) else {
                throw Failure(.usage, "--match ends inside [ ] or after a backslash")
            }
            return pattern
        }
        if printsNul, StandardOutput.isTerminal {
            throw Failure(.usage, "--print0 escapes nothing, so it writes to a file or a pipe only")
        }
        let keyspace = try space.resolved(connection)
        try await connection.withClient { redis in
            let inspector = KeyspaceInspector(redis, keyspace)
            let printed = try await list(inspector.keys(matching: pattern), of: keyspace)
            if printed == 0 { try await inspector.checkPresence() }
        }
    }

    /// Prints keys while they are found; returns how many there were.
    private func list(_ listing: KeyListing, of keyspace: Keyspace) async throws -> Int {
        let style: KeyPrinter.Style =
            switch output.format {
            case .json: .json
            case _ where printsNul: .nul
            case .plain: .plain
            case .table: .lines
            }
        var printer = KeyPrinter(keyspace, style: style, names: names)
        var more = false
        var left = limit == 0 ? Int.max : limit
        for try await batch in listing {
            try printer.take(batch.prefix(left))
            more = batch.count > left
            left -= min(left, batch.count)
            if more { break }
        }
        try printer.finish(more: more)
        return printer.printed
    }
}
