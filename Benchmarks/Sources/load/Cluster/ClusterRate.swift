import StrataTesting

/// What calls have cost this process and the servers.
struct ClusterRate {
    var calls = 0.0
    /// Processor time of this process.
    var clientSeconds = ProcessorTime.microseconds / 1e6
    /// Processor time of all servers.
    var serverSeconds = 0.0
    /// How often the servers have read their sockets.
    var reads = 0.0

    /// What has been used so far.
    init(of servers: [RedisServer]) async throws {
        for server in servers {
            let fields = try await Self.fields(server.command("INFO", "everything").text)
            serverSeconds += (fields["used_cpu_user"] ?? 0) + (fields["used_cpu_sys"] ?? 0)
            reads += fields["total_reads_processed"] ?? 0
        }
    }

    /// Leaves what was used since `earlier`.
    mutating func subtract(_ earlier: ClusterRate) {
        clientSeconds -= earlier.clientSeconds
        serverSeconds -= earlier.serverSeconds
        reads -= earlier.reads
    }

    var callsPerProcessorSecond: Double { calls / (clientSeconds + serverSeconds) }

    private static func fields(_ text: String) -> [Substring: Double] {
        var fields: [Substring: Double] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":")
            if parts.count == 2, let value = Double(parts[1]) { fields[parts[0]] = value }
        }
        return fields
    }
}
