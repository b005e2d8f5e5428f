import ArgumentParser
import Strata
import StrataRedis
import StrataTesting
import Synchronization

/// What became of calls while slots moved.
private final class MoveCounts: Sendable {
    let isOver = Atomic(false)
    let calls = Atomic(0)
    let errors = Atomic(0)
    let wrong = Atomic(0)
}

/// `load cluster`: three primaries beside one server, and slots that move under load.
struct ClusterLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "GETs a processor second on three primaries beside one server; callers' errors while slots move."
    )

    @Option(help: "How many tasks call at once.")
    var tasks = 256
    @Option(help: "Rounds; the median counts.")
    var rounds = 7
    @Option(help: "Seconds that each runs in a round.")
    var seconds = 1.0
    @Option(help: "How many slots move.")
    var slots = 100

    static let keys = (0..<4_096).map { RedisKey("load:cluster:\($0)") }

    func run() async throws {
        var clusterConfiguration = RedisCluster.Configuration()
        clusterConfiguration.deadline = .seconds(60)
        let cluster = try await RedisCluster.start(clusterConfiguration)
        do {
            try await RedisServer.withServer { server in try await measure(cluster, server) }
            try await move(cluster)
        } catch {
            try? await cluster.stop()
            throw error
        }
        try await cluster.stop()
    }

    private func client(_ url: String) throws -> RedisClient {
        var configuration = try RedisConfiguration(url: url)
        configuration.commandTimeout = .seconds(30)
        return try RedisClient(configuration)
    }

    // MARK: Speed

    private func measure(_ cluster: RedisCluster, _ server: RedisServer) async throws {
        let (one, three) = (try client(server.url), try client(cluster.url))
        for redis in [one, three] {
            for key in Self.keys { try await redis.set(key, Workload.small) }
        }
        var rounds: [(single: ClusterRate, several: ClusterRate)] = []
        for _ in 0..<self.rounds {
            let single = try await rate(one, [server])
            rounds.append((single, try await rate(three, cluster.primaries)))
        }
        func print(_ part: String, _ values: [Double], _ unit: String, comparedTo: String? = nil) {
            Measurement(name: "cluster.get.\(part)", value: values.median, unit: unit, comparedTo: comparedTo).print()
        }
        print("per_cpu", rounds.map(\.several.callsPerProcessorSecond), "1/s")
        print(
            "per_cpu.ratio",
            rounds.map { $0.several.callsPerProcessorSecond / $0.single.callsPerProcessorSecond },
            "1",
            comparedTo: "one server, GET of 100 bytes, \(tasks) tasks, same run"
        )
        for (name, rates) in [("one", rounds.map(\.single)), ("three", rounds.map(\.several))] {
            print("\(name).client_us", rates.map { $0.clientSeconds / $0.calls * 1e6 }, "µs")
            print("\(name).servers_us", rates.map { $0.serverSeconds / $0.calls * 1e6 }, "µs")
            print("\(name).per_read", rates.map { $0.calls / $0.reads }, "1")
        }
    }

    private func rate(_ redis: RedisClient, _ servers: [RedisServer]) async throws -> ClusterRate {
        let before = try await ClusterRate(of: servers)
        let end = MonotonicInstant.now.advanced(by: .seconds(seconds))
        var calls = 0
        try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<tasks {
                group.addTask {
                    var number = task * 16
                    var calls = 0
                    repeat {
                        for _ in 0..<8 {
                            _ = try await redis.get(Self.keys[number & (Self.keys.count - 1)])
                            number += 1
                        }
                        calls += 8
                    } while .now < end
                    return calls
                }
            }
            for try await some in group { calls += some }
        }
        var rate = try await ClusterRate(of: servers)
        rate.subtract(before)
        rate.calls = Double(calls)
        return rate
    }

    // MARK: Moving slots

    private func move(_ cluster: RedisCluster) async throws {
        let redis = try client(cluster.url)
        let level = RedisLevel<Int, String>(redis, keyspace: "load", codec: .text)
        try await level.ready(within: .seconds(20))
        for key in 0..<2_000 { try await level.set("value \(key)", for: key) }
        let counts = MoveCounts()
        let cache = MemoryLevel<Int, String>(limit: .entries(500)).compose(level)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<64 {
                group.addTask {
                    var number = task * 31
                    while !counts.isOver.load(ordering: .acquiring) {
                        number += 1
                        let key = number % 2_000
                        do {
                            switch number % 8 {
                            case 0: try await cache.set("value \(key)", for: key)
                            case 1:
                                let some = (0..<20).map { (key + $0) % 2_000 }
                                let values = try await cache.get(some)
                                if values != some.map({ "value \($0)" }) {
                                    counts.wrong.wrappingAdd(1, ordering: .relaxed)
                                }
                            default:
                                if try await cache.get(key) != "value \(key)" {
                                    counts.wrong.wrappingAdd(1, ordering: .relaxed)
                                }
                            }
                        } catch {
                            counts.errors.wrappingAdd(1, ordering: .relaxed)
                        }
                        counts.calls.wrappingAdd(1, ordering: .relaxed)
                    }
                }
            }
            let (source, target) = (cluster.primaries[0], cluster.primaries[2])
            let start = MonotonicInstant.now
            for slot in 0..<slots { try await cluster.move(slot, from: source, to: target) }
            Measurement(
                name: "cluster.migration.seconds",
                value: start.duration(to: .now) / .seconds(1),
                unit: "s"
            )
            .print()
            counts.isOver.store(true, ordering: .releasing)
            try await group.waitForAll()
        }
        Measurement(name: "cluster.migration.calls", value: Double(counts.calls.load(ordering: .relaxed)), unit: "1")
            .print()
        Measurement(
            name: "cluster.migration.wrong_values",
            value: Double(counts.wrong.load(ordering: .relaxed)),
            unit: "1"
        )
        .print()
        Measurement(
            name: "cluster.migration.caller_errors",
            value: Double(counts.errors.load(ordering: .relaxed)),
            unit: "1",
            comparedTo: "\(slots) slots moved from one primary to another under 64 tasks"
        )
        .print()
        guard counts.wrong.load(ordering: .relaxed) == 0, counts.errors.load(ordering: .relaxed) == 0 else {
            throw ExitCode(1)
        }
    }
}
