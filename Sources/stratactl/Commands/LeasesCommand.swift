import ArgumentParser
import StrataRedis

struct LeasesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leases",
        abstract: "Lists the keys of a keyspace that are being fetched, and for how long their leases stand."
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var space: KeyspaceOptions

    @Option(help: ArgumentHelp("How many leases to list at most; 0 lists all.", valueName: "n"))
    var limit = 1000

    func validate() throws {
        guard limit >= 0 else { throw ValidationError("--limit is below 0") }
    }

    func run() async throws {
        let keyspace = try space.resolved(connection)
        let (leases, more, absence) = try await connection.withClient { redis in
            let inspector = KeyspaceInspector(redis, keyspace)
            let (leases, more) = try await inspector.leases(limit: limit == 0 ? nil : limit)
            return (leases, more, leases.isEmpty ? try await inspector.absence() : nil)
        }
        switch output.format {
        case .table, .plain:
            var table = Table(.right("TIME LEFT"), .left("HOLDER"), .left("TOKEN"), .left("KEY"))
            table.rows = leases.map { lease in
                let token = lease.token.map { Hexadecimal.text($0) } ?? "-"
                return [TimeSpan.text(lease.timeLeft), Self.holder(of: lease), token, lease.key.escaped]
            }
            StandardOutput.table(table, in: output.format)
        case .json:
            try JSONDocument.print(
                JSONListing(keyspace: keyspace.description, leases: leases.map { JSONLease($0) }, more: more)
            )
        }
        if more { StandardError.line("stratactl: there are more leases; --limit 0 lists all") }
        if let absence { throw absence }
    }

    private static func holder(of lease: LeaseInspection) -> String {
        if let holder = lease.holder { return holder }
        guard let failure = lease.failure else { return "not a lease" }
        return "failed \(failure.attempts) times in a row with \(failure.message)"
    }

    private struct JSONListing: Encodable {
        let keyspace: String
        let leases: [JSONLease]
        let more: Bool
    }

    private struct JSONLease: Encodable {
        let key: JSONKey
        let timeLeft: JSONTimeToLive
        let token: String?
        let holder: String?
        let trace: String?
        let failure: String?
        let failedAttempts: Int?

        init(_ lease: LeaseInspection) {
            key = JSONKey(lease.key)
            timeLeft = JSONTimeToLive(lease.timeLeft)
            token = lease.token.map { Hexadecimal.text($0) }
            holder = lease.holder
            trace = lease.trace
            failure = lease.failure?.message
            failedAttempts = lease.failure?.attempts
        }
    }
}
