import ArgumentParser
import Strata
import StrataRedis

struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Prints what happens in a keyspace as it happens: changes, removals, leases, tags, clears.",
        discussion: """
            One line each, until Ctrl-C. Nothing is changed. It needs a user for 'inspect'. A key that changes several \
            times in a moment may be shown only once. In JSON each line is a document.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var space: KeyspaceOptions

    @Option(help: ArgumentHelp("Ends after this many events.", valueName: "n"))
    var count: Int?

    @Option(name: .customLong("for"), help: ArgumentHelp("Ends after this many seconds.", valueName: "seconds"))
    private var duration: Double?

    /// How long the server may take until it tells of changes.
    private static let listenTimeout: Duration = .seconds(10)

    func validate() throws {
        guard count.map({ $0 > 0 }) ?? true else { throw ValidationError("--count is not above 0") }
        guard duration.map({ $0 > 0 && $0 <= 1e9 }) ?? true else {
            throw ValidationError("--for is not above 0 and within 1000000000")
        }
    }

    func run() async throws {
        let keyspace = try space.resolved(connection)
        let (format, count, duration) = (output.format, count, duration)
        try await connection.withClient { redis in
            let inspector = KeyspaceInspector(redis, keyspace)
            try await inspector.checkPresence()
            let watch = KeyspaceWatch(redis, keyspace)
            try await watch.listening { events in
                let start = WatchStart()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await Self.limit(duration, watch, start) }
                    group.addTask {
                        var printer = WatchPrinter(inspector, watch, format: format)
                        try await printer.print(events, count, start)
                    }
                    try await group.next()
                    group.cancelAll()
                }
            }
        }
    }

    /// Returns when the time is over.
    private static func limit(_ duration: Double?, _ watch: KeyspaceWatch, _ start: WatchStart) async throws {
        let wait = min(listenTimeout, duration.map { .seconds($0) } ?? listenTimeout)
        try await Task.pause(for: wait)
        guard start.hasListened else { throw WatchPrinter.failure(watch) }
        try await Task.pause(for: duration.map { .seconds($0) - wait } ?? .seconds(1_000_000_000))
    }
}
