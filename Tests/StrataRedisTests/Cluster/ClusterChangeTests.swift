import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Clusters that change while they are used", .serialized, .timeLimit(.minutes(5)))
struct ClusterChangeTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    /// The slot in which the value of a key lies.
    private func slot(of key: String) -> Int { Int(HashSlot.of(keyspace.names(for: key.keyBytes).value)) }

    @Test("a slot moves under load: no caller sees an error, and what another instance writes there is seen")
    func move() async throws {
        try await TestCluster.with { cluster in
            let (one, other) = try (ClusterInstance(cluster, keyspace), ClusterInstance(cluster, keyspace))
            for instance in [one, other] { try await instance.level.ready(within: .seconds(60)) }
            let keys = (0..<200).map { "key-\($0)" }
            for key in keys { try await one.cache.set("old", for: key) }
            let (begun, isOver) = (Shared(0), Shared(false))
            try await withThrowingTaskGroup(of: Int.self) { group in
                for seed in 0..<8 {
                    group.addTask {
                        _ = begun.next()
                        var calls = 0
                        repeat {
                            let key = keys[(seed * 31 + calls * 7) % keys.count]
                            if calls.isMultiple(of: 9) {
                                try await other.level.set("old", for: key)
                            } else if calls.isMultiple(of: 11) {
                                _ = try await one.level.get(Array(keys.prefix(20)))
                            } else {
                                #expect(try await one.cache.get(key) == "old")
                            }
                            calls += 1
                        } while !isOver.withLock({ $0 })
                        return calls
                    }
                }
                while begun.withLock({ $0 }) < 8 { try await nextTurn() }
                for key in keys.prefix(40) where slot(of: key) < RedisCluster.slotCount / 3 {
                    try await cluster.move(slot(of: key), from: cluster.primaries[0], to: cluster.primaries[1])
                }
                isOver.withLock { $0 = true }
                for try await calls in group { #expect(calls > 0) }
            }
            for key in keys {
                try await one.trusts(key)
                _ = try await one.cache.get(key)
                try await other.cache.set("new", for: key)
            }
            for key in keys {
                while try await one.cache.get(key) != "new" { try await nextTurn() }
            }
        }
    }

    @Test("an invalidation that waits for a node that stands still keeps no other from being repeated")
    func repeatedBesideOne() async throws {
        try await TestCluster.with(server: .init(directives: ["cluster-require-full-coverage no"])) { cluster in
            let instance = try ClusterInstance(cluster, keyspace) {
                $0.redisBudget = .milliseconds(500)
                $0.commandTimeout = .seconds(1)
                $0.healthWindow = .seconds(1)
            }
            try await instance.level.ready(within: .seconds(60))
            let owners = cluster.primaries.indices.map { primary in
                (0..<10_000).map { "key-\($0)" }
                    .first {
                        slot(of: $0) * cluster.primaries.count / RedisCluster.slotCount == primary
                    }!
            }
            let writer = try ClusterInstance(cluster, keyspace)
            for key in owners { try await writer.level.set("old", for: key) }
            // The one that is asked for first.
            try await cluster.primaries[0].pause()
            await #expect(throws: (any Error).self) { try await instance.level.remove(owners[0]) }
            try await cluster.primaries[1].pause()
            await #expect(throws: (any Error).self) { try await instance.level.remove(owners[1]) }
            #expect(instance.redis.outageStatistics.pendingInvalidations == 2)
            try await cluster.primaries[1].resume()
            while instance.redis.outageStatistics.pendingInvalidations > 1 { try await nextTurn() }
            let name = keyspace.names(for: owners[1].keyBytes).value.bytes
            #expect(try await cluster.primaries[1].command(bytes: [Array("EXISTS".utf8), name]).integer == 0)
            try await cluster.primaries[0].resume()
            while instance.redis.outageStatistics.pendingInvalidations > 0 { try await nextTurn() }
        }
    }

    @Test("commands for several keys of a slot that is on its way are made for each by itself, and do not wait")
    func several() async throws {
        try await TestCluster.with { cluster in
            // Who waits for the slot waits longer than the test may last.
            let redis = try TestCluster.client(of: cluster) { $0.commandTimeout = .seconds(600) }
            let keys: [RedisKey] = ["{several}1", "{several}2", "{several}none"]
            for key in keys.prefix(2) { try await redis.set(key, [1]) }
            let slot = Int(HashSlot.of(keys[0]))
            let source = try #require(try await cluster.owner(of: slot))
            let target = try #require(cluster.primaries.first { $0 !== source })
            try await cluster.beginMove(of: slot, from: source, to: target)
            #expect(try await redis.get(keys) == [[1], [1], nil])
            try await cluster.moveKeys(of: slot, from: source, to: target)
            // The target is asked for what it has, and refuses to say that the last is not there.
            #expect(try await redis.get(keys) == [[1], [1], nil])
            #expect(try await redis.exists(keys[0], keys[1], keys[2]) == 2)
            #expect(try await redis.unlink(keys) == 2)
            #expect(try await redis.get(keys) == [nil, nil, nil])
            try await cluster.endMove(of: slot, from: source, to: target)
            await redis.shutDown()
        }
    }

    @Test("while a slot is on its way its keys are found at both nodes, and no write is lost")
    func ask() async throws {
        try await TestCluster.with { cluster in
            let (one, other) = try (ClusterInstance(cluster, keyspace), ClusterInstance(cluster, keyspace))
            for instance in [one, other] { try await instance.level.ready(within: .seconds(60)) }
            let slot = slot(of: "a")
            let source = try #require(try await cluster.owner(of: slot))
            let target = try #require(cluster.primaries.first { $0 !== source })
            try await one.cache.set("1", for: "a")
            #expect(try await other.cache.get("a") == "1")
            try await cluster.beginMove(of: slot, from: source, to: target)
            #expect(try await other.cache.get("a") == "1")
            try await cluster.moveKeys(of: slot, from: source, to: target)
            // It has left the source, and with it memory.
            try await other.forgets("a")
            #expect(try await other.cache.get("a") == "1")
            // From now on the target's link is needed, and tells of what happens there.
            try await other.keeps("1", for: "a")
            #expect(try await one.redis.unlink([keyspace.names(for: "a".keyBytes).value]) == 1)
            try await other.forgets("a")
            #expect(try await other.cache.get("a") == nil)
            // Value and lease cannot be written together before the slot has arrived.
            let write = Task { try await one.cache.set("2", for: "a") }
            try await cluster.endMove(of: slot, from: source, to: target)
            try await write.value
            #expect(try await one.cache.get("a") == "2")
            while try await other.cache.get("a") != "2" { try await nextTurn() }
            try await other.trusts("a")
            #expect(try await other.cache.get("a") == "2")
            try await one.cache.set("3", for: "a")
            while try await other.cache.get("a") != "3" { try await nextTurn() }
        }
    }

    @Test("an invalidation by tag holds for a value whose slot moves afterwards, and a clear for one whose marks move")
    func marksMove() async throws {
        try await TestCluster.with { cluster in
            let one = try ClusterInstance(cluster, keyspace)
            try await one.level.set("value", for: "a", tags: ["t"])
            try await one.level.set("value", for: "b")
            try await one.level.invalidate(tags: ["t"])
            let slot = slot(of: "a")
            let source = try #require(try await cluster.owner(of: slot))
            let target = try #require(cluster.primaries.first { $0 !== source })
            try await cluster.move(slot, from: source, to: target)
            let other = try ClusterInstance(cluster, keyspace)
            #expect(try await other.level.get("a") == nil)
            #expect(try await other.level.get("b") == "value")
            // The marks by which `b` is judged move, and are asked for and advanced where they lie then.
            let part = keyspace.names(for: "b".keyBytes, isDivided: true).part
            let marks = Int(HashSlot.of(keyspace.marks(of: part)))
            let owner = try #require(try await cluster.owner(of: marks))
            let next = try #require(cluster.primaries.first { $0 !== owner })
            try await cluster.move(marks, from: owner, to: next)
            #expect(try await other.level.get("b") == "value")
            try await other.level.removeAll()
            // It goes by what it is told, and that may be on its way.
            while try await one.level.get("b") != nil { try await nextTurn() }
            #expect(try await ClusterInstance(cluster, keyspace).level.get("b") == nil)
        }
    }

    @Test("a primary dies: other slots are served as before, its own by the replica as soon as that is elected")
    func failover() async throws {
        try await TestCluster.with(
            replicas: 1,
            nodeTimeout: .seconds(5),
            server: .init(directives: ["cluster-require-full-coverage no"])
        ) { cluster in
            let one = try ClusterInstance(cluster, keyspace) { $0.breaker.minimumCalls = 1_000_000 }
            try await one.level.ready(within: .seconds(60))
            let keys = TestCluster.keys("key", of: cluster)
            // The part of each in a slot of its own primary.
            for key in keys { try await one.cache.set("old", for: key) }
            let dead = cluster.primaries[0]
            for (key, replica) in zip(keys, cluster.replicas) {
                let name = String(decoding: keyspace.names(for: key.keyBytes).value.bytes, as: UTF8.self)
                while try await replica.command("KEYS", name).elements?.count != 1 { try await nextTurn() }
            }
            try await dead.kill()
            for key in keys.dropFirst() {
                #expect(try await one.level.get(key) == "old")
            }
            // Before the replica is elected that fails, and is repeated afterwards.
            try? await one.level.remove(keys[0])
            _ = try await cluster.waitForFailover(
                of: Int(HashSlot.of(keyspace.names(for: keys[0].keyBytes).value)),
                from: dead
            )
            while one.redis.outageStatistics.pendingInvalidations > 0 { try await nextTurn() }
            try await one.trusts(keys[0])
            #expect(try await one.level.get(keys[0]) == nil)
            try await one.cache.set("new", for: keys[0])
            #expect(try await one.cache.get(keys[0]) == "new")
            for key in keys.dropFirst() { #expect(try await one.level.get(key) == "old") }
        }
    }

    @Test("a node that joins serves its slots and tells of their changes; when it leaves, others do")
    func joining() async throws {
        try await TestCluster.with { cluster in
            let (one, other) = try (ClusterInstance(cluster, keyspace), ClusterInstance(cluster, keyspace))
            for instance in [one, other] { try await instance.level.ready(within: .seconds(60)) }
            try await one.cache.set("1", for: "a")
            #expect(try await other.cache.get("a") == "1")
            let slot = slot(of: "a")
            let source = try #require(try await cluster.owner(of: slot))
            let names = keyspace.names(for: "a".keyBytes).value
            let node = try await cluster.addNode()
            do {
                try await cluster.move(slot, from: source, to: node)
                while try await other.cache.get("a") != "1" { try await nextTurn() }
                try await one.cache.set("2", for: "a")
                while try await other.cache.get("a") != "2" { try await nextTurn() }
                try await other.keeps("2", for: "a")
                try await one.cache.set("3", for: "a")
                try await other.forgets("a")
                #expect(try await other.cache.get("a") == "3")

                try await cluster.move(slot, from: node, to: source)
                // Whoever ends a node first lets its clients see that it has no slots any more.
                for instance in [one, other] {
                    while instance.redis.cluster?.node(of: HashSlot.of(names))?.endpoint
                        == TestCluster.endpoint(of: node)
                    {
                        try await nextTurn()
                    }
                }
                try await node.stop()
                try await one.cache.set("4", for: "a")
                while try await other.cache.get("a") != "4" { try await nextTurn() }
                try await other.trusts("a")
            } catch {
                try? await node.stop()
                throw error
            }
        }
    }
}
