import ArgumentParser
import StrataRedis

struct AccessCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "acl",
        abstract: "Prints the rules for a Redis user that may do what it needs, and nothing else.",
        discussion: """
            No server is asked, unless with --check. The line is an argument for redis-cli; replace PASSWORD in it. \
            Without a keyspace the rules cover all keyspaces of the prefix, including those of later versions.
            """
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var prefix: PrefixOption
    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "The names of the keyspaces; without one, all of the prefix.")
    var keyspaces: [String] = []

    @Option(
        name: .customLong("for"),
        help: """
            What the user is for: cache (a service), sweep (with sweeps), replicas (a service that reads from replicas), \
            look, inspect (with questions to instances) or remove (this program).
            """
    )
    private var purpose = AccessPurpose.cache

    @Option(help: ArgumentHelp("The name of the user.", valueName: "name"))
    var user = "cache"

    @Option(help: ArgumentHelp("The number of the database; 0, or with --check that of the address.", valueName: "n"))
    var database: Int?

    @Option(help: ArgumentHelp("The major version of the oldest server that has to know the rules.", valueName: "n"))
    var serverVersion = 6

    @Flag(help: "Print the rules for a user of a cluster.")
    var cluster = false

    @Flag(help: "Tries what the user of --url may do, and prints the rules that are missing; status 1 if there is one.")
    var check = false

    func validate() throws {
        guard !user.isEmpty, !user.contains(where: { $0.isWhitespace || $0 == "\"" || $0 == "\\" }) else {
            throw ValidationError("--user is empty, or holds a space, a quote or a backslash")
        }
    }

    private func rules(_ topology: RedisTopology, ofDatabase address: Int = 0) throws -> AccessRules {
        let prefix = try prefix.resolved(connection)
        let database = database ?? address
        return keyspaces.isEmpty
            ? AccessRules(
                for: [purpose.rules],
                prefix: prefix,
                database: database,
                serverVersion: serverVersion,
                topology: topology
            )
            : AccessRules(
                for: [purpose.rules],
                keyspaces: keyspaces.map { Keyspace($0, prefix: prefix) },
                database: database,
                serverVersion: serverVersion,
                topology: topology
            )
    }

    func run() async throws {
        if check { return try await printMissing() }
        let rules = try rules(cluster ? .cluster : .single)
        switch output.format {
        case .table, .plain:
            let line = (["ACL", "SETUSER", user, "on", ">PASSWORD"] + rules.rules.map { Self.quoted($0) })
            StandardOutput.lines([line.joined(separator: " ")])
        case .json:
            try JSONDocument.print(
                JSONRules(
                    user: user,
                    keys: rules.keys,
                    channels: rules.channels,
                    commands: rules.commands,
                    rules: rules.rules
                )
            )
        }
    }

    private func printMissing() async throws {
        let missing = try await connection.withClient { redis in
            let configuration = redis.configuration
            let topology = cluster ? .cluster : configuration.topology
            return try await redis.missingRules(of: rules(topology, ofDatabase: configuration.database))
        }
        switch output.format {
        case .table, .plain: StandardOutput.lines(missing)
        case .json: try JSONDocument.print(["missing": missing])
        }
        if !missing.isEmpty { throw Failure(.failed, nil) }
    }

    /// An argument as redis-cli reads it.
    private static func quoted(_ rule: String) -> String {
        guard rule.contains(where: { $0 == "\"" || $0 == "\\" || $0 == "'" }) else { return rule }
        return "\"" + rule.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() + "\""
    }

    private struct JSONRules: Encodable {
        let user: String
        let keys: [String]
        let channels: [String]
        let commands: [String]
        let rules: [String]
    }
}
