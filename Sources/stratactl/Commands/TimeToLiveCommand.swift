import ArgumentParser
import StrataRedis

struct TimeToLiveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ttl",
        abstract: "Shows how long Redis keeps the value and the lease of a key."
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var space: KeyspaceOptions

    @Argument(help: "The key.")
    var key: String

    @OptionGroup var keyOptions: KeyOptions

    func run() async throws {
        let keyspace = try space.resolved(connection)
        let key = try keyOptions.key(key, in: space, connection)
        let lifetimes = try await connection.withClient { redis in
            let inspector = KeyspaceInspector(redis, keyspace)
            let lifetimes = try await inspector.lifetimes(of: key)
            if lifetimes.value != .absent || lifetimes.lease != .absent { return lifetimes }
            try await inspector.checkPresence()
            throw Failure(.notFound, "there is no such key")
        }
        switch output.format {
        case .table, .plain:
            var fields = FieldList()
            fields.add("key", key.escaped)
            fields.add("value", TimeSpan.text(lifetimes.value))
            fields.add("lease", TimeSpan.text(lifetimes.lease))
            StandardOutput.fields(fields, in: output.format)
        case .json:
            try JSONDocument.print(
                JSONLifetimes(
                    key: JSONKey(key),
                    value: JSONTimeToLive(lifetimes.value),
                    lease: JSONTimeToLive(lifetimes.lease)
                )
            )
        }
    }

    private struct JSONLifetimes: Encodable {
        let key: JSONKey
        let value: JSONTimeToLive
        let lease: JSONTimeToLive
    }
}
