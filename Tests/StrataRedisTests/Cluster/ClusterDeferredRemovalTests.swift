import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Removals that are deferred while a node of a cluster stands still", .serialized, .timeLimit(.minutes(5)))
struct ClusterDeferredRemovalTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    /// A cluster that serves what it can, one instance with removals of its own kind, and another one; both remember a
    /// key of each primary.
    private func with(
        _ removals: RemovalMode,
        _ body: (RedisCluster, Instance, ClusterInstance, _ keys: [String]) async throws -> Void
    ) async throws {
        // No node holds the one that stands still for down, not on a busy machine either.
        try await TestCluster.with(
            nodeTimeout: .seconds(60),
            server: .init(directives: ["cluster-require-full-coverage no"])
        ) { cluster in
            let redis = try TestCluster.client(of: cluster) {
                $0.commandTimeout = .seconds(10)
                $0.redisBudget = .seconds(10)
            }
            let one = Instance(
                RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text, removals: removals)
            )
            let other = try ClusterInstance(cluster, keyspace)
            try await one.level.ready(within: .seconds(60))
            try await other.level.ready(within: .seconds(60))
            let keys = TestCluster.keys("key", of: cluster)
            for key in keys {
                try await other.cache.set("value", for: key, tags: ["t"])
                #expect(try await one.cache.get(key) == "value")
            }
            try await body(cluster, one, other, keys)
            await redis.shutDown()
        }
    }

    private struct Instance {
        let level: RedisLevel<String, String>
        let cache: Composed<MemoryLevel<String, String>, RedisLevel<String, String>>

        init(_ level: RedisLevel<String, String>) {
            self.level = level
            cache = MemoryLevel<String, String>(limit: .entries(100)).compose(level)
        }

        var pending: Int { level.redis.outageStatistics.pendingInvalidations }

        func remembers(_ key: String) -> String? { cache.resident(key, at: .coarse)?.value }

        /// Makes a call about the node that stands still, which waits for a shorter time.
        func impatiently<Result>(_ call: () async throws -> Result) async throws -> Result {
            let budget = level.redis.redisBudget
            try level.redis.adjust(redisBudget: .seconds(1))
            defer { try? level.redis.adjust(redisBudget: budget) }
            return try await call()
        }
    }

    @Test("a key of that node is kept, those of the others are removed at once; then it goes everywhere")
    func key() async throws {
        try await with(.confirmed) { cluster, one, other, keys in
            try await cluster.primaries[0].pause()
            #expect(try await one.impatiently { try await one.cache.remove(keys[0], .deferred) } == .deferred)
            #expect(one.pending == 1 && one.remembers(keys[0]) == nil)
            #expect(try await one.cache.remove(keys[1], .deferred) == .done)
            #expect(try await other.level.get(keys[1]) == nil)
            // Another key of that node, by a call that wants to know.
            await #expect(throws: RedisError.self) {
                try await one.impatiently { try await one.cache.remove(keys[0], .confirmed) }
            }
            try await cluster.primaries[0].resume()
            while one.pending > 0 { try await nextTurn() }
            #expect(try await other.level.get(keys[0]) == nil)
            try await other.forgets(keys[0])
            #expect(try await other.level.get(keys[2]) == "value")
        }
    }

    @Test("a level may say so for all of its removals, and a call may insist")
    func level() async throws {
        try await with(.deferred) { cluster, one, other, keys in
            try await cluster.primaries[1].pause()
            try await one.impatiently { try await one.cache.remove(keys[1]) }
            #expect(one.pending == 1 && one.remembers(keys[1]) == nil)
            await #expect(throws: RedisError.self) {
                try await one.impatiently { try await one.cache.remove(keys[1], .confirmed) }
            }
            try await one.cache.remove(keys[2])
            #expect(one.pending == 1)
            #expect(try await other.level.get(keys[2]) == nil)
            try await cluster.primaries[1].resume()
            while one.pending > 0 { try await nextTurn() }
            #expect(try await other.level.get(keys[1]) == nil)
        }
    }

    @Test(
        "a tag, or everything: done at the nodes that answer, kept for the parts at the one that does not",
        arguments: [0, 1]
    )
    func broad(which: Int) async throws {
        try await with(.confirmed) { cluster, one, other, keys in
            let lost = KeyspacePart.all.count {
                Int(HashSlot.of(keyspace.marks(of: $0))) < RedisCluster.slotCount / 3
            }
            try await cluster.primaries[0].pause()
            let outcome =
                which == 0
                ? try await one.cache.invalidate(tags: ["t"], .deferred) : try await one.cache.clear(.deferred)
            #expect(outcome == .deferred && one.pending == lost && lost > 0)
            for key in keys { #expect(one.remembers(key) == nil) }
            for key in keys.dropFirst() { #expect(try await other.level.get(key) == nil) }
            try await cluster.primaries[0].resume()
            while one.pending > 0 { try await nextTurn() }
            #expect(try await other.level.get(keys[0]) == nil)
            try await other.forgets(keys[0])
        }
    }
}
