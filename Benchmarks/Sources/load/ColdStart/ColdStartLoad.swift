import ArgumentParser
import Strata
import StrataRedis
import StrataTesting

/// `load coldstart`: a whole fleet begins at once above an empty Redis, and later loses it.
struct ColdStartLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coldstart",
        abstract: "Many instances begin at once above an empty Redis and a small source; later Redis comes back empty.",
        discussion: """
            Each instance is a client with a memory level, a link and an I/O thread of its own; all are in this process. They read \
            at a steady rate, each key by its popularity, from the first moment. A hit is a read that waited for no fetch.
            """
    )

    @Option(help: "Instances.")
    var instances = 50
    @Option(help: "Reads a second of each instance.")
    var rate = 20
    @Option(help: "Sets a second of all instances together.")
    var writes = 0
    @Option(help: "Of which changes Redis tells: broadcast, per-key or automatic.")
    var tracking = "broadcast"
    @Option(help: "Keys.")
    var keys = 500
    @Option(help: "The exponent of Zipf's law.")
    var exponent = 0.9
    @Option(help: "Calls that the source takes at a time.")
    var room = 10
    @Option(help: "How long a call takes, in milliseconds.")
    var fetchMilliseconds = 20
    @Option(help: "Seconds that are counted from the start, and from the return of Redis.")
    var seconds = 10
    @Option(help: "For how many seconds Redis is away.")
    var away = 3

    func run() async throws {
        try await RedisServer.withServer { server in
            let source = ColdStartSource(room: room, pause: .milliseconds(fetchMilliseconds))
            let tally = ColdStartTally()
            let zipf = ZipfDistribution(count: keys, exponent: exponent)
            let connections = ColdStartConnections(server)
            try await withThrowingTaskGroup(of: Void.self) { group in
                tally.begin()
                for number in 0..<instances {
                    group.addTask {
                        let url = "\(server.url)?tracking=\(tracking)"
                        let instance = try ColdStartInstance(url, number, source, tally, zipf)
                        await withTaskGroup(of: Void.self) { setting in
                            if writes > 0 {
                                setting.addTask { await instance.keepSetting(each: .seconds(instances) / writes) }
                            }
                            await instance.keepReading(each: .seconds(1) / rate)
                        }
                        await instance.redis.shutDown(within: .seconds(1))
                    }
                }
                try await report("coldstart", connections.count(for: .seconds(seconds)), source, tally)

                tally.begin()
                try await server.kill()
                try await Task.rest(for: .seconds(away))
                let counts = await source.takeCounts()
                print("coldstart.away.failures", Double(tally.failures), "1", "\(tally.reads) reads")
                print("coldstart.away.source_calls.ratio", ratio(counts), "1", "\(counts.keys) keys")

                try await server.restart(keepingData: false)
                tally.begin()
                try await report("coldstart.return", connections.count(for: .seconds(seconds)), source, tally)
                group.cancelAll()
            }
        }
    }

    private func report(
        _ name: String,
        _ connections: ColdStartConnections.Counts,
        _ source: ColdStartSource,
        _ tally: ColdStartTally
    ) async {
        let counts = await source.takeCounts()
        print("\(name).failures", Double(tally.failures), "1", "\(tally.reads) reads")
        if writes > 0 { print("\(name).failed_sets", Double(tally.failedSets), "1") }
        print("\(name).memory_hits.ratio", Double(tally.memoryHits) / Double(max(tally.reads, 1)), "1")
        print("\(name).source_calls.ratio", ratio(counts), "1", "\(counts.keys) keys")
        print("\(name).source_line.most", Double(counts.longestLine), "1", "\(room) calls at a time")
        print("\(name).hits95_s", tally.seconds(untilHits: 0.95) ?? -1, "s", floor(counts.keys))
        print("\(name).connections.per_instance", Double(connections.sum) / Double(instances), "1")
        print("\(name).connections.most_per_second", Double(connections.mostInASecond), "1/s", "\(instances) instances")
        print("\(name).server_cpu_s", connections.processor, "s", "\(seconds) s")
    }

    private func ratio(_ counts: ColdStartSource.Counts) -> Double {
        Double(counts.calls) / Double(max(counts.keys, 1))
    }

    private func floor(_ keys: Int) -> String {
        let alone = Double(keys * fetchMilliseconds) / Double(room) / 1_000
        return "-1: never; the source alone takes \(alone) s for \(keys) keys"
    }

    private func print(_ name: String, _ value: Double, _ unit: String, _ comparedTo: String? = nil) {
        Measurement(name: name, value: value, unit: unit, comparedTo: comparedTo).print()
    }
}
