#if Observability
import Foundation
import MetricsTestKit
import Strata
import StrataRedis
import StrataTesting
import Testing

@testable import StrataObservability

@Suite("Metrics of a cache", .timeLimit(.minutes(5)))
struct CacheMetricsTests {
    private let keyspace = Keyspace(Observed.uniqueName())

    private func level(_ redis: RedisClient) -> RedisLevel<Int, String> {
        RedisLevel(redis, keyspace: keyspace, codec: .text)
    }

    @Test("what two reads do is in the counters, once each, after two readings and after ten")
    func deltas() async throws {
        let redis = try Observed.client(await RedisServer.shared().url)
        let level = level(redis)
        try await level.ready(within: .seconds(60))
        let cache = MemoryLevel<Int, String>(limit: .entries(10))
            .compose(level.fetching(LeaseOptions(duration: .seconds(60))) { "value \($0)" })
        let exported = TestMetrics()
        let metrics = CacheMetrics(factory: exported)
        try metrics.add(cache, as: "c")
        func requests(_ level: String, _ result: String) -> Int {
            exported.count(
                "cache.requests",
                [("cache.name", "c"), ("cache.level", level), ("cache.result", result)]
            )
        }

        #expect(try await cache.get(1) == "value 1")
        metrics.record()
        #expect(requests("memory", "hit") == 0)
        #expect(requests("memory", "miss") == 1)
        #expect(requests("fetching.redis", "miss") == 1)
        #expect(exported.count("cache.fetches") == 1)
        #expect(exported.count("cache.insertions", [("cache.level", "memory")]) == 1)
        #expect(exported.level("cache.entries", [("cache.level", "memory")]) == 1)
        #expect(exported.level("cache.weight", [("cache.level", "memory")]) == 1)
        #expect(exported.level("cache.limit", [("cache.level", "memory")]) == 10)
        #expect(exported.durations("cache.fetch.duration", [("error.type", "")]) == 1)

        #expect(try await cache.get(1) == "value 1")
        #expect(try await cache.get(2) == "value 2")
        while redis.outageStatistics.untrustedReason != nil { try await nextTurn() }
        for _ in 0..<9 { metrics.record() }
        #expect(requests("memory", "hit") == 1)
        #expect(requests("memory", "miss") == 2)
        #expect(requests("fetching.redis", "miss") == 2)
        #expect(exported.count("cache.fetches") == 2)
        #expect(exported.count("cache.stores", [("cache.result", "stored")]) == 2)
        #expect(exported.level("cache.entries", [("cache.level", "memory")]) == 2)
        #expect(exported.level("cache.link.trusted") == 1)
        #expect(exported.level("cache.breaker.state", [("cache.operation", "read")]) == 0)
        #expect(exported.durations("db.client.operation.duration", [("db.operation.name", "read")]) >= 2)
        #expect(exported.durations("db.client.operation.duration", [("db.operation.name", "lease")]) >= 2)
        #expect(exported.durations("db.client.operation.duration", [("db.system.name", "")]) == 0)
    }

    @Test("a counter that begins anew adds what it has counted since, and never less than nothing")
    func reset() throws {
        let level = ReportingLevel()
        let exported = TestMetrics()
        let metrics = CacheMetrics(factory: exported)
        try metrics.add(level, as: "c")
        for count in [5, 7, 2, 2, -1, 4] {
            level.counters.withLock { $0 = [.init("hits", count), .init("waiting", count)] }
            metrics.record()
        }
        #expect(exported.counters(label: "cache.requests").flatMap(\.values) == [5, 2, 2, 4])
        #expect(exported.level("cache.level.counter", [("cache.counter", "waiting")]) == 4)
    }

    @Test("a name is taken once, in one object and in the process, and free again when its metrics are gone")
    func names() throws {
        let cache = MemoryLevel<Int, Int>(limit: .entries(4))
        let name = Observed.uniqueName()
        func isRefused(_ metrics: CacheMetrics) throws -> Bool {
            do throws(ObservabilityError) {
                try metrics.add(cache, as: name)
                return false
            } catch {
                #expect(error.code == .nameTaken)
                return true
            }
        }
        let own = CacheMetrics(factory: TestMetrics())
        #expect(try !isRefused(own))
        #expect(try isRefused(own))
        do {
            let process = CacheMetrics()
            #expect(try !isRefused(process))
            #expect(try isRefused(CacheMetrics()))
            #expect(try isRefused(CacheMetrics()), "a refused object has freed a name that is not its own")
            #expect(try !isRefused(CacheMetrics(factory: TestMetrics())))
            withExtendedLifetime(process) {}
        }
        #expect(try !isRefused(CacheMetrics()))
    }

    @Test("a cache that is taken out: its series end, it is let go, its name is free; the shared client is told on")
    func removed() async throws {
        let redis = try Observed.client(await RedisServer.shared().url)
        let exported = TestMetrics()
        let metrics = CacheMetrics(factory: exported)
        weak var held: CountedSource?
        do {
            let counted = CountedSource()
            held = counted
            let left = RedisLevel<Int, Int>(redis, keyspace: keyspace, codec: .json).fetching { counted.next($0) }
            try metrics.add(left, as: "left")
            let stays = RedisLevel<Int, Int>(redis, keyspace: Keyspace(Observed.uniqueName()), codec: .json)
            try metrics.add(stays, as: "stays")
            #expect(try await left.get(1) == 1)
            metrics.record()
            #expect(exported.count("cache.fetches", [("cache.name", "left")]) == 1)
            #expect(exported.durations("cache.fetch.duration", [("cache.name", "left")]) == 1)

            #expect(metrics.remove("left"))
            #expect(!metrics.remove("left"))
            #expect(try await left.get(2) == 2)
            metrics.record()
            #expect(exported.counters(label: "cache.fetches", dimensions: [("cache.name", "left")]).isEmpty)
            #expect(exported.recorders(label: "cache.flights", dimensions: [("cache.name", "left")]).isEmpty)
            #expect(exported.timers(label: "cache.fetch.duration", dimensions: [("cache.name", "left")]).isEmpty)
            #expect(!exported.counters(label: "cache.requests", dimensions: [("cache.name", "stays")]).isEmpty)
            let calls = exported.durations("db.client.operation.duration", [("db.operation.name", "remove")])
            try await stays.remove(1)
            #expect(exported.durations("db.client.operation.duration", [("db.operation.name", "remove")]) == calls + 1)
            metrics.remove("stays")
            try await stays.remove(1)
            #expect(exported.durations("db.client.operation.duration", [("db.operation.name", "remove")]) == calls + 1)
            try metrics.add(stays, as: "left")
            metrics.remove("left")
        }
        while held != nil { try await nextTurn() }
        #expect(held == nil)
    }

    @Test("taken out while it is read: the reading leaves no series behind")
    func removedDuringReading() async throws {
        let level = ReportingLevel()
        let exported = TestMetrics()
        let metrics = CacheMetrics(factory: exported)
        try metrics.add(level, as: "c")
        level.counters.withLock { $0 = [.init("hits", 1)] }
        // A reading asks twice: for who tells durations, then for the counters.
        let asked = Locked(0)
        level.onLabel.withLock { onLabel in
            onLabel = {
                let count = asked.withLock { count in
                    count += 1
                    return count
                }
                if count == 2 { metrics.remove("c") }
            }
        }
        metrics.record()
        level.onLabel.withLock { $0 = {} }
        #expect(asked.withLock { $0 } == 2)
        #expect(exported.counters(label: "cache.requests").isEmpty)
        #expect(!metrics.remove("c"))
    }

    @Test("levels of one kind have paths of their own")
    func paths() throws {
        let kinds = ["a", "a", "a_2", "a", "a_2"]
        let label = LevelLabel("root", parts: kinds.map { LevelLabel($0) })
        let paths = label.nodes.map(\.path)
        #expect(Set(paths).count == kinds.count + 1)
        let cache = MemoryLevel<Int, Int>(limit: .entries(4)).compose(MemoryLevel(limit: .entries(8)))
        let exported = TestMetrics()
        let metrics = CacheMetrics(factory: exported)
        try metrics.add(cache, as: "c")
        metrics.record()
        #expect(exported.level("cache.limit", [("cache.level", "memory")]) == 4)
        #expect(exported.level("cache.limit", [("cache.level", "memory_2")]) == 8)
    }

    @Test("a dead Redis: the source's work, the failed calls, the open breaker and the link are seen")
    func deadRedis() async throws {
        let server = try await RedisServer.start()
        let redis = try Observed.client(server.url) {
            $0.reconnectDelay = .milliseconds(1) ... .milliseconds(20)
            $0.breaker.minimumCalls = 4
            $0.breaker.pause = .seconds(3_600) ... .seconds(3_600)
        }
        let cache = level(redis).fetching { "value \($0)" }
        let exported = TestMetrics()
        let metrics = CacheMetrics(factory: exported)
        try metrics.add(cache, as: "c")
        #expect(try await cache.get(0) == "value 0")
        metrics.record()
        #expect(exported.count("cache.fetch.uncoordinated") == 0)
        try await server.kill()
        var number = 0
        while redis.outageStatistics.breakers[.read]?.state != .open {
            number += 1
            #expect(try await cache.get(number) == "value \(number)")
        }
        while redis.outageStatistics.untrustedReason == nil { try await nextTurn() }
        metrics.record()
        #expect(exported.count("cache.fetch.uncoordinated") == number)
        #expect(exported.count("cache.failures", [("cache.operation", "call")]) >= number)
        #expect(exported.level("cache.breaker.state", [("cache.operation", "read")]) == 2)
        #expect(exported.count("cache.breaker.openings") >= 1)
        #expect(exported.level("cache.link.trusted") == 0)
        let failed = exported.timers(label: "db.client.operation.duration")
            .filter { $0.dimensions.contains { $0.0 == "error.type" && $0.1 != "" } }
        #expect(!failed.isEmpty)
        await #expect(throws: (any Error).self) { try await cache.remove(0) }
        metrics.record()
        #expect(exported.level("cache.invalidations.pending") == 1)
    }

    @Test("errors of the source are told by their kind; kinds beyond the limit share one")
    func errors() async throws {
        let cache = ClosureFetcher<Int, Int> { _ in throw NoSuchRow() }
        let exported = TestMetrics()
        let metrics = CacheMetrics(factory: exported)
        try metrics.add(cache, as: "c")
        await #expect(throws: NoSuchRow.self) { try await cache.get(1) }
        metrics.record()
        #expect(exported.count("cache.fetches") == 1)
        #expect(exported.count("cache.fetch.failures") == 1)
        #expect(exported.durations("cache.fetch.duration", [("error.type", "NoSuchRow")]) == 1)

        let recorder = DurationRecorder("c", "l", [:], exported)
        for number in 0..<100 { recorder.record(.fetch, 1, "Error\(number)") }
        #expect(exported.timers(label: "cache.fetch.duration", dimensions: [("cache.level", "l")]).count == 33)
        #expect(exported.durations("cache.fetch.duration", [("cache.level", "l"), ("error.type", "_OTHER")]) == 68)
    }

    @Test("two caches over one client: its calls are told once")
    func sharedClient() async throws {
        let redis = try Observed.client(await RedisServer.shared().url)
        let first = level(redis)
        let second = RedisLevel<Int, String>(redis, keyspace: Keyspace(Observed.uniqueName()), codec: .text)
        let exported = TestMetrics()
        let metrics = CacheMetrics(factory: exported)
        try metrics.add(first, as: "a")
        try metrics.add(second, as: "b")
        try await first.remove(1)
        #expect(exported.durations("db.client.operation.duration", [("db.operation.name", "remove")]) == 1)
        try await second.remove(1)
        #expect(exported.durations("db.client.operation.duration", [("db.operation.name", "remove")]) == 2)
        withExtendedLifetime(metrics) {}
    }

    @Test("when the metrics are gone, nothing is told any more")
    func gone() async throws {
        let cache = ClosureFetcher<Int, Int> { $0 }
        let exported = TestMetrics()
        do {
            let metrics = CacheMetrics(factory: exported)
            try metrics.add(cache, as: "c")
            _ = try await cache.get(1)
            withExtendedLifetime(metrics) {}
        }
        _ = try await cache.get(2)
        #expect(exported.durations("cache.fetch.duration") == 1)
    }

    @Test("a run reads at once, and once more when it is cancelled")
    func run() async throws {
        let level = ReportingLevel()
        level.counters.withLock { $0 = [.init("hits", 1)] }
        let exported = TestMetrics()
        let metrics = CacheMetrics(interval: .seconds(3_600), factory: exported)
        try metrics.add(level, as: "c")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await metrics.run() }
            while exported.count("cache.requests") != 1 { try await nextTurn() }
            level.counters.withLock { $0 = [.init("hits", 4)] }
            group.cancelAll()
            try await group.waitForAll()
        }
        #expect(exported.count("cache.requests") == 4)
    }
}
#endif
