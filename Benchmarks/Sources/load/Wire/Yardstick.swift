import StrataTesting

/// redis-benchmark, which comes with Redis.
enum Yardstick {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// What it reaches with so many connections and no pipelining.
    static func operationsPerSecond(
        _ workload: Workload,
        _ server: RedisServer,
        connections: Int = 50
    ) async throws -> Double {
        guard let port = server.port else { throw Failure(description: "the server has no TCP port") }
        let calls = connections == 1 ? workload.yardstickCalls / 5 : workload.yardstickCalls
        let arguments = ["-p", "\(port)", "-P", "1", "-c", "\(connections)", "-n", "\(calls)", "--csv"]
        let process = try await InstanceProcess.start("redis-benchmark", arguments: arguments + workload.command)
        var rate: Double?
        for await line in process.lines {
            // The command itself may hold commas; the rate is the first field behind it that is a number.
            let fields = line.split(separator: "\",\"").dropFirst()
            if let first = fields.first.flatMap({ Double($0) }) { rate = first }
        }
        _ = try await process.waitForExit()
        guard let rate else { throw Failure(description: "redis-benchmark gave no rate") }
        return rate
    }
}
