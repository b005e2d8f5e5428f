import ArgumentParser
import StrataRedis

struct ClearCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Removes all values and leases of a keyspace, and nothing else.",
        discussion: """
            Without --yes it counts what there is to remove, and ends there, with exit status 2. With --yes it voids all at \
            once, then walks over the database with SCAN and removes in batches, and reports its progress on standard \
            error; what it removed before an error or an interruption stays removed, and the rest stays void.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var space: KeyspaceOptions
    @OptionGroup var consent: ConsentOption

    func run() async throws {
        let keyspace = try space.resolved(connection)
        try await connection.withClient { redis in
            let inspector = KeyspaceInspector(redis, keyspace)
            // With --yes nothing is counted before: that takes as long as the database is large, and values are served
            // meanwhile.
            var counts = KeyspaceCounts()
            if !consent.yes { counts = try await inspector.counts() }
            // An unused name must leave nothing behind, not even the mark of its clear.
            if counts == KeyspaceCounts() { try await inspector.checkPresence() }
            var removed: Int?
            if consent.yes {
                var progress = ClearProgress()
                counts = try await inspector.clear { progress.report($0) }
                progress.finish(counts)
                removed = counts.values + counts.leases
            }
            if output.format != .json {
                var table = Table(.left("KEYSPACE"), .right("VALUES"), .right("LEASES"))
                table.rows = [[RemovalResult.printable(keyspace), String(counts.values), String(counts.leases)]]
                StandardOutput.table(table, in: output.format)
            }
            try RemovalResult(keyspace, redis, counts, removed: removed, keys: nil).report(in: output.format)
        }
    }
}

/// Tells on the standard error output how far a clear is, twice a second at most.
private struct ClearProgress {
    private static let interval: Duration = .milliseconds(500)

    private var last = ContinuousClock.now

    mutating func report(_ removed: KeyspaceCounts) {
        let now = ContinuousClock.now
        guard last.duration(to: now) >= Self.interval else { return }
        last = now
        finish(removed)
    }

    func finish(_ removed: KeyspaceCounts) {
        StandardError.line(
            "stratactl: removed \(Quantity.text(removed.values, "value")), \(Quantity.text(removed.leases, "lease"))"
        )
    }
}
