import ArgumentParser
import StrataRedis

struct WhyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Shows on one page what a read of a key gets, why, and what can be done.",
        discussion: """
            Whether it is in Redis; fresh, stale or expired, and until when; what has voided it; its size and form; \
            who fetches it; the last failure and its back-off; its tags and when they were invalidated. Nothing is \
            changed. Instances that run a FleetMember are asked what their memory holds. The exit status is 0 whether or \
            not there is such a key.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var space: KeyspaceOptions

    @Argument(help: "The key.")
    var key: String

    @OptionGroup var keyOptions: KeyOptions

    @Option(help: ArgumentHelp("How long to wait for instances, 0 to 60; with 0 none is asked.", valueName: "seconds"))
    var wait = 1.0

    func validate() throws {
        guard (0...60).contains(wait) else { throw ValidationError("--wait is not within 0 to 60") }
    }

    func run() async throws {
        let keyspace = try space.resolved(connection)
        let key = try keyOptions.key(key, in: space, connection)
        let (found, memory) = try await connection.withClient { redis in
            let inspector = KeyspaceInspector(redis, keyspace)
            let found = try await inspector.explanation(of: key)
            if found.entry == nil, found.lease == nil { try await inspector.checkPresence() }
            let memory =
                wait > 0 ? try await MemoryFindings.take(redis, keyspace, key, within: .seconds(wait)) : nil
            return (found, memory)
        }
        let verdict = ReadVerdict(found)
        switch output.format {
        case .table, .plain: StandardOutput.fields(ExplanationLines(found, verdict, memory).fields, in: output.format)
        case .json: try JSONDocument.print(JSONExplanation(found, verdict, memory, keyspace: keyspace))
        }
    }
}
