import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Setting, touching and expiring what Redis has", .timeLimit(.minutes(5)))
struct PolicyChangeTests {
    struct Refusal: Error {}

    private let keyspace = Keyspace(TestServer.uniqueName())
    private let hour = EntryLifetime(freshFor: .seconds(3_600))
    private let windowed = EntryLifetime(freshFor: .seconds(3_600), staleFor: .seconds(600))

    /// Waits until another instance's memory has let go of a key.
    private func forgets(_ instance: ListInstance, _ key: String) async throws {
        while instance.remembers(key) != nil { try await nextTurn() }
    }

    @Test("a value is set where there is none, or in the place of an expected one; other instances hear of it")
    func conditions() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (ListInstance(server.url, keyspace), ListInstance(server.url, keyspace))
            try await one.listen()
            try await other.listen()
            #expect(try await one.cache.setIfAbsent([1], for: "k", lifetime: hour, tags: ["t"]) == nil)
            #expect(one.remembers("k") == [1])
            #expect(try await other.cache.setIfAbsent([2], for: "k") == [1])
            #expect(try await other.cache.get("k") == [1])
            #expect(try await one.cache.compareAndSet("k", from: [2], to: [3]) == false)
            #expect(try await one.cache.compareAndSet("k", from: [1], to: [3]))
            #expect(one.remembers("k") == [3])
            while other.remembers("k") == [1] { try await nextTurn() }
            #expect(try await other.cache.get("k") == [3])
            // Lifetime and tags have stayed.
            let kept = try #require(try await other.level.entry(for: "k", ReadRequest()))
            #expect(kept.tags == ["t"] && MonotonicInstant.now.duration(to: kept.freshUntil) > .seconds(3_000))
            try await other.cache.invalidate(tag: "t")
            #expect(try await one.cache.setIfAbsent([4], for: "k") == nil)
            #expect(try await other.cache.compareAndSet("k", from: [4], to: nil))
            try await forgets(one, "k")
            #expect(try await one.cache.get("k") == nil)
        }
    }

    @Test("what memory has is the expected value, also where the codec does not lead back to its last bit")
    func lastBit() async throws {
        struct Order: Codable, Equatable, Sendable { var changedAt: Date }
        // Counted from 1970 it needs a bit more than there is.
        let date = try #require(
            (0..<1_000).lazy.map { Date(timeIntervalSinceReferenceDate: 8e8 + Double($0) * 0x1p-23) }
                .first { Date(timeIntervalSince1970: $0.timeIntervalSince1970) != $0 }
        )
        let redis = try TestServer.client(of: await RedisServer.shared())
        let level = RedisLevel<String, Order>(redis, keyspace: keyspace)
        try await level.ready(within: .seconds(60))
        try await level.listens()
        let cache = MemoryLevel<String, Order>(limit: .entries(10)).compose(level)
        let (order, next) = (Order(changedAt: date), Order(changedAt: date.addingTimeInterval(60)))
        while true {
            try await cache.set(order, for: "k")
            guard try await cache.get("k") == order else { continue }
            break
        }
        #expect(try await level.get("k") != order)
        #expect(try await cache.compareAndSet("k", from: next, to: order) == false)
        #expect(try await cache.compareAndSet("k", from: order, to: next))
        // Another entry with the same value in memory is another entry.
        try await level.set(Order(changedAt: date.addingTimeInterval(5)), for: "k")
        #expect(try await cache.compareAndSet("k", from: order, to: next) == false)
        await redis.shutDown()
    }

    @Test("of tasks of two instances that race for a key one succeeds, and the others are told its value")
    func race() async throws {
        try await RedisServer.withServer { server in
            let instances = try (0..<2).map { _ in try ListInstance(server.url, keyspace) }
            for round in 0..<10 {
                let answers = try await withThrowingTaskGroup(of: [Int]?.self) { group in
                    for task in 0..<16 {
                        group.addTask {
                            try await instances[task % 2].cache
                                .setIfAbsent([task], for: "\(round)", within: .seconds(60))
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                let winner = try #require(try await instances[0].level.get("\(round)"))
                #expect(answers.count { $0 == nil } == 1)
                #expect(answers.allSatisfy { $0 == nil || $0 == winner })
            }
        }
    }

    @Test("a value that is touched lives longer, in Redis and in every memory; value, tags and age stay")
    func touch() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (ListInstance(server.url, keyspace), ListInstance(server.url, keyspace))
            try await one.listen()
            try await other.listen()
            let names = one.level.names(for: "k")
            let minute = EntryLifetime(freshFor: .seconds(60))
            try await one.cache.set([1, 2], for: "k", lifetime: minute, tags: ["t"])
            #expect(try await other.cache.get("k") == [1, 2])
            let before = try Envelope(try #require(try await one.redis.get(names.value)), keyHash: names.keyHash)
            #expect(try await one.cache.touch("k", lifetime: windowed))
            #expect(one.remembers("k") == nil)
            let after = try Envelope(try #require(try await one.redis.get(names.value)), keyHash: names.keyHash)
            #expect(after.payload == before.payload && after.tags == ["t"] && after.version != before.version)
            #expect(after.storedAt == before.storedAt)
            #expect(after.staleUntil - after.freshUntil == 600_000)
            let life = try await server.command("PTTL", String(decoding: names.value.bytes, as: UTF8.self)).text
            #expect(try #require(Int(life)) > 4_000_000)
            try await forgets(other, "k")
            while other.remembers("k") == nil { #expect(try await other.cache.get("k") == [1, 2]) }
            let above = try #require(try await other.memory.entry(for: "k", ReadRequest()))
            #expect(MonotonicInstant.now.duration(to: above.freshUntil) > .seconds(3_000))
            // By the policy: five minutes.
            #expect(try await other.cache.touch("k"))
            let found = try #require(try await one.level.entry(for: "k", ReadRequest()))
            let left = MonotonicInstant.now.duration(to: found.freshUntil)
            #expect(found.value == [1, 2] && left > .seconds(200) && left <= .seconds(301))
            // It is still under its tag.
            try await one.cache.invalidate(tag: "t")
            #expect(try await other.cache.touch("k", lifetime: hour) == false)
            #expect(try await other.cache.get("k") == nil)
        }
    }

    @Test("a touch that is repeated makes the age no younger and the lifetime no longer than is named")
    func repeated() async throws {
        try await RedisServer.withServer { server in
            let one = try ListInstance(server.url, keyspace)
            try await one.cache.set([1], for: "k", lifetime: hour)
            let names = one.level.names(for: "k")
            let first = try Envelope(try #require(try await one.redis.get(names.value)), keyHash: names.keyHash)
            for _ in 0..<20 { #expect(try await one.cache.touch("k", lifetime: hour)) }
            let last = try Envelope(try #require(try await one.redis.get(names.value)), keyHash: names.keyHash)
            #expect(last.storedAt == first.storedAt && last.asOf >= first.asOf)
            // Clocks differ by less than a second here.
            let found = try #require(try await one.level.entry(for: "k", ReadRequest()))
            #expect(MonotonicInstant.now.duration(to: found.freshUntil) <= .seconds(3_601))
        }
    }

    @Test("what this level could not read is not touched, and a newer release's is left alone", .timeLimit(.minutes(5)))
    func records() async throws {
        try await RedisServer.withServer { server in
            let one = try ListInstance(server.url, keyspace, schema: 2)
            let newer = try ListInstance(server.url, keyspace, schema: 3)
            let older = try ListInstance(server.url, keyspace, schema: 1)
            let text = RedisLevel<String, String>(one.redis, keyspace: keyspace, codec: .text, schema: 2)
            try await one.level.store(Entry(.absent), for: "absent")
            try await one.redis.set(one.level.names(for: "foreign").value, Array("short".utf8))
            try await older.level.set([1], for: "older")
            try await text.set("x", for: "text")
            for key in ["absent", "foreign", "older", "none"] {
                let before = try await one.redis.get(one.level.names(for: key).value)
                #expect(try await one.cache.touch(key, lifetime: hour) == false, "\(key)")
                #expect(try await one.redis.get(one.level.names(for: key).value) == before, "\(key)")
            }
            try await newer.level.set([9], for: "newer", lifetime: windowed)
            for key in ["newer", "text"] {
                let before = try await one.redis.get(one.level.names(for: key).value)
                #expect(try await cacheCode { try await one.cache.touch(key, lifetime: hour) } == .codec, "\(key)")
                #expect(try await cacheCode { try await one.cache.expire(key) } == .codec, "\(key)")
                #expect(try await one.redis.get(one.level.names(for: key).value) == before, "\(key)")
            }
            #expect(try await newer.level.get("newer") == [9])
        }
    }

    @Test("after expire every instance asks the source, and gets the old value when that fails")
    func expire() async throws {
        try await RedisServer.withServer { server in
            let answer = Shared<Result<[Int], Refusal>>(.success([1]))
            let policy = FreshnessPolicy(freshFor: .seconds(3_600), staleIfError: .seconds(3_600), jitter: 0)
            let instances = try (0..<2).map { _ in try ListInstance(server.url, keyspace, policy) }
            for instance in instances { try await instance.listen() }
            var leases = LeaseOptions.lasting
            leases.failureBackOff = .milliseconds(1) ... .milliseconds(1)
            let caches = instances.map { instance in
                instance.memory.compose(
                    instance.level.fetching(leases) { _ in try answer.withLock { $0 }.get() }
                )
            }
            for cache in caches { #expect(try await cache.get("k") == [1]) }
            answer.withLock { $0 = .failure(Refusal()) }
            #expect(try await caches[0].expire("k"))
            #expect(caches[0].resident("k", at: .coarse) == nil)
            while caches[1].resident("k", at: .coarse) != nil { try await nextTurn() }
            for cache in caches { #expect(try await cache.get("k") == [1]) }
            // Its reading of the server's clock may be behind.
            while try await instances[1].level.current("k")?.entry?.isFresh(at: .now) == true { try await nextTurn() }
            #expect(try await instances[1].level.current("k")?.entry?.value == [1])
            answer.withLock { $0 = .success([2]) }
            for cache in caches {
                while try await cache.get("k") != [2] { try await nextTurn() }
            }
            // Without a stale window it is a removal.
            let plain = EntryLifetime(freshFor: .seconds(3_600), staleFor: .zero)
            try await caches[0].set([3], for: "k", lifetime: plain)
            #expect(try await caches[1].expire("k") == false)
            #expect(try await instances[0].level.get("k") == nil)
        }
    }

    @Test("a fetch of another instance that has begun before an expire stores nothing", arguments: [true, false])
    func running(hasValue: Bool) async throws {
        try await RedisServer.withServer { server in
            let gate = AsyncGate()
            let policy = FreshnessPolicy(freshFor: .seconds(3_600), staleIfError: .seconds(3_600), jitter: 0)
            let (one, other) = try (
                ListInstance(server.url, keyspace, policy), ListInstance(server.url, keyspace, policy)
            )
            let slow = one.memory.compose(
                one.level.fetching(.lasting) { _ in
                    try await gate.pass()
                    return [1]
                }
            )
            if hasValue { try await other.level.set([0], for: "k", lifetime: windowed) }
            async let read = slow.get("k", .reload)
            await gate.arrivals(1)
            #expect(try await other.cache.expire("k") == hasValue)
            gate.open()
            _ = try await read
            #expect(one.remembers("k") == nil)
            // Its reading of the server's clock may be behind.
            while try await other.level.current("k")?.entry?.isFresh(at: .now) == true { try await nextTurn() }
            let found = try await other.level.current("k")?.entry
            #expect(found?.value == (hasValue ? [0] : nil))
        }
    }

    @Test("on a cluster: updates, conditions, touch and expire reach each key's node, and other instances hear of them")
    func cluster() async throws {
        let cluster = try await TestCluster.shared()
        let (one, other) = try (ClusterInstance(cluster, keyspace), ClusterInstance(cluster, keyspace))
        for instance in [one, other] { try await instance.level.ready(within: .seconds(20)) }
        let keys = (0..<36).map { "key-\($0)" }
        #expect(Set(keys.map { HashSlot.of(keyspace.names(for: $0.keyBytes).value) / 5_462 }).count == 3)
        for key in keys {
            #expect(try await one.cache.setIfAbsent("0", for: key, lifetime: windowed, tags: ["t"]) == nil)
            #expect(try await other.cache.setIfAbsent("9", for: key) == "0")
            try await other.keeps("0", for: key)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    let cache = task.isMultiple(of: 2) ? one.cache : other.cache
                    for key in keys {
                        for _ in 0..<3 {
                            try await cache.update(key, within: .seconds(60)) { "\((Int($0 ?? "0") ?? 0) + 1)" }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        for key in keys {
            #expect(try await one.level.get(key) == "12")
            #expect(try await one.cache.compareAndSet(key, from: "0", to: "1") == false)
            #expect(try await one.cache.compareAndSet(key, from: "12", to: "13"))
            while try await other.cache.get(key) != "13" { try await nextTurn() }
            try await other.keeps("13", for: key)
            #expect(try await one.cache.touch(key, lifetime: windowed))
            try await other.forgets(key)
            try await other.keeps("13", for: key)
            #expect(try await one.cache.expire(key))
            try await other.forgets(key)
            // Its reading of the server's clock may be behind.
            while try await other.level.current(key)?.entry?.isFresh(at: .now) == true { try await nextTurn() }
            #expect(try await other.level.current(key)?.entry?.value == "13")
        }
        try await one.cache.invalidate(tag: "t")
        // Each node tells of it over a link of its own.
        while zip(other.level.shared.numbers, one.level.shared.numbers).contains(where: { $0 < $1 }) {
            try await nextTurn()
        }
        for key in keys {
            #expect(try await other.cache.touch(key, lifetime: hour) == false)
            #expect(try await other.cache.setIfAbsent("new", for: key) == nil)
        }
    }
}
