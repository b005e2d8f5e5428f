import ArgumentParser
import StrataRedis

struct InstancesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "instances",
        abstract: "Lists the instances of a service that announce themselves, with their counters.",
        discussion: """
            An instance is listed while it runs a FleetMember, and for 15 s after it has ended without saying so. Its \
            figures are a few seconds old; `top` asks for new ones. Without a keyspace, SCAN finds all \
            keyspaces of the prefix.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The name of the keyspace; without it, all of the prefix.", completion: KnownNames.keyspaces)
    var keyspace: String?

    @OptionGroup var prefix: PrefixOption

    @Option(help: ArgumentHelp("How many instances to list at most, 1 to 4096.", valueName: "n"))
    var limit = 1000

    func validate() throws {
        guard (1...4096).contains(limit) else { throw ValidationError("--limit is not within 1 to 4096") }
    }

    func run() async throws {
        let prefix = try prefix.resolved(connection)
        let (found, more, absence) = try await connection.withClient { redis in
            let keyspaces =
                if let keyspace {
                    [Keyspace(keyspace, prefix: prefix)]
                } else {
                    try await FleetInspector.keyspaces(redis, prefix: prefix)
                }
            var found: [(keyspace: Keyspace, instance: FleetInstance)] = []
            var more = false
            for keyspace in keyspaces {
                guard found.count < limit else {
                    more = true
                    break
                }
                let listing = try await FleetInspector(redis, keyspace).instances(limit: limit - found.count)
                found += listing.instances.map { (keyspace, $0) }
                more = more || listing.more
            }
            let absence =
                found.isEmpty && keyspace != nil
                ? try await KeyspaceInspector(redis, keyspaces[0]).absence() : nil
            return (found, more, absence)
        }
        if let absence { throw absence }
        switch output.format {
        case .table, .plain: StandardOutput.table(table(of: found), in: output.format)
        case .json: try JSONDocument.print(JSONListing(instances: found.map { JSONInstance($1, $0) }, more: more))
        }
        if found.isEmpty {
            StandardError.line("stratactl: no instance is listed: an instance has to run a FleetMember")
        }
        if more { StandardError.line("stratactl: there are more instances; --limit lists up to 4096") }
    }

    private func table(of found: [(keyspace: Keyspace, instance: FleetInstance)]) -> Table {
        var table = Table(
            .left("INSTANCE"),
            .left("KEYSPACE"),
            .left("VERSION"),
            .right("UP"),
            .right("READS"),
            .left("HITS"),
            .right("FETCHES"),
            .right("WAITS"),
            .left("IN MEMORY"),
            .left("STATE")
        )
        table.rows = found.map { keyspace, instance in
            let name = InstanceText.name(of: instance)
            let place = RemovalResult.printable(keyspace)
            let state = InstanceText.state(of: instance)
            guard let record = instance.record else { return [name, place, "-", "-", "-", "-", "-", "-", "-", state] }
            let figures = InstanceFigures(record)
            return [
                name, place, InstanceText.printable(record.version), InstanceText.uptime(of: record),
                String(figures.requests), InstanceText.hits(of: figures), String(figures.fetches),
                String(figures.waits),
                InstanceText.memory(of: figures), state,
            ]
        }
        return table
    }

    private struct JSONListing: Encodable {
        let instances: [JSONInstance]
        let more: Bool
    }
}
