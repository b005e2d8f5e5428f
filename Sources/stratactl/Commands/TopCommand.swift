import ArgumentParser
import Strata
import StrataRedis

struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Shows the instances of a keyspace at work: reads, hits, fetches, waits, percentiles, hottest keys.",
        discussion: """
            Each second until `q` or Ctrl-C; in a file or a pipe one table after the other, and in JSON one document a \
            line. It asks instances, which needs a user for 'inspect'. Percentiles are those of the slowest instance, \
            over the last 15 to 30 s.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var space: KeyspaceOptions

    @Option(help: ArgumentHelp("How often to ask, 0.2 to 3600.", valueName: "seconds"))
    var interval = 1.0

    @Option(help: ArgumentHelp("Ends after this many pages.", valueName: "n"))
    var count: Int?

    @Option(help: ArgumentHelp("How many keys to name, 0 to 50.", valueName: "n"))
    var keys = 10

    @Option(help: ArgumentHelp("How many instances to ask at most, 1 to 4096.", valueName: "n"))
    var limit = 1000

    func validate() throws {
        guard (0.2...3600).contains(interval) else { throw ValidationError("--interval is not within 0.2 to 3600") }
        guard count.map({ $0 > 0 }) ?? true else { throw ValidationError("--count is not above 0") }
        guard (0...50).contains(keys) else { throw ValidationError("--keys is not within 0 to 50") }
        guard (1...4096).contains(limit) else { throw ValidationError("--limit is not within 1 to 4096") }
    }

    func run() async throws {
        let keyspace = try space.resolved(connection)
        let job = TopJob(
            format: output.format,
            interval: .seconds(interval),
            count: count,
            keys: keys,
            limit: limit
        )
        try await connection.withClient { redis in
            try await KeyspaceInspector(redis, keyspace).checkPresence()
            guard job.format == .table, StandardOutput.isTerminal else {
                return try await job.pages(of: FleetInspector(redis, keyspace)) { page in
                    try job.print(page, keyspace)
                } trouble: { text in
                    StandardError.line("stratactl: \(text)")
                }
            }
            let screen = Screen()
            screen.enter()
            defer { screen.leave() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await screen.attend() }
                group.addTask {
                    var last: TopPage?
                    func draw(_ remark: [String]) {
                        let (columns, rows) = StandardOutput.size ?? (80, 24)
                        let lines = remark + (last?.lines(within: columns) ?? [])
                        screen.draw(lines, rows: rows, columns: columns)
                    }
                    try await job.pages(of: FleetInspector(redis, keyspace)) { page in
                        last = page
                        draw([])
                    } trouble: { text in
                        draw(["\(text); what follows is older", ""])
                    }
                }
                try await group.next()
                group.cancelAll()
            }
        }
    }
}

/// What `top` does again and again.
private struct TopJob: Sendable {
    let format: OutputOptions.Format
    let interval: Duration
    let count: Int?
    let keys: Int
    let limit: Int

    /// Takes samples, and hands out a page for each but the first.
    ///
    /// Once there was one, a server that fails is waited for.
    ///
    /// - Parameters:
    ///   - inspector: Whom to ask.
    ///   - show: Takes a page.
    ///   - trouble: Told why there is none.
    /// - Throws: ``RedisError``; `CancellationError`.
    func pages(
        of inspector: FleetInspector,
        _ show: (TopPage) throws -> Void,
        trouble: (String) -> Void
    ) async throws {
        var before: FleetSample?
        var hasAnswered = false
        var shown = 0
        while count.map({ shown < $0 }) ?? true {
            let begin = MonotonicInstant.now
            let sample: FleetSample
            do {
                sample = try await FleetSample.take(
                    inspector,
                    limit: limit,
                    hottest: keys,
                    within: min(interval, .seconds(1))
                )
            } catch let error as RedisError where hasAnswered && error.code != .authentication {
                trouble("Redis does not answer: \(error)")
                // Rates begin anew.
                before = nil
                try await Task.pause(for: max(interval - begin.duration(to: .now), .zero))
                continue
            }
            hasAnswered = true
            let rates = FleetRates(from: before, to: sample)
            let page = TopPage(
                inspector.keyspace,
                at: inspector.redis.configuration.place,
                sample,
                rates,
                mostKeys: keys
            )
            // The first one has no rates; a person sees it all the same.
            if before != nil || count == nil {
                try show(page)
                shown += 1
            }
            before = sample
            if let count, shown >= count { return }
            try await Task.pause(for: max(interval - begin.duration(to: .now), .zero))
        }
    }

    func print(_ page: TopPage, _ keyspace: Keyspace) throws {
        switch format {
        case .table: StandardOutput.lines(page.lines(within: nil) + [""])
        case .plain: StandardOutput.cells(page.cells)
        case .json: StandardOutput.bytes(Array((try JSONDocument.line(of: page.json(keyspace)) + "\n").utf8))
        }
    }
}
