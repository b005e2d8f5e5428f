import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// One instance of a service: memory over a cluster.
final class ClusterInstance: Sendable {
    let redis: RedisClient
    let level: RedisLevel<String, String>
    let cache: Composed<MemoryLevel<String, String>, RedisLevel<String, String>>

    init(
        _ cluster: RedisCluster,
        _ keyspace: Keyspace,
        _ adjust: (inout RedisConfiguration) -> Void = { _ in }
    ) throws {
        redis = try TestCluster.client(of: cluster, adjust)
        level = RedisLevel(redis, keyspace: keyspace, codec: .text)
        cache = MemoryLevel<String, String>(limit: .entries(1_000)).compose(level)
    }

    /// Whether memory answers alone.
    func remembers(_ key: String) -> String? { cache.resident(key, at: .coarse)?.value }

    /// Returns when memory answers alone with a value; reads until then.
    ///
    /// On a busy machine a link may be late for a moment, and memory keeps nothing meanwhile.
    func keeps(_ value: String, for key: String) async throws {
        while remembers(key) != value { #expect(try await cache.get(key) == value) }
    }

    /// Returns when memory has let go of a key.
    func forgets(_ key: String) async throws { while remembers(key) != nil { try await nextTurn() } }

    /// Returns when the part of a key is trusted, or is not.
    func trusts(_ key: String, _ isTrusted: Bool = true) async throws {
        let fingerprint = level.fingerprint(of: key)
        while level.shared.isTold(fingerprint) != isTrusted { try await nextTurn() }
    }
}

@Suite("A level in a cluster", .timeLimit(.minutes(5)))
struct ClusterLevelTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    private func keys(_ count: Int) -> [String] { (0..<count).map { "key-\($0)" } }

    @Test("without links what a batch fetches is stored by the numbers that are, not by the known ones")
    func unread() async throws {
        let cluster = try await TestCluster.shared()
        func level() throws -> RedisLevel<String, String> {
            RedisLevel(try TestCluster.client(of: cluster), keyspace: keyspace, codec: .text, coherence: .none)
        }
        let (one, other) = (try level(), try level())
        // In all parts.
        for key in keys(300) { try await one.set("known", for: key) }
        try await other.clear()
        let fetches = Locked(0)
        let cache = one.fetchingSeveral(LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))) { keys in
            fetches.withLock { $0 += keys.count }
            return Dictionary(keys.map { ($0, "value") }) { first, _ in first }
        }
        let wanted = (0..<100).map { "fetched-\($0)" }
        for _ in 0..<2 { #expect(try await cache.get(wanted).allSatisfy { $0 == "value" }) }
        #expect(fetches.withLock { $0 } == 100)
    }

    @Test("values are set, read, read together and removed, and other instances let go of them")
    func values() async throws {
        let cluster = try await TestCluster.shared()
        let (one, other) = try (ClusterInstance(cluster, keyspace), ClusterInstance(cluster, keyspace))
        for instance in [one, other] { try await instance.level.ready(within: .seconds(60)) }
        for key in keys(60) { try await one.cache.set("old \(key)", for: key) }
        let found = try await other.cache.get(keys(60) + ["none"])
        let expected: [String?] = keys(60).map { "old \($0)" }
        #expect(found == expected + [nil])
        for key in keys(60) { try await other.keeps("old \(key)", for: key) }
        for key in keys(60) { try await one.cache.set("new \(key)", for: key) }
        for key in keys(60) {
            try await other.forgets(key)
            #expect(try await other.cache.get(key) == "new \(key)")
        }
        for key in keys(30) { try await other.cache.remove(key) }
        for key in keys(30) {
            try await one.forgets(key)
            #expect(try await one.cache.get(key) == nil)
        }
        #expect(try await one.cache.get("key-40") == "new key-40")
    }

    @Test("who listens to a client hears of the calls that its nodes make")
    func durations() async throws {
        let instance = try ClusterInstance(try await TestCluster.shared(), keyspace)
        let heard = Locked<[WorkDurations.Work: Int]>([:])
        let source = try #require(instance.level.label.durations.first)
        let listener = source.add { work, _, _ in heard.withLock { $0[work, default: 0] += 1 } }
        try await instance.level.ready(within: .seconds(60))
        for key in keys(20) { try await instance.level.set(key, for: key) }
        for key in keys(20) { #expect(try await instance.level.get(key) == key) }
        #expect(heard.withLock { $0[.call("read")] ?? 0 } >= 20 && heard.withLock { $0[.call("write")] ?? 0 } >= 20)
        source.remove(listener)
    }

    @Test("breakers that opened before the cluster was found are closed when it is")
    func foundLater() async throws {
        let cluster = try await TestCluster.shared()
        let proxy = try await FaultProxy.start(to: cluster.primaries[0].endpoint)
        try proxy.admit(.refuse)
        var configuration = try RedisConfiguration(url: proxy.url.replacing("redis://", with: "redis-cluster://"))
        configuration.reconnectDelay = .milliseconds(1) ... .milliseconds(20)
        configuration.breaker.slowAfter = .seconds(20)
        configuration.linkPingTimeout = .seconds(20)
        let redis = try RedisClient(configuration)
        let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
        while redis.outageStatistics.breakers[.read]?.state == .closed { _ = try? await level.get("k") }
        try proxy.admit(.accept)
        while (try? await level.get("k")) == nil, redis.cluster?.view == nil { try await nextTurn() }
        try await level.ready(within: .seconds(60))
        while (try? await level.get("k")) != .some(nil) { try await nextTurn() }
        #expect(redis.outageStatistics.breakers.values.allSatisfy { $0.state == .closed })
        await redis.shutDown()
        await proxy.stop()
    }

    @Test("an invalidation by tag, and a clear, reach the values of all nodes")
    func tags() async throws {
        let cluster = try await TestCluster.shared()
        let (one, other) = try (ClusterInstance(cluster, keyspace), ClusterInstance(cluster, keyspace))
        for instance in [one, other] { try await instance.level.ready(within: .seconds(60)) }
        for (number, key) in keys(60).enumerated() {
            try await one.cache.set(key, for: key, tags: [number.isMultiple(of: 2) ? "even" : "odd"])
        }
        for key in keys(60) { #expect(try await other.cache.get(key) == key) }
        try await one.cache.invalidate(tags: ["even"])
        for (number, key) in keys(60).enumerated() {
            if number.isMultiple(of: 2) {
                try await other.forgets(key)
                #expect(try await other.cache.get(key) == nil)
                #expect(try await one.cache.get(key) == nil)
            } else {
                try await other.keeps(key, for: key)
                #expect(try await one.cache.get(key) == key)
            }
        }
        try await other.cache.removeAll()
        for key in keys(60) {
            try await one.forgets(key)
            #expect(try await one.cache.get(key) == nil)
        }
        // An instance that has heard of nothing judges by the marks.
        let third = try ClusterInstance(cluster, keyspace)
        for key in keys(60) { #expect(try await third.cache.get(key) == nil) }
    }

    @Test("the marks of a keyspace lie at all primaries")
    func marks() async throws {
        let cluster = try await TestCluster.shared()
        let one = try ClusterInstance(cluster, keyspace)
        try await one.level.invalidate(tags: ["a"])
        var counts: [Int] = []
        for primary in cluster.primaries {
            let pattern = String(decoding: keyspace.marks, as: UTF8.self) + ":*"
            counts.append(try await primary.command("KEYS", pattern).elements?.count ?? 0)
        }
        #expect(counts.reduce(0, +) == KeyspacePart.count)
        #expect(counts.allSatisfy { $0 >= KeyspacePart.count / 4 })
    }

    @Test("missing keys of all nodes are fetched once by a fleet, by themselves and together")
    func leases() async throws {
        let cluster = try await TestCluster.shared()
        let calls = Shared<[String: Int]>([:])
        // None ends before its time on a busy machine.
        let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))
        let fleet = try (0..<3)
            .map { _ in
                try ClusterInstance(cluster, keyspace).level
                    .fetching(options) { key in
                        calls.withLock { $0[key, default: 0] += 1 }
                        return "value \(key)"
                    }
            }
        for instance in fleet { try await instance.level.ready(within: .seconds(60)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for instance in fleet {
                for key in keys(40) {
                    group.addTask {
                        let value = try await instance.get(key)
                        #expect(value == "value \(key)")
                    }
                }
                group.addTask { [all = keys(40)] in
                    let values = try await instance.get(all)
                    #expect(values == all.map { "value \($0)" })
                }
            }
            try await group.waitForAll()
        }
        #expect(calls.withLock { $0 }.allSatisfy { $0.value == 1 })
        #expect(calls.withLock { $0.count } == 40)
        #expect(fleet.reduce(0) { $0 + $1.level.statistics.stores } == 40)
    }

    @Test("an instance that is not told of changes goes by the marks of the nodes")
    func untold() async throws {
        let cluster = try await TestCluster.shared()
        let one = try ClusterInstance(cluster, keyspace)
        let redis = try TestCluster.client(of: cluster)
        let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text, coherence: .none)
        for key in keys(30) { try await level.set(key, for: key, tags: ["t"]) }
        #expect(try await level.get(keys(30)) == keys(30))
        try await one.level.invalidate(tags: ["t"])
        #expect(try await level.get(keys(30)).allSatisfy { $0 == nil })
        for key in keys(30) { #expect(try await level.get(key) == nil) }
    }

    @Test("the loss of one node's link ends the trust in that node's keys, and in no others")
    func lostLink() async throws {
        try await TestCluster.with { cluster in
            let one = try ClusterInstance(cluster, keyspace)
            try await one.level.ready(within: .seconds(60))
            let names = TestCluster.keys("key", of: cluster)
            for key in names { try await one.cache.set("value", for: key) }
            for key in names { #expect(one.remembers(key) == "value") }
            try await cluster.primaries[0].command("CLIENT", "KILL", "TYPE", "pubsub")
            // What was kept may have changed unheard, until the link stands again.
            try await one.forgets(names[0])
            for key in names.dropFirst() {
                #expect(one.level.shared.isTold(one.level.fingerprint(of: key)))
                #expect(one.remembers(key) == "value")
            }
            try await one.trusts(names[0])
            #expect(one.remembers(names[0]) == nil)
            #expect(try await one.cache.get(names[0]) == "value")
            for key in names.dropFirst() { #expect(one.remembers(key) == "value") }
        }
    }

    @Test("the sweep and the inspection see the values of all nodes")
    func sweep() async throws {
        let cluster = try await TestCluster.shared()
        let one = try ClusterInstance(cluster, keyspace)
        for key in keys(40) { try await one.level.set(key, for: key, tags: ["t"]) }
        try await one.level.invalidate(tags: ["t"])
        try await one.level.set("left", for: "left")
        let progress = try await one.level.sweep(rate: 100_000)
        #expect(progress.looked == 41 && progress.removed == 40)
        #expect(try await one.level.get("left") == "left")
        #expect(try await KeyspaceInspector(one.redis, keyspace).exists())
        #expect(try await KeyspaceInspector(one.redis, keyspace).counts().values == 1)
    }
}
