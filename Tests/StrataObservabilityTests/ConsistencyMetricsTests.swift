#if Observability
import MetricsTestKit
import Strata
import StrataRedis
import StrataTesting
import Testing

@testable import StrataObservability

@Suite("Metrics of a monitor of consistency", .timeLimit(.minutes(5)))
struct ConsistencyMetricsTests {
    private let keyspace = Keyspace(Observed.uniqueName())

    private func checks(_ exported: TestMetrics, _ delay: String, _ result: String) -> Int {
        exported.count(
            "cache.consistency.checks",
            [("cache.name", "c"), ("cache.delay", delay), ("cache.result", result)]
        )
    }

    @Test("what was counted is exported once, by delay and result, and the nines as they stand")
    func counts() throws {
        let monitor = FixedCounts()
        let exported = TestMetrics()
        let metrics = CacheMetrics(factory: exported)
        try metrics.add(consistency: monitor, as: "c")
        metrics.record()
        metrics.record()
        #expect(checks(exported, "0.1", "consistent") == 10)
        #expect(exported.level("cache.consistency.nines", [("cache.delay", "0.1")]) == 1)
        #expect(exported.level("cache.consistency.listening") == 0)
        monitor.counts.withLock { counts in
            counts.delays = [
                .init(.milliseconds(100), results: ["consistent": 25, "inconsistent": 2], nines: 1.13),
                .init(.seconds(60), results: ["consistent": 3]),
            ]
            (counts.changes, counts.leftOut, counts.abandoned) = (40, 5, 6)
            (counts.instances, counts.isListening) = (7, true)
        }
        metrics.record()
        #expect(checks(exported, "0.1", "consistent") == 25 && checks(exported, "0.1", "inconsistent") == 2)
        #expect(checks(exported, "60", "consistent") == 3)
        #expect(exported.level("cache.consistency.nines", [("cache.delay", "0.1")]) == 1.13)
        #expect(exported.level("cache.consistency.nines", [("cache.delay", "60")]) == nil)
        #expect(exported.count("cache.consistency.changes") == 40)
        #expect(exported.count("cache.consistency.left_out") == 5)
        #expect(exported.count("cache.consistency.abandoned") == 6)
        #expect(exported.level("cache.consistency.instances") == 7)
        #expect(exported.level("cache.consistency.listening") == 1)
        // Where nothing was checked for an hour there are none.
        monitor.counts.withLock { $0.delays[0].nines = nil }
        metrics.record()
        #expect(exported.level("cache.consistency.nines", [("cache.delay", "0.1")]) == nil)
        #expect(checks(exported, "0.1", "consistent") == 25)
    }

    @Test("a monitor may have the name of its cache; another one may not; after a removal the name is free")
    func names() throws {
        let exported = TestMetrics()
        let metrics = CacheMetrics(factory: exported)
        try metrics.add(MemoryLevel<Int, Int>(limit: .entries(1)), as: "c")
        try metrics.add(consistency: FixedCounts(), as: "c")
        #expect(throws: ObservabilityError.self) { try metrics.add(consistency: FixedCounts(), as: "c") }
        metrics.record()
        #expect(metrics.removeConsistency("c") && !metrics.removeConsistency("c"))
        #expect(exported.recorders.allSatisfy { !$0.label.hasPrefix("cache.consistency") })
        #expect(exported.level("cache.limit") == 1)
        try metrics.add(consistency: FixedCounts(), as: "c")
    }

    @Test("a name in the process's own metrics is free again when the metrics are gone")
    func ofProcess() throws {
        let name = Observed.uniqueName()
        var first: CacheMetrics? = CacheMetrics()
        try first?.add(consistency: FixedCounts(), as: name)
        #expect(throws: ObservabilityError.self) { try CacheMetrics().add(consistency: FixedCounts(), as: name) }
        first = nil
        try CacheMetrics().add(consistency: FixedCounts(), as: name)
    }

    @Test(
        "the delay of a series is in seconds",
        arguments: [(100, "0.1"), (1, "0.001"), (1500, "1.5"), (60_000, "60")]
    )
    func delays(_ milliseconds: Int, _ text: String) {
        #expect(ConsistencyReading.seconds(.milliseconds(milliseconds)) == text)
    }

    @Test("a monitor at work exports what its report has")
    func atWork() async throws {
        let redis = try Observed.client(await RedisServer.shared().url)
        let memory = MemoryLevel<String, String>(limit: .entries(10))
        let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
        let cache = memory.compose(level)
        let member = FleetMember()
        member.add(cache, of: level, memory: memory)
        let monitor = ConsistencyMonitor(redis, keyspace: keyspace, delays: [.milliseconds(50)], rate: 60)
        let exported = TestMetrics()
        let metrics = CacheMetrics(factory: exported)
        try metrics.add(consistency: monitor, as: "c")
        let running = [Task { await member.run() }, Task { await monitor.run() }]
        while monitor.report.total[0].consistent < 3 {
            try await cache.set("v", for: "k")
            try await Task.pause(for: .milliseconds(100))
        }
        metrics.record()
        #expect(exported.level("cache.consistency.instances") == 1)
        #expect(exported.level("cache.consistency.listening") == 1)
        for task in running { task.cancel() }
        for task in running { await task.value }
        metrics.record()
        let report = monitor.report
        #expect(checks(exported, "0.05", "consistent") == report.total[0].consistent)
        #expect(checks(exported, "0.05", "inconsistent") == 0)
        #expect(exported.level("cache.consistency.nines") == report.total[0].nines)
        #expect(exported.count("cache.consistency.changes") == report.changes)
        // It measures nothing any more, and says so.
        #expect(exported.level("cache.consistency.listening") == 0)
    }
}
#endif
