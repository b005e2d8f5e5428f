import Strata
import StrataDisk
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Memory over Redis, hibernated and read back", .timeLimit(.minutes(5)))
struct RestorationTests {
    let keyspace = Keyspace(TestServer.uniqueName())
    let folder: ScratchFolder
    let keys = (0..<10).map { "k\($0)" }

    init() throws { folder = try ScratchFolder() }

    func instance(_ server: RedisServer, coherence: Coherence = .tracking) throws -> Instance {
        try Instance(server.url, keyspace, coherence: coherence)
    }

    /// An instance that has all keys in memory, each with a tag of its own, and has hibernated.
    func hibernated(_ server: RedisServer) async throws -> Instance {
        let one = try instance(server)
        try await one.listen()
        for key in keys { try await one.cache.set("value of \(key)", for: key, tags: ["tag of \(key)"]) }
        #expect(try await one.hibernate(to: folder).written == keys.count)
        return one
    }

    /// How many entries come back into memory above a level that was made of the one in Redis.
    private func restored<Wrapped: CacheLevel<String, String>>(
        around server: RedisServer,
        _ wrap: (FetchingLevel<String, String>) -> Wrapped
    ) async throws -> Int {
        func cache() throws -> Composed<MemoryLevel<String, String>, Wrapped> {
            let redis = try RedisClient(RedisConfiguration.patient(server.url))
            let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
            return MemoryLevel(limit: .entries(100)).compose(wrap(level.fetching(.lasting) { "value of \($0)" }))
        }
        let (one, other) = (try cache(), try cache())
        try await one.readyToConfirm(within: .seconds(60))
        _ = try await one.get(keys)
        #expect(try await one.hibernate(to: folder).written == keys.count)
        return try await other.restore(from: folder).restored
    }

    @Test("entries come back also where something lies around the level in Redis")
    func wrapped() async throws {
        try await RedisServer.withServer { server in
            #expect(try await restored(around: server) { $0.retry().timeout(.seconds(600)) } == keys.count)
            #expect(try await restored(around: server) { $0.writing { _, _ in } } == keys.count)
            let behind = try await restored(around: server) {
                $0.writingBehind { _ in
                } write: { _, _ in
                }
            }
            #expect(behind == keys.count)
        }
    }

    @Test("unchanged entries are back without a value being read, and later changes reach them")
    func untouched() async throws {
        try await RedisServer.withServer { server in
            let one = try await hibernated(server)
            let other = try instance(server)
            let report = try await other.restore(from: folder)
            #expect(report.restored == keys.count && report.isWhole && report.failure == nil)
            for key in keys { #expect(other.remembers(key) == "value of \(key)") }
            #expect(try await server.calls(of: "get", "mget") == 0)
            #expect(try await server.calls(of: "getrange") >= keys.count)
            // The file stays: what it has is looked at again each time.
            #expect(folder.names == ["cache.warm"])
            try await one.cache.set("new", for: "k1")
            await other.hears("k1")
            #expect(other.remembers("k1") == nil)
            #expect(try await other.cache.get("k1") == "new")
            try await one.cache.remove("k2")
            await other.hears("k2")
            #expect(other.remembers("k2") == nil)
            try await one.cache.invalidate(tag: "tag of k3")
            while other.remembers("k3") != nil { try await other.redis.ping() }
            #expect(other.remembers("k4") != nil)
        }
    }

    @Test("where Redis tells only those who have read a key, it tells who has restored it")
    func perKey() async throws {
        try await RedisServer.withServer { server in
            _ = try await hibernated(server)
            let writer = try instance(server)
            try await writer.listen()
            let other = try Instance(server.url, keyspace) { $0.tracking = .perKey }
            #expect(try await other.restore(from: folder).restored == keys.count)
            try await writer.cache.set("new", for: "k1")
            await other.hears("k1")
            #expect(other.remembers("k1") == nil && other.remembers("k2") == "value of k2")
            try await writer.cache.invalidate(tag: "tag of k2")
            while other.remembers("k2") != nil { try await other.redis.ping() }
            #expect(try await other.cache.get("k1") == "new")
        }
    }

    @Test("on a clock that a test moves, lifetimes are those of that clock")
    func movedClock() async throws {
        let clock = ManualClock()
        try await RedisServer.withServer { server in
            func driven() throws -> Instance { try clock.driving { try instance(server) } }
            let one = try driven()
            try await one.listen()
            try await one.cache.set("v", for: "k", lifetime: EntryLifetime(freshFor: .seconds(60)))
            #expect(try await one.hibernate(to: folder).written == 1)
            try clock.advance(by: .seconds(20))
            let other = try driven()
            #expect(try await other.restore(from: folder).restored == 1)
            #expect(other.remembers("k") == "v")
            try clock.advance(by: .seconds(50))
            #expect(other.remembers("k") == nil)
            let third = try driven()
            #expect(try await third.restore(from: folder).restored == 0)
            for instance in [one, other, third] { await instance.redis.shutDown() }
        }
    }

    @Test("what was changed, removed, expired or voided while no process ran is not")
    func changed() async throws {
        try await RedisServer.withServer { server in
            let one = try await hibernated(server)
            try await one.cache.set("new", for: "k0")
            try await one.cache.remove("k1")
            try await server.command(bytes: [Array("DEL".utf8), one.level.names(for: "k2").value.bytes])
            try await server.command(bytes: [Array("SET".utf8), one.level.names(for: "k3").value.bytes, [1, 2, 3]])
            try await one.cache.invalidate(tag: "tag of k4")
            let name = one.level.names(for: "k5").value
            _ = try await one.redis.unlink([name])
            _ = try await one.redis.send(["RPUSH".utf8.map { $0 }, name.bytes, [1]])
            #expect(try await one.cache.touch("k6", lifetime: EntryLifetime(freshFor: .seconds(999))))
            // Replaced by the very same value.
            try await one.cache.set("value of k7", for: "k7")
            let other = try instance(server)
            let report = try await other.restore(from: folder)
            #expect(report.restored == 2 && report.changed == 7 && report.invalidated == 1)
            for key in keys.prefix(8) { #expect(other.remembers(key) == nil, "\(key)") }
            #expect(other.remembers("k8") != nil && other.remembers("k9") != nil)
            #expect(try await other.cache.get("k0") == "new")
            #expect(try await other.cache.get("k1") == nil)
        }
    }

    @Test("a clear voids all of it, and so do a database that was emptied and a keyspace with another version")
    func cleared() async throws {
        try await RedisServer.withServer { server in
            let one = try await hibernated(server)
            try await one.cache.clear()
            let other = try instance(server)
            let report = try await other.restore(from: folder)
            #expect(report.restored == 0 && report.invalidated == keys.count)
            #expect(other.memory.statistics.entries == 0)
        }
        try await RedisServer.withServer { server in
            _ = try await hibernated(server)
            try await server.command("FLUSHALL")
            #expect(try await instance(server).restore(from: folder).changed == keys.count)
        }
        try await RedisServer.withServer { server in
            let first = Keyspace("products", version: 1)
            let one = try Instance(server.url, first)
            try await one.listen()
            try await one.cache.set("v", for: "k")
            _ = try await one.hibernate(to: folder)
            let other = try Instance(server.url, Keyspace("products", version: 2))
            let error = await #expect(throws: HibernationError.self) { try await other.restore(from: folder) }
            #expect(error?.code == .otherCache && other.remembers("k") == nil)
            let again = try Instance(server.url, first)
            #expect(try await again.restore(from: folder).restored == 1)
        }
    }

    @Test("lifetimes are those that Redis has, by its clock, and never longer than they were")
    func lifetimes() async throws {
        try await RedisServer.withServer { server in
            let one = try instance(server)
            try await one.listen()
            try await one.cache.set("v", for: "short", lifetime: EntryLifetime(freshFor: .milliseconds(80)))
            try await one.cache.set(
                "v",
                for: "stale",
                lifetime: EntryLifetime(freshFor: .milliseconds(60), staleFor: .seconds(60))
            )
            try await one.cache.set(
                "v",
                for: "long",
                lifetime: EntryLifetime(freshFor: .seconds(60), staleFor: .seconds(60))
            )
            let report = try await one.hibernate(to: folder)
            guard report.written == 3 else { return }
            while try await server.command(bytes: [Array("EXISTS".utf8), one.level.names(for: "short").value.bytes])
                != .integer(0)
            {}
            let other = try instance(server)
            let back = try await other.restore(from: folder)
            #expect(back.restored == 2 && back.changed + back.expired == 1)
            for key in ["stale", "long"] {
                let kept = try #require(try await other.memory.entry(for: key, ReadRequest()))
                let read = try #require(try await other.level.entry(for: key, ReadRequest()))
                for (mine, its) in [(kept.freshUntil, read.freshUntil), (kept.staleUntil, read.staleUntil)] {
                    // Each by a reading of the clock of its own process.
                    #expect(abs(mine.nanoseconds(to: its)) < 5_000_000_000)
                }
                #expect(kept.version == read.version && kept.asOf == read.asOf)
            }
        }
    }

    @Test("what memory keeps for a shorter time is no longer fresh for that")
    func memoryLifetime() async throws {
        try await RedisServer.withServer { server in
            func cache() throws -> Composed<MemoryLevel<String, String>, RedisLevel<String, String>> {
                MemoryLevel(limit: .entries(9), lifetime: .seconds(20))
                    .compose(RedisLevel(try TestServer.client(of: server), keyspace: keyspace, codec: .text))
            }
            let one = try cache()
            try await one.lower.ready()
            try await one.set("v", for: "k")
            #expect(try await one.hibernate(to: folder).written == 1)
            let other = try cache()
            #expect(try await other.restore(from: folder).restored == 1)
            let entry = try #require(try await other.upper.entry(for: "k", ReadRequest()))
            #expect(MonotonicInstant.now.duration(to: entry.freshUntil) <= .seconds(20))
            #expect(entry.staleUntil > entry.freshUntil)
        }
    }

    @Test("absences come back, and what was never stored in Redis does not go")
    func absences() async throws {
        try await RedisServer.withServer { server in
            func cache() throws -> (Composed<MemoryLevel<String, String>, FetchingLevel<String, String>>, Shared<Int>) {
                let fetches = Shared(0)
                let level = RedisLevel<String, String>(
                    try TestServer.client(of: server),
                    keyspace: keyspace,
                    codec: .text
                )
                let cache = MemoryLevel<String, String>(limit: .entries(9))
                    .compose(
                        level.fetching(.lasting) { key in
                            _ = fetches.next()
                            return key == "none" ? nil : "v"
                        }
                    )
                return (cache, fetches)
            }
            let (one, _) = try cache()
            try await one.lower.level.ready()
            _ = try await one.get(["none", "k"])
            try await one.upper.set("of this process", for: "own")
            let written = try await one.hibernate(to: folder)
            #expect(written.written == 2 && written.unconfirmable == 1)
            let (other, fetches) = try cache()
            #expect(try await other.restore(from: folder).restored == 2)
            #expect(other.resident("k", at: .coarse)?.value == "v")
            #expect(try await other.get("none") == nil)
            #expect(fetches.withLock { $0 } == 0)
        }
    }

    @Test("through an erased level, a level between, and without a link")
    func compositions() async throws {
        try await RedisServer.withServer { server in
            func level(_ coherence: Coherence = .tracking) throws -> RedisLevel<String, String> {
                RedisLevel(try TestServer.client(of: server), keyspace: keyspace, codec: .text, coherence: coherence)
            }
            func memory() -> MemoryLevel<String, String> { MemoryLevel(limit: .entries(9)) }
            let first = memory().compose(try level())
            try await first.lower.ready()
            try await first.set("v", for: "k")
            #expect(try await first.hibernate(to: folder).written == 1)
            let erased = memory().compose(try level().normalized())
            #expect(try await erased.restore(from: folder).restored == 1)
            #expect(erased.resident("k", at: .coarse)?.value == "v")
            let three = memory().compose(memory()).compose(try level())
            #expect(try await three.restore(from: folder).restored == 1)
            #expect(three.resident("k", at: .coarse)?.value == "v")
            let nested = memory().compose(memory().compose(try level().fetching { _ in "other" }))
            #expect(try await nested.restore(from: folder).restored == 1)
            let unheard = memory().compose(try level(.none))
            #expect(try await unheard.restore(from: folder).restored == 1)
            // Kept for as long as anything is that was read without a link.
            let bounded = memory().compose(try level(.lifetime(.seconds(200))))
            #expect(try await bounded.restore(from: folder).restored == 1)
            let entry = try #require(try await bounded.upper.entry(for: "k", ReadRequest()))
            #expect(MonotonicInstant.now.duration(to: entry.freshUntil) <= .seconds(200))
            // Values of another type are not those that Redis holds.
            let transformed = MemoryLevel<String, Int>(limit: .entries(9))
                .compose(try level().transformValues(TwoWayTransformer({ $0.count }, inverse: { String($0) })))
            let error = await #expect(throws: HibernationError.self) {
                try await transformed.restore(from: folder.file, codec: .json, unconfirmedUpTo: .seconds(60))
            }
            #expect(error?.code == .unconfirmable)
        }
    }

    @Test("whatever others do meanwhile, nothing is served that Redis does not hold")
    func random() async throws {
        var random = SplitMix64.announced()
        try await RedisServer.withServer { server in
            for _ in 0..<12 {
                let one = try instance(server)
                try await one.listen()
                let keys = (0..<90).map { "key \($0)" }
                for (number, key) in keys.enumerated() {
                    try await one.cache.set("old", for: key, tags: ["tag \(number % 7)", "own \(number)"])
                }
                _ = try await one.hibernate(to: folder)
                let writer = try instance(server)
                try await writer.listen()
                let other = try instance(server)
                try await other.listen()
                let changes = (0..<40)
                    .map { _ in (Int.random(in: 0..<8, using: &random), Int.random(in: 0..<90, using: &random)) }
                let isMeanwhile = Bool.random(using: &random)
                @Sendable func change() async throws {
                    for (kind, number) in changes {
                        let name = writer.level.names(for: keys[number]).value
                        switch kind {
                        case 0, 1: try await writer.cache.set("new \(number)", for: keys[number])
                        case 2, 3: try await writer.cache.remove(keys[number])
                        case 4: try await writer.cache.invalidate(tag: "own \(number)")
                        case 5: _ = try await server.command(bytes: [Array("DEL".utf8), name.bytes])
                        case 6: if number < 20 { try await writer.cache.invalidate(tag: "tag \(number % 7)") }
                        default: if number < 4 { try await writer.cache.clear() }
                        }
                    }
                }
                if isMeanwhile {
                    async let changed: Void = change()
                    _ = try await other.restore(from: folder)
                    try await changed
                } else {
                    try await change()
                    _ = try await other.restore(from: folder)
                }
                // All of it has been told.
                for _ in 0..<2 { try await other.redis.ping() }
                try await writer.cache.set("told", for: "the end")
                await other.hears("the end")
                for key in keys {
                    let kept = other.remembers(key)
                    let held = try await writer.level.get(key)
                    #expect(kept == nil || kept == held, "\(key): \(kept ?? "") and Redis has \(held ?? "nothing")")
                }
                try await writer.cache.clear()
            }
        }
    }

    @Test("in a cluster, by the clocks and numbers of its parts")
    func cluster() async throws {
        let cluster = try await TestCluster.shared()
        let one = try ClusterInstance(cluster, keyspace)
        try await one.level.ready(within: .seconds(20))
        let keys = (0..<60).map { "key-\($0)" }
        for key in keys {
            try await one.cache.set("v", for: key, tags: ["tag of \(key)"])
            try await one.keeps("v", for: key)
        }
        _ = try await one.cache.hibernate(to: folder)
        try await one.cache.remove("key-1")
        try await one.cache.set("new", for: "key-2")
        try await one.cache.invalidate(tag: "tag of key-3")
        let other = try ClusterInstance(cluster, keyspace)
        let report = try await other.cache.restore(from: folder)
        #expect(report.restored + report.unconfirmed >= 57 && report.restored <= 57)
        for key in ["key-1", "key-2", "key-3"] { #expect(other.remembers(key) == nil) }
        guard report.unconfirmed == 0 else { return }
        // On a busy machine a link may be late for a moment, and memory serves nothing meanwhile.
        try await other.trusts("key-9")
        #expect(other.remembers("key-9") == "v")
        try await one.cache.set("newer", for: "key-9")
        try await other.forgets("key-9")
    }
}
