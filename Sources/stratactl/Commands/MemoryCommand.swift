import ArgumentParser
import StrataRedis

struct MemoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "memory",
        abstract: "Shows what Redis says about its memory, and how much of it each keyspace takes.",
        discussion: """
            Walks over the whole database with SCAN. What a keyspace takes is estimated from a random sample of \
            its values with their keys (MEMORY USAGE). Of a cluster, the primaries are counted together.
            """
    )

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var prefix: PrefixOption

    @Flag(help: "Show the keyspaces of all prefixes.")
    var allPrefixes = false

    @Option(help: ArgumentHelp("How many values of each keyspace to measure, 1 to 1000.", valueName: "n"))
    var samples = 200

    func validate() throws {
        guard (1...1000).contains(samples) else { throw ValidationError("--samples is not within 1 to 1000") }
    }

    func run() async throws {
        let chosen = try prefix.resolved(connection)
        let searched = allPrefixes ? nil : chosen
        let (servers, survey) = try await connection.withClient { redis in
            var servers: [ServerInformation] = []
            for server in try await redis.primaries() {
                // A user who may look at a cache need not be one who may look at the server.
                var fields: [String: String] = [:]
                do {
                    fields = try await server.info()
                } catch let error as RedisError where error.code == .server {}
                servers.append(ServerInformation(fields))
            }
            let survey = try await KeyspaceSurvey.take(
                redis,
                prefix: searched,
                samples: samples,
                withMemory: true
            )
            return (servers, survey)
        }
        let report = MemoryReport(servers, survey)
        switch output.format {
        case .table, .plain:
            StandardOutput.fields(report.fields, in: output.format)
            if output.format == .table { StandardOutput.lines([""]) }
            StandardOutput.table(report.table, in: output.format)
        case .json: try JSONDocument.print(report)
        }
        for note in survey.notes(under: searched) { StandardError.line(note) }
    }
}

/// The memory of a server, or of a cluster's primaries together, as it is printed.
private struct MemoryReport: Encodable {
    struct Row: Encodable {
        let keyspace: String
        let values: Int
        let leases: Int
        /// Missing when the server does not tell.
        let estimatedMemory: Int?
        /// Of what the server has in use; missing when either is not told.
        let share: Double?
    }

    /// How many of a cluster are counted together; missing for a single server.
    let primaries: Int?
    /// Bytes; missing what a server does not tell.
    let used: Int?
    let peak: Int?
    let resident: Int?
    /// 0 where a server has none.
    let limit: Int?
    let policy: String?
    let evictedKeys: Int?
    let expiredKeys: Int?
    let keyspaces: [Row]

    init(_ servers: [ServerInformation], _ survey: KeyspaceSurvey) {
        func sum(_ name: String) -> Int? {
            let told = servers.compactMap { $0.number(name) }
            guard !told.isEmpty, told.count == servers.count else { return nil }
            return told.reduce(0) { sum, number in
                let (next, isTooMuch) = sum.addingReportingOverflow(number)
                return isTooMuch ? .max : next
            }
        }
        let used = sum("used_memory")
        self.used = used
        primaries = servers.count > 1 ? servers.count : nil
        peak = sum("used_memory_peak")
        resident = sum("used_memory_rss")
        limit = servers.contains { $0.number("maxmemory") == 0 } ? 0 : sum("maxmemory")
        let policies = Set(servers.compactMap { $0["maxmemory_policy"] }).sorted()
        policy = policies.isEmpty ? nil : policies.joined(separator: ", ")
        evictedKeys = sum("evicted_keys")
        expiredKeys = sum("expired_keys")
        keyspaces = survey.rows.map { row in
            Row(
                keyspace: row.keyspace.description,
                values: row.counts.values,
                leases: row.counts.leases,
                estimatedMemory: row.estimatedMemory,
                share: row.estimatedMemory.flatMap { memory in
                    used.flatMap { $0 > 0 ? Double(memory) / Double($0) : nil }
                }
            )
        }
    }

    var fields: FieldList {
        func bytes(_ count: Int?) -> String { count.map { Quantity.bytes($0) } ?? "not reported" }
        var fields = FieldList()
        fields.add("primaries", primaries.map { "\($0), counted together" })
        fields.add("in use", bytes(used))
        fields.add("limit", limit == 0 ? "none" : bytes(limit))
        fields.add("peak", bytes(peak))
        fields.add("resident", bytes(resident))
        fields.add("policy", policy.map { PrintableText.escape(Array($0.utf8)) } ?? "not reported")
        fields.add("evicted", evictedKeys.map { Quantity.text($0, "key") } ?? "not reported")
        fields.add("expired", expiredKeys.map { Quantity.text($0, "key") } ?? "not reported")
        return fields
    }

    var table: Table {
        var table = Table(.right("VALUES"), .right("LEASES"), .right("ABOUT"), .right("SHARE"), .left("KEYSPACE"))
        table.rows = keyspaces.map { row in
            [
                String(row.values), String(row.leases), row.estimatedMemory.map { Quantity.bytes($0) } ?? "-",
                row.share.map { SizesReport.percent($0) } ?? "-", PrintableText.escape(Array(row.keyspace.utf8)),
            ]
        }
        return table
    }
}
