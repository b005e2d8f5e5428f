import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// What is done over several nodes at once, while one of them is down: only its own part fails.
@Suite("Calls over several nodes, one of which is down", .serialized, .timeLimit(.minutes(5)))
struct ClusterPartFailureTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    /// A cluster that serves what it can, and an instance that is told of changes by all of it.
    private func with(
        _ adjust: @escaping (inout RedisConfiguration) -> Void = { _ in },
        _ body: (RedisCluster, ClusterInstance) async throws -> Void
    ) async throws {
        // No node holds the one that is away for down, not on a busy machine either.
        try await TestCluster.with(
            nodeTimeout: .seconds(60),
            server: .init(directives: ["cluster-require-full-coverage no"])
        ) { cluster in
            let instance = try ClusterInstance(cluster, keyspace) {
                $0.commandTimeout = .seconds(20)
                adjust(&$0)
            }
            try await instance.level.ready(within: .seconds(60))
            try await body(cluster, instance)
        }
    }

    /// A call about keys of all nodes, of which the first stands still: ten of its parts are under way, the others
    /// wait.
    private func withReads(
        _ timeout: Duration?,
        commandTimeout: Duration,
        _ body: (RedisCluster, RedisClient, _ reads: Task<Int, any Error>) async throws -> Void
    ) async throws {
        try await with {
            $0.inFlightLimit = 20
            $0.commandTimeout = commandTimeout
            $0.healthWindow = .seconds(60)
        } _: { cluster, instance in
            let redis = instance.redis
            // Looked for before the time of the call begins.
            let first = redis.responsible(for: RedisKey(TestCluster.keys("held", of: cluster)[0]))
            try await cluster.primaries[0].pause()
            let hasEnded = Locked(false)
            let reads = Task {
                defer { hasEnded.withLock { $0 = true } }
                return try await redis.get((0..<600).map { RedisKey("many-\($0)") }, timeout: timeout).count
            }
            // On a machine that stands still all of its time may have gone by.
            while first.manyKeys.waiting == 0, !hasEnded.withLock({ $0 }) { try await nextTurn() }
            try await body(cluster, redis, reads)
        }
    }

    @Test(
        "a node stands still: what waits for it waits once, and holds up no other call, however few calls a connection takes"
    )
    func standsStill() async throws {
        // Long enough for the first ten to be sent on a busy machine, and for a call to a node that serves.
        try await withReads(nil, commandTimeout: .seconds(8)) { cluster, redis, reads in
            // Two slots of a node that serves.
            let slot = Int(HashSlot.of(RedisKey(TestCluster.keys("other", of: cluster)[1])))
            let others = [slot, slot + 1].map { RedisKey(TestCluster.key("other", in: $0)) }
            #expect(try await redis.get(others) == [nil, nil])
            let error = await #expect(throws: RedisError.self) { try await reads.value }
            #expect(error?.code == .timeout || error?.code == .overloaded)
            try await cluster.primaries[0].resume()
            // What was waiting when the first ten had used up the time was not sent any more. (One that loses its
            // connection is sent again.)
            let stats = try await cluster.primaries[0].command("INFO", "commandstats").text
            let line = stats.split(whereSeparator: \.isNewline).first { $0.hasPrefix("cmdstat_mget:calls=") }
            let calls = line?.dropFirst("cmdstat_mget:calls=".count).prefix { $0.isNumber }
            #expect((10..<20).contains(calls.flatMap { Int($0) } ?? 0))
        }
    }

    @Test("a call about many keys takes the time that it was given for all of its parts")
    func ownTimeout() async throws {
        try await withReads(.seconds(60), commandTimeout: .seconds(1)) { cluster, _, reads in
            // Longer than a call takes that was given nothing.
            try await Task.pause(for: .milliseconds(1_200))
            try await cluster.primaries[0].resume()
            #expect(try await reads.value == 600)
        }
    }

    @Test("a batch: the others' keys come from Redis or are stored there, those of the lost node come from the source")
    func batch() async throws {
        try await with { cluster, instance in
            let held = TestCluster.keys("held", of: cluster)
            let missing = TestCluster.keys("missing", of: cluster)
            for key in held { try await instance.level.set("old", for: key) }
            let asked = Shared<[String]>([])
            let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))
            let fetching = instance.level.fetching(options) { key in
                asked.withLock { $0.append(key) }
                return "new"
            }
            try await cluster.primaries[0].kill()
            #expect(try await fetching.get(held + missing) == ["new", "old", "old", "new", "new", "new"])
            #expect(asked.withLock { Set($0) } == [held[0], missing[0], missing[1], missing[2]])
            #expect(asked.withLock { $0.count } == 4)
            // By lease, and stored, where Redis serves the key.
            #expect(instance.level.statistics.stores == 2)
            #expect(instance.level.statistics.uncoordinatedFetches == 2)
            for (key, primary) in zip(missing, cluster.primaries).dropFirst() {
                let name = keyspace.names(for: key.keyBytes).value.bytes
                #expect(try await primary.command(bytes: [Array("EXISTS".utf8), name]).integer == 1)
            }
        }
    }

    @Test(
        "the level by itself: a lenient batch leaves out the lost node's keys, by name; a strict one throws their error"
    )
    func level() async throws {
        try await with { cluster, instance in
            let keys = TestCluster.keys("key", of: cluster)
            for key in keys { try await instance.level.set("value", for: key) }
            try await cluster.primaries[1].kill()
            let notes = FailureNotes()
            var request = ReadRequest(leavesOutFailures: true)
            request.leftOut = notes
            let found = try await instance.level.entries(for: keys, request).map { $0?.value }
            #expect(found == ["value", nil, "value"])
            #expect(notes.all.count == 1)
            #expect(try await instance.level.batchGetSome(keys) == ["value", "value"])
            let failures = instance.level.statistics.failures
            let error = await #expect(throws: RedisError.self) { try await instance.level.get(keys) }
            #expect(error?.code == .connectionFailed || error?.code == .connectionLost)
            #expect(instance.level.statistics.failures == failures + 1)
            #expect(try await instance.level.get([keys[0], keys[2]]) == ["value", "value"])
        }
    }

    @Test("raw keys are removed at the other nodes, and the error says that something may have been done")
    func raw() async throws {
        try await with { cluster, instance in
            let keys = TestCluster.keys("raw", of: cluster).map { RedisKey($0) }
            for key in keys { try await instance.redis.set(key, [1]) }
            try await cluster.primaries[0].kill()
            let error = await #expect(throws: RedisError.self) { try await instance.redis.unlink(keys) }
            #expect(error?.effect == .ambiguous)
            #expect(try await instance.redis.exists(keys[1], keys[2]) == 0)
        }
    }

    @Test("an invalidation by tag holds at the other nodes; only the lost node's parts are repeated")
    func tags() async throws {
        try await with { cluster, instance in
            let keys = TestCluster.keys("key", of: cluster)
            for key in keys { try await instance.level.set("value", for: key, tags: ["t"]) }
            let lost = KeyspacePart.all.count {
                Int(HashSlot.of(keyspace.marks(of: $0))) < RedisCluster.slotCount / 3
            }
            try await cluster.primaries[0].kill()
            await #expect(throws: RedisError.self) { try await instance.level.invalidate(tags: ["t"]) }
            #expect(instance.redis.outageStatistics.pendingInvalidations == lost)
            let other = try ClusterInstance(cluster, keyspace)
            #expect(try await other.level.batchGetSome(Array(keys.dropFirst())) == [])
        }
    }

    @Test("an invalidation that is repeated closes the breaker of its node")
    func breaker() async throws {
        try await with {
            $0.commandTimeout = .seconds(20)
            $0.breaker.minimumCalls = 1
            // It would not be tried by itself.
            $0.breaker.pause = .seconds(600) ... .seconds(600)
        } _: { cluster, instance in
            let keys = TestCluster.keys("key", of: cluster)
            for key in keys { try await instance.level.set("value", for: key) }
            try await cluster.primaries[0].pause()
            let budget = instance.redis.redisBudget
            try instance.redis.adjust(redisBudget: .seconds(2))
            // A reply that this process was late for is no sign of a failure.
            repeat {
                await #expect(throws: RedisError.self) { try await instance.level.remove(keys[0]) }
            } while instance.redis.outageStatistics.breakers[.remove]?.state != .open
            try instance.redis.adjust(redisBudget: budget)
            try await cluster.primaries[0].resume()
            while instance.redis.outageStatistics.pendingInvalidations > 0 { try await nextTurn() }
            #expect(instance.redis.outageStatistics.breakers[.remove]?.state == .closed)
            try await instance.level.remove(keys[0])
        }
    }

    @Test("a batch over many slots spends of its budget no more than the time it takes, and not nothing")
    func budget() async throws {
        let cluster = try await TestCluster.shared()
        let keys = (0..<800).map { "key-\($0)" }
        let writer = try ClusterInstance(cluster, keyspace)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for key in keys { group.addTask { try await writer.level.set(key, for: key, tags: ["t"]) } }
            try await group.waitForAll()
        }
        // Marks and tags have to be asked for behind the values.
        let redis = try TestCluster.client(of: cluster)
        let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text, coherence: .none)
        _ = try await level.get(keys[0])
        let names = keys.map { level.names(for: $0) }
        let budget = CallBudget(.seconds(3_600))
        let start = MonotonicInstant.now
        let found = try await CallBudget.$current.withValue(budget) {
            try await level.look(up: names, names.map { _ in .none }, ReadRequest())
        }
        #expect(try found.map { try $0.get().entry?.value } == keys)
        let spent = Duration.seconds(3_600).nanoseconds - budget.left
        #expect(spent > 0 && spent <= start.nanoseconds(to: .now))
    }
}

extension CallBudget {
    fileprivate convenience init(_ limit: Duration) { self.init(limit.nanoseconds) }
}

extension Duration {
    fileprivate var nanoseconds: Int64 { Int64(self / .nanoseconds(1)) }
}
