import Strata
import StrataRedis

/// What a number of tasks reached over one connection.
struct WireRate {
    let operationsPerSecond: Double
    /// Processor time of this process for each operation.
    let processorMicroseconds: Double
    let p50: Double
    let p99: Double
    /// How many commands the server found in each read of its socket.
    let commandsPerRead: Double

    static func measure(
        _ workload: Workload,
        _ redis: RedisClient,
        tasks: Int,
        seconds: Double
    ) async throws -> WireRate {
        let before = try await ServerCounts(redis)
        let processorTime = ProcessorTime.microseconds
        let start = MonotonicInstant.now
        let end = start.advanced(by: .seconds(seconds))
        var samples: [[Double]] = []
        try await withThrowingTaskGroup(of: [Double].self) { group in
            for _ in 0..<tasks { group.addTask { try await call(workload, redis, until: end) } }
            for try await latencies in group { samples.append(latencies) }
        }
        let used = ProcessorTime.microseconds - processorTime
        let elapsed = Double(start.duration(to: .now) / .nanoseconds(1)) / 1e9
        let latencies = samples.flatMap { $0 }.sorted()
        let operations = latencies.count * callsPerSample
        let after = try await ServerCounts(redis)
        return WireRate(
            operationsPerSecond: Double(operations) / elapsed,
            processorMicroseconds: used / Double(operations),
            p50: latencies[latencies.count / 2],
            p99: latencies[latencies.count * 99 / 100],
            commandsPerRead: Double(after.commands - before.commands) / Double(max(1, after.reads - before.reads))
        )
    }

    /// Only one call of so many is timed, so that reading the clock does not show in the rate.
    private static let callsPerSample = 8

    /// Calls until the end and returns the timed calls' latencies in microseconds.
    private static func call(
        _ workload: Workload,
        _ redis: RedisClient,
        until end: MonotonicInstant
    ) async throws -> [Double] {
        var latencies: [Double] = []
        while true {
            let start = MonotonicInstant.now
            try await workload.run(redis)
            let now = MonotonicInstant.now
            latencies.append(start.duration(to: now) / .microseconds(1))
            for _ in 1..<callsPerSample { try await workload.run(redis) }
            if now >= end { return latencies }
        }
    }
}

/// The server's own counts of commands and reads.
private struct ServerCounts {
    let commands: Int
    let reads: Int

    init(_ redis: RedisClient) async throws {
        let stats = try await redis.info("stats")
        commands = stats["total_commands_processed"].flatMap { Int($0) } ?? 0
        reads = stats["total_reads_processed"].flatMap { Int($0) } ?? 0
    }
}
