import ArgumentParser
import StrataRedis

struct WhyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Tells on one page what a read of a key gets, why, and what can be done.",
        discussion: """
            Whether it is in Redis; fresh, stale or expired, and until when; what has voided it; its size and form; \
            who fetches it; the last failure and its back-off; its tags and when they were invalidated. Nothing is \
            changed. What the memory of an instance holds is not in Redis, and not shown. The exit status is 0 whether \
            or not there is such a key.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var space: KeyspaceOptions

    @Argument(help: "The key.")
    var key: String

    @OptionGroup var keyOptions: KeyOptions

    func run() async throws {
        let keyspace = try space.resolved()
        let key = try keyOptions.key(key, in: space)
        let found = try await connection.withClient { redis in
            let inspector = KeyspaceInspector(redis, keyspace)
            let found = try await inspector.explanation(of: key)
            if found.entry == nil, found.lease == nil { try await inspector.checkPresence() }
            return found
        }
        let verdict = ReadVerdict(found)
        switch output.format {
        case .table, .plain: StandardOutput.fields(ExplanationLines(found, verdict).fields, in: output.format)
        case .json: try JSONDocument.print(JSONExplanation(found, verdict, keyspace: keyspace))
        }
    }
}
