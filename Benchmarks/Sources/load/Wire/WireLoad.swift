import ArgumentParser
import StrataRedis
import StrataTesting

/// `load wire`: the Redis engine over one connection beside redis-benchmark with 50 connections.
struct WireLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wire",
        abstract: "GET, SET, MGET of 50 keys and 16 KiB values over one connection, beside redis-benchmark -P 1 -c 50."
    )

    @Option(parsing: .upToNextOption, help: "How many tasks call at once.")
    var tasks = [1, 16, 64, 256, 1024]
    @Option(help: "Rounds; the median counts.")
    var rounds = 5
    @Option(help: "Seconds that each number of tasks runs in a round.")
    var seconds = 0.5
    @Flag(help: "TLS beside plain text in the same run, and nothing else.")
    var tls = false
    @Flag(help: "Values of 64 KiB and 1 MiB, and MGET, beside hiredis in C, and nothing else.")
    var large = false
    @Option(parsing: .upToNextOption, help: "What is measured.")
    var workloads: [Workload] = [.get, .set, .mget50, .get16k]

    func run() async throws {
        if tls { return try await TLSCost(rounds: rounds, seconds: seconds).measure() }
        if large { return try await LargeValues(rounds: rounds, seconds: seconds).measure() }
        try await RedisServer.withServer { server in
            var configuration = try RedisConfiguration(url: server.url)
            configuration.connections = 1
            configuration.commandTimeout = .seconds(30)
            let redis = try RedisClient(configuration)
            try await Workload.prepare(redis)
            for workload in workloads { try await measure(workload, redis, server) }
        }
    }

    private func measure(_ workload: Workload, _ redis: RedisClient, _ server: RedisServer) async throws {
        var yardsticks: [Double] = []
        var alone: [Double] = []
        var least: [Double] = []
        var rates: [Int: [WireRate]] = [:]
        for _ in 0..<rounds {
            yardsticks.append(try await Yardstick.operationsPerSecond(workload, server))
            alone.append(try await Yardstick.operationsPerSecond(workload, server, connections: 1))
            if workload == .get, tasks.contains(1) {
                least.append(try await PollingLoop.operationsPerSecond(server, seconds: seconds))
            }
            for count in tasks {
                rates[count, default: []]
                    .append(
                        try await WireRate.measure(workload, redis, tasks: count, seconds: seconds)
                    )
            }
        }
        let yardstick = yardsticks.median
        let comparedTo = "redis-benchmark -P 1 -c 50, \(workload.rawValue), same run"
        Measurement(name: "wire.\(workload.rawValue).yardstick.ops", value: yardstick, unit: "1/s").print()
        if let rates = rates[1] {
            // The same machine's price of waiting for one reply at a time, which no client can hide.
            Measurement(
                name: "wire.\(workload.rawValue).tasks1.ratio_alone",
                value: zip(rates, alone).map { $0.operationsPerSecond / $1 }.median,
                unit: "1",
                comparedTo: "redis-benchmark -P 1 -c 1, \(workload.rawValue), same run"
            )
            .print()
        }
        if !least.isEmpty {
            Measurement(
                name: "wire.\(workload.rawValue).polling_loop.ratio",
                value: zip(least, yardsticks).map { $0 / $1 }.median,
                unit: "1",
                comparedTo: comparedTo
            )
            .print()
        }
        for count in tasks {
            let name = "wire.\(workload.rawValue).tasks\(count)"
            let rounds = rates[count] ?? []
            let ratios = zip(rounds, yardsticks).map { $0.operationsPerSecond / $1 }
            Measurement(name: name + ".ops", value: rounds.map(\.operationsPerSecond).median, unit: "1/s").print()
            Measurement(name: name + ".ratio", value: ratios.median, unit: "1", comparedTo: comparedTo).print()
            Measurement(name: name + ".cpu_us", value: rounds.map(\.processorMicroseconds).median, unit: "µs").print()
            Measurement(name: name + ".p50_us", value: rounds.map(\.p50).median, unit: "µs").print()
            Measurement(name: name + ".p99_us", value: rounds.map(\.p99).median, unit: "µs").print()
            Measurement(name: name + ".per_read", value: rounds.map(\.commandsPerRead).median, unit: "1").print()
        }
    }
}
