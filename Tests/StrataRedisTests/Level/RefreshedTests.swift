import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

#if ServiceLifecycle
import ServiceLifecycle
import ServiceLifecycleTestKit
#endif

@Suite("Keys that one instance of a fleet fetches anew on a schedule", .timeLimit(.minutes(5)))
struct RefreshedTests {
    private typealias Cache = Composed<MemoryLevel<String, Int>, FetchingLevel<String, Int>>

    /// A source that counts, and can fail for a key.
    private final class Counted: Sendable {
        struct Failure: Error {}

        private let state = Locked((calls: [String: Int](), failing: Set<String>()))

        func calls(_ key: String) -> Int { state.withLock { $0.calls[key] ?? 0 } }

        func fail(_ keys: Set<String>) { state.withLock { $0.failing = keys } }

        func fetch(_ key: String) throws -> Int {
            try state.withLock { state in
                state.calls[key, default: 0] += 1
                if state.failing.contains(key) { throw Failure() }
                return state.calls[key] ?? 0
            }
        }
    }

    private let keyspace = Keyspace(TestServer.uniqueName())
    private let name = TestServer.uniqueName("refresh")
    private let source = Counted()

    /// With a lease that no instance loses because it stands still for some seconds.
    private static let quick = options(leaseDuration: .seconds(50))
    /// With a lease that runs out within a test.
    private static let brief = options(leaseDuration: .seconds(4))

    private static func options(leaseDuration: Duration) -> RefreshOptions {
        RefreshOptions(batch: 2, leaseDuration: leaseDuration, lookInterval: .milliseconds(20))
    }

    private func cache(_ redis: RedisClient) -> Cache {
        let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600), failureBackOff: nil)
        return MemoryLevel<String, Int>(limit: .entries(100))
            .compose(
                RedisLevel<String, Int>(redis, keyspace: keyspace)
                    .fetching(options) { [source] key in try source.fetch(key) }
            )
    }

    private func counter(_ name: String, _ level: some CacheLevel) -> Int? {
        level.label.counters.first { $0.name == name }?.value
    }

    /// Runs schedules until the body returns.
    private func running<Base: CacheLevel>(
        _ schedules: [Refreshed<Base>],
        _ body: ([Task<Void, Never>]) async throws -> Void
    ) async throws {
        let tasks = schedules.map { schedule in Task { await schedule.run() } }
        defer { for task in tasks { task.cancel() } }
        try await body(tasks)
        for task in tasks {
            task.cancel()
            await task.value
        }
    }

    @Test("one of three refreshes, and all have the new values; when it ends another one does")
    func turns() async throws {
        try await RedisServer.withServer { server in
            let fleet = try (0..<3)
                .map { _ in
                    cache(try TestServer.client(of: server))
                        .refreshAll(
                            ["a", "b", "c", "a"],
                            every: .milliseconds(20),
                            as: name,
                            over: try TestServer.client(of: server),
                            Self.quick
                        )
                }
            try await running(fleet) { tasks in
                while fleet.allSatisfy({ $0.statistics.rounds < 3 }) { try await nextTurn() }
                let leaders = fleet.indices.filter { fleet[$0].statistics.isLeading }
                #expect(leaders.count == 1)
                let leader = try #require(leaders.first)
                #expect(fleet.indices.filter { fleet[$0].statistics.rounds > 0 } == [leader])
                #expect(counter("refresh_leader", fleet[leader]) == 1)
                // The others read what it has stored, and do not ask the source.
                let other = fleet[(leader + 1) % 3]
                let before = try #require(try await other.get("a"))
                #expect(before >= 3 && fleet[leader].statistics.failed == 0)
                while try await other.get("a") ?? 0 < before + 3 { try await nextTurn() }
                #expect(other.base.lower.level.statistics.uncoordinatedFetches == 0)
                tasks[leader].cancel()
                await tasks[leader].value
                #expect(!fleet[leader].statistics.isLeading)
                while fleet.indices.allSatisfy({ $0 == leader || fleet[$0].statistics.rounds == 0 }) {
                    try await nextTurn()
                }
                #expect(fleet.count { $0.statistics.isLeading } == 1)
            }
            // A key that is named twice is asked for once in a round.
            let (a, b) = (source.calls("a"), source.calls("b"))
            #expect(abs(a - b) <= 2)
        }
    }

    @Test("an instance that is cut off leads no longer, and another one does after its lease")
    func cutOff() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let cut = try TestServer.client(of: proxy.url) {
                $0.reconnectDelay = .milliseconds(1) ... .milliseconds(20)
            }
            let (one, other) = (
                cache(cut).refreshAll(["a"], every: .milliseconds(20), as: name, over: cut, Self.brief),
                cache(try TestServer.client(of: server))
                    .refreshAll(
                        ["a"],
                        every: .milliseconds(20),
                        as: name,
                        over: try TestServer.client(of: server),
                        Self.quick
                    )
            )
            let first = Task { await one.run() }
            while one.statistics.rounds == 0 { try await nextTurn() }
            let second = Task { await other.run() }
            try proxy.admit(.refuse)
            proxy.resetConnections()
            while other.statistics.rounds < 2 { try await nextTurn() }
            while one.statistics.isLeading { try await nextTurn() }
            try proxy.admit(.accept)
            let rounds = other.statistics.rounds
            while other.statistics.rounds < rounds + 3 { try await nextTurn() }
            #expect(other.statistics.isLeading && !one.statistics.isLeading)
            for task in [first, second] {
                task.cancel()
                await task.value
            }
            await cut.shutDown()
            await proxy.stop()
        }
    }

    @Test("a process that refreshes is killed: the other one goes on")
    func killed() async throws {
        let path = try InstanceProcess.builtProduct(named: "StrataTestingInstance")
        try await RedisServer.withServer { server in
            let arguments = ["refresh", server.url, name]
            let begin = MonotonicInstant.now
            let fleet = [
                try await InstanceProcess.start(path, arguments: arguments),
                try await InstanceProcess.start(path, arguments: arguments),
            ]
            let heard = Shared<[Int]>([])
            let readers = fleet.indices.map { index in
                Task {
                    for await line in fleet[index].lines where line == "round" { heard.withLock { $0.append(index) } }
                }
            }
            while heard.withLock({ $0.count }) < 3 { try await nextTurn() }
            let leader = try #require(heard.withLock { $0.last })
            // A process that stands still for as long as its lease is, four seconds, loses it.
            let others = heard.withLock { $0.count { $0 != leader } }
            #expect(others == 0 || begin.duration(to: .now) > .seconds(4))
            _ = try await fleet[leader].kill()
            while heard.withLock({ $0.count { $0 != leader } }) == others { try await nextTurn() }
            _ = try await fleet[1 - leader].kill()
            for reader in readers { await reader.value }
        }
    }

    @Test("keys that fail are told and counted, keep their values, and hold up no other; so does a closure that fails")
    func failing() async throws {
        let redis = try await TestServer.client()
        let told = Shared<[String?]>([])
        let cache = cache(redis)
        let names = Shared<[String]?>(["a", "b", "c"])
        let keys: @Sendable () async throws -> [String] = {
            guard let keys = names.withLock({ $0 }) else { throw Counted.Failure() }
            return keys
        }
        let refreshed = cache.refreshAll(every: .milliseconds(10), as: name, over: redis, Self.quick) { key, _ in
            told.withLock { $0.append(key) }
        } keys: {
            try await keys()
        }
        try await running([refreshed]) { _ in
            while refreshed.statistics.rounds < 2 { try await nextTurn() }
            source.fail(["b"])
            while refreshed.statistics.failed == 0 { try await nextTurn() }
            let old = try await cache.get("b")
            #expect(old != nil)
            let (rounds, calls) = (refreshed.statistics.rounds, source.calls("c"))
            while refreshed.statistics.rounds < rounds + 3 { try await nextTurn() }
            #expect(source.calls("c") > calls)
            #expect(try await cache.get("b") == old)
            #expect(told.withLock { Set($0) } == ["b"])
            source.fail([])
            names.withLock { $0 = nil }
            // Told a moment after it is counted.
            while !told.withLock({ $0.contains(nil) }) { try await nextTurn() }
            #expect(refreshed.statistics.failedRounds > 0)
            // What the closure says counts in the next round.
            names.withLock { $0 = ["d"] }
            while source.calls("d") < 2 { try await nextTurn() }
        }
        #expect(counter("failed_refreshes", refreshed) ?? 0 > 0 && counter("refreshed_keys", refreshed) ?? 0 > 0)
        #expect(refreshed.statistics.lastDuration != nil && !refreshed.statistics.isLeading)
    }

    @Test("an instance leads for longer than the time between two rounds, however long that is")
    func tenure() async throws {
        let redis = try await TestServer.client()
        for (interval, least) in [
            (Duration.milliseconds(1), Duration.seconds(3_600)), (.seconds(21_600), .seconds(43_200)),
            (.seconds(Int64.max), EntryLifetime.longest),
        ] {
            let options = Self.quick
            let schedule = RefreshSchedule(cache(redis), redis, keyspace, name, interval, options, nil) { _, _ in
            } keys: {
                []
            }
            #expect(schedule.tenure >= least)
        }
    }

    @Test("an instance that is not told its keys in time lets another one try")
    func hanging() async throws {
        try await RedisServer.withServer { server in
            let gate = AsyncGate()
            let told = Shared<[String?]>([])
            var options = Self.brief
            options.keyTimeout = .milliseconds(50)
            func schedule(
                keys: @escaping @Sendable () async throws -> [String]
            ) throws -> Refreshed<Cache> {
                let redis = try TestServer.client(of: server)
                return cache(redis)
                    .refreshAll(every: .milliseconds(10), as: name, over: redis, options) { key, _ in
                        told.withLock { $0.append(key) }
                    } keys: {
                        try await keys()
                    }
            }
            let hanging = try schedule {
                try await gate.pass()
                return []
            }
            try await running([hanging]) { _ in
                while hanging.statistics.failedRounds == 0 { try await nextTurn() }
                let healthy = try schedule { ["a"] }
                try await running([healthy]) { _ in
                    while healthy.statistics.rounds < 2 { try await nextTurn() }
                }
            }
            #expect(told.withLock { $0.contains(nil) } && hanging.statistics.rounds == 0)
        }
    }

    @Test("a source that takes several keys gets a batch by one call")
    func several() async throws {
        let redis = try await TestServer.client()
        let calls = Shared<[Int]>([])
        let level = RedisLevel<String, Int>(redis, keyspace: keyspace)
            .fetchingSeveral(.lasting) { (keys: [String]) in
                calls.withLock { $0.append(keys.count) }
                return Dictionary(uniqueKeysWithValues: keys.map { ($0, 1) })
            }
        var options = Self.quick
        options.batch = 3
        let refreshed = level.refreshAll(["a", "b", "c", "d"], every: .seconds(600), as: name, over: redis, options)
        try await running([refreshed]) { _ in
            while refreshed.statistics.rounds == 0 { try await nextTurn() }
        }
        #expect(calls.withLock { $0 } == [3, 1])
        #expect(try await level.level.get(["a", "d"]) == [1, 1])
    }

    @Test("Redis away: nothing is refreshed, reads go on, and the schedule begins when it is back")
    func away() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            try proxy.admit(.refuse)
            let redis = try TestServer.client(of: proxy.url) {
                $0.reconnectDelay = .milliseconds(1) ... .milliseconds(20)
            }
            let refreshed = cache(redis).refreshAll(["a"], every: .milliseconds(10), as: name, over: redis, Self.brief)
            let run = Task { await refreshed.run() }
            #expect(try await refreshed.get("b") == 1)
            #expect(refreshed.statistics.rounds == 0)
            try proxy.admit(.accept)
            while refreshed.statistics.rounds < 2 { try await nextTurn() }
            run.cancel()
            await run.value
            await redis.shutDown()
            await proxy.stop()
        }
    }

    @Test("a cache whose calls bring their sources has none to ask, and says so")
    func sourceless() async throws {
        let redis = try await TestServer.client()
        let told = Shared<[CacheError.Code?]>([])
        let refreshed = RedisLevel<String, Int>(redis, keyspace: keyspace).fetchingPerCall()
            .refreshAll(every: .milliseconds(10), as: name, over: redis, Self.quick) { _, error in
                told.withLock { $0.append((error as? CacheError)?.code) }
            } keys: {
                ["a"]
            }
        try await running([refreshed]) { _ in
            while refreshed.statistics.failedRounds == 0 { try await nextTurn() }
        }
        #expect(told.withLock { $0.first } == .miss)
        #expect(refreshed.statistics.refreshed == 0 && refreshed.statistics.rounds == 0)
    }

    @Test("on a cluster, with keys at each primary")
    func cluster() async throws {
        let cluster = try await TestCluster.shared()
        let clients = try (0..<2).map { _ in try TestCluster.client(of: cluster) }
        let keys = TestCluster.keys("hot", of: cluster)
        let fleet = clients.map {
            cache($0).refreshAll(keys, every: .milliseconds(20), as: name, over: $0, Self.quick)
        }
        try await running(fleet) { _ in
            while fleet.allSatisfy({ $0.statistics.rounds < 3 }) { try await nextTurn() }
            #expect(fleet.count { $0.statistics.isLeading } == 1)
            for key in keys { #expect(try await fleet[0].get(key) ?? 0 >= 3) }
        }
        #expect(fleet.allSatisfy { $0.statistics.failed == 0 })
        for client in clients { await client.shutDown() }
    }

    @Test("the pause is shortened by chance, by the jitter at most")
    func jitter() {
        let pauses = (0..<200).map { _ in RefreshOptions(jitter: 0.5).pause(.seconds(10)) }
        #expect(pauses.allSatisfy { $0 >= .seconds(5) && $0 <= .seconds(10) } && Set(pauses).count > 100)
        #expect(RefreshOptions(jitter: 0).pause(.seconds(10)) == .seconds(10))
        #expect(RefreshOptions(jitter: .nan).pause(.seconds(10)) == .seconds(10))
    }

    #if ServiceLifecycle
    @Test("graceful shutdown ends the service, and its lease at once")
    func service() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            var options = Self.quick
            options.leaseDuration = .seconds(600)
            let fleet = try (0..<2)
                .map { _ in
                    cache(try TestServer.client(of: server))
                        .refreshAll(["a"], every: .milliseconds(10), as: name, over: redis, options)
                }
            try await testGracefulShutdown { trigger in
                try await withThrowingTaskGroup { group in
                    group.addTask { await fleet[0].run() }
                    while fleet[0].statistics.rounds == 0 { try await nextTurn() }
                    trigger.triggerGracefulShutdown()
                    try await group.waitForAll()
                }
            }
            let second = Task { await fleet[1].run() }
            while fleet[1].statistics.rounds == 0 { try await nextTurn() }
            second.cancel()
            await second.value
        }
    }
    #endif

    @Test("is a level like any other")
    func conforms() async throws {
        let redis = try await TestServer.client()
        let suite = CacheLevelConformance(abilities: [.absences, .tags]) {
            MemoryLevel<String, String>(limit: .entries(1_000))
                .compose(RedisLevel(redis, keyspace: Keyspace(TestServer.uniqueName("conformance")), codec: .cbor))
                .refreshAll([], every: .seconds(600), as: "conformance", over: redis)
        }
        for finding in await suite.run() { Issue.record("\(finding)") }
    }
}
