import CHiredisPipeline
import Foundation
import StrataRedis
import StrataTesting

/// Large values over one connection, beside hiredis in C with as many calls under way, in turns.
struct LargeValues {
    let rounds: Int
    let seconds: Double

    func measure() async throws {
        try await RedisServer.withServer { server in
            guard let port = server.port else { throw Yardstick.Failure(description: "the server has no TCP port") }
            var configuration = try RedisConfiguration(url: server.url)
            configuration.connections = 1
            configuration.commandTimeout = .seconds(30)
            let redis = try RedisClient(configuration)
            try await Workload.prepare(redis)
            for workload in [Workload.get64k, .get1m, .mget50] {
                for tasks in [1, 8] { try await measure(workload, redis, Int32(port), tasks: tasks) }
            }
            await redis.shutDown()
        }
    }

    private func measure(_ workload: Workload, _ redis: RedisClient, _ port: Int32, tasks: Int) async throws {
        var rates: [WireRate] = []
        var yardsticks: [Double] = []
        for _ in 0..<rounds {
            yardsticks.append(try await Self.hiredis(workload, port, depth: Int32(tasks), seconds: seconds))
            rates.append(try await WireRate.measure(workload, redis, tasks: tasks, seconds: seconds))
        }
        let name = "large.\(workload.rawValue).tasks\(tasks)"
        let megabytes = Double(workload.bytes) / 1e6
        Measurement(
            name: "\(name).ratio",
            value: zip(rates, yardsticks).map { $0.operationsPerSecond / $1 }.median,
            unit: "1",
            comparedTo: "hiredis in C with \(tasks) calls under way, \(workload.rawValue), same run"
        )
        .print()
        Measurement(name: "\(name).mb", value: rates.map(\.operationsPerSecond).median * megabytes, unit: "MB/s")
            .print()
        Measurement(name: "\(name).hiredis.mb", value: yardsticks.median * megabytes, unit: "MB/s").print()
        Measurement(name: "\(name).cpu_us", value: rates.map(\.processorMicroseconds).median, unit: "µs").print()
    }

    /// What hiredis alone reaches, on a thread of its own.
    private static func hiredis(
        _ workload: Workload,
        _ port: Int32,
        depth: Int32,
        seconds: Double
    ) async throws -> Double {
        let names = workload.command.dropFirst().map { strdup($0) }
        defer { for name in names { free(name) } }
        nonisolated(unsafe) let keys = names.map { UnsafePointer($0) }
        let rate = await withCheckedContinuation { done in
            Thread.detachNewThread {
                done.resume(
                    returning: strata_hiredis_gets("127.0.0.1", port, keys, Int32(keys.count), depth, seconds)
                )
            }
        }
        guard rate > 0 else { throw Yardstick.Failure(description: "hiredis did not get the value") }
        return rate
    }
}
