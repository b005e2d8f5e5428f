import ArgumentParser
import StrataRedis

struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Removes keys, as the library does: what is being fetched meanwhile is not stored.",
        discussion: """
            First shows what there is to remove. Without --yes it ends there, with exit status 2. When none of the \
            keys exists the exit status is 3.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var space: KeyspaceOptions

    @Argument(help: "The keys.")
    var keyTexts: [String]

    @OptionGroup var keyOptions: KeyOptions
    @OptionGroup var consent: ConsentOption

    func run() async throws {
        let keyspace = try space.resolved(connection)
        var seen: Set<InspectedKey> = []
        let keys = try keyTexts.map { try keyOptions.key($0, in: space, connection) }
            .filter { seen.insert($0).inserted }
        try await connection.withClient { redis in
            let inspector = KeyspaceInspector(redis, keyspace)
            let presence = try await inspector.presence(of: keys)
            let counts = KeyspaceCounts(presence)
            if output.format != .json { StandardOutput.table(Self.table(presence), in: output.format) }
            // Also keys that are not there: a fetch that is just starting finds its lease gone, or none.
            let removed = consent.yes ? try await inspector.remove(keys) : nil
            let result = RemovalResult(
                keyspace,
                redis,
                counts,
                removed: removed,
                keys: presence.map { JSONPresence($0) }
            )
            if counts == KeyspaceCounts(), removed ?? 0 == 0 {
                if output.format == .json { try JSONDocument.print(result) }
                try await inspector.checkPresence()
                throw Failure(.notFound, keys.count == 1 ? "there is no such key" : "none of these keys exists")
            }
            try result.report(in: output.format)
        }
    }

    private static func table(_ presence: [KeyPresence]) -> Table {
        var table = Table(.left("VALUE"), .left("LEASE"), .left("KEY"))
        table.rows = presence.map { [$0.value ? "yes" : "no", $0.lease ? "yes" : "no", $0.key.escaped] }
        return table
    }
}

extension KeyspaceCounts {
    fileprivate init(_ presence: [KeyPresence]) {
        self.init(values: presence.count { $0.value }, leases: presence.count { $0.lease })
    }
}
