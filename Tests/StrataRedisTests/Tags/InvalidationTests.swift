import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Invalidation by tag and clear", .timeLimit(.minutes(5)))
struct InvalidationTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    private func level(_ server: RedisServer, _ coherence: Coherence) throws -> RedisLevel<String, String> {
        RedisLevel(try TestServer.client(of: server), keyspace: keyspace, codec: .text, coherence: coherence)
    }

    @Test("another instance's invalidation voids in Redis and in memory what bears the tag, and nothing else")
    func otherInstance() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (Instance(server.url, keyspace), Instance(server.url, keyspace))
            try await one.listen()
            try await other.listen()
            try await other.cache.set("a1", for: "a", tags: ["red", "round"])
            try await other.cache.set("b1", for: "b", tags: ["green"])
            try await other.cache.set("c1", for: "c")
            await one.hears("c")
            #expect(try await one.cache.get(["a", "b", "c"]) == ["a1", "b1", "c1"])
            #expect(one.remembers("a") == "a1")
            #expect(try await one.cache.entry(for: "a", ReadRequest())?.tags == ["red", "round"])
            try await other.cache.invalidate(tag: "round")
            await one.wait { $0.contains(.tagsChanged) }
            for instance in [one, other] {
                #expect(instance.remembers("a") == nil)
                #expect(instance.remembers("b") == "b1")
                #expect(instance.remembers("c") == "c1")
                #expect(try await instance.cache.get(["a", "b", "c"]) == [nil, "b1", "c1"])
                #expect(try await instance.level.get(["a", "b", "c"]) == [nil, "b1", "c1"])
            }
            try await other.cache.set("a2", for: "a", tags: ["red", "round"])
            #expect(try await other.cache.get("a") == "a2")
            while try await one.cache.get("a") != "a2" {}
            #expect(one.level.statistics.voided > 0)
        }
    }

    @Test("a clear walks over nothing, and takes everything everywhere", arguments: [false, true])
    func clear(byInspector: Bool) async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (Instance(server.url, keyspace), Instance(server.url, keyspace))
            try await one.listen()
            try await other.listen()
            for key in ["a", "b"] { try await other.cache.set("old", for: key, tags: ["red"]) }
            await one.hears("b")
            #expect(try await one.cache.get(["a", "b"]) == ["old", "old"])
            let before = one.changes.count { $0 == .everythingChanged }
            try await server.command("CONFIG", "RESETSTAT")
            if byInspector {
                try await KeyspaceInspector(other.redis, keyspace).clear()
            } else {
                try await other.cache.clear()
                // Links look, by the same script, and publish nothing.
                #expect(try await server.calls(of: "publish") == 1)
                // The marks begin anew, without the tags.
                #expect(try await server.calls(of: "unlink") == 1)
                for command in ["scan", "del", "keys"] { #expect(try await server.calls(of: command) == 0) }
                #expect(other.remembers("a") == nil)
            }
            await one.wait { $0.count { $0 == .everythingChanged } > before }
            #expect(one.remembers("a") == nil)
            #expect(try await one.cache.get(["a", "b"]) == [nil, nil])
            #expect(try await other.cache.get(["a", "b"]) == [nil, nil])
            try await other.cache.set("new", for: "a")
            #expect(try await other.cache.get("a") == "new")
        }
    }

    @Test(
        "without the link every read asks, and sees what others have invalidated",
        arguments: [Coherence.none, .lifetime(.milliseconds(1))]
    )
    func withoutLink(coherence: Coherence) async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try level(server, coherence), try level(server, coherence))
            try await one.set("a1", for: "a", tags: ["red"])
            try await one.set("b1", for: "b", tags: ["green"])
            #expect(try await other.get(["a", "b"]) == ["a1", "b1"])
            try await other.invalidate(tag: "red")
            #expect(try await one.get("a") == nil)
            #expect(try await one.get(["a", "b"]) == [nil, "b1"])
            #expect(try await other.get("b") == "b1")
            try await one.set("a2", for: "a", tags: ["red"])
            #expect(try await other.get("a") == "a2")
            try await one.clear()
            #expect(try await other.get(["a", "b"]) == [nil, nil])
            try await other.set("a3", for: "a", tags: ["red"])
            #expect(try await one.get("a") == "a3")
        }
    }

    @Test(
        "without the link what a read fetches that leaves Redis out is stored by the number that is, not by the known one",
        arguments: [false, true]
    )
    func unread(isComposed: Bool) async throws {
        try await RedisServer.withServer { server in
            let (one, other) = (try level(server, .none), try level(server, .none))
            let fetches = Locked(0)
            let fetch: @Sendable (String) -> String = { _ in
                fetches.withLock { fetches in
                    fetches += 1
                    return "\(fetches)"
                }
            }
            let cache =
                isComposed
                ? AnyLevel(one.compose(ClosureFetcher { fetch($0) }, fillWaitLimit: .seconds(60)))
                : AnyLevel(one.fetching(LeaseOptions(duration: .seconds(60))) { fetch($0) })
            try await cache.set("known", for: "other")
            try await other.clear()
            var (key, value) = ("", nil as String?)
            // Another key where nothing was stored, because the lease of a fill has ended before its time.
            repeat {
                key = "k\(fetches.withLock { $0 })"
                value = try await cache.get(key, ReadOptions(skipsReading: [.redis]))
            } while one.statistics.stores == 0
            #expect(value == "\(fetches.withLock { $0 })")
            #expect(try await cache.get(key) == value)
        }
    }

    @Test(
        "while changes are told a read is one GET, also of an entry with tags; a batch asks for all unknown tags at once"
    )
    func roundTrips() async throws {
        try await RedisServer.withServer { server in
            let writer = try level(server, .none)
            for number in 0..<20 { try await writer.set("v", for: "\(number)", tags: ["tag \(number)", "all"]) }
            // So that the numbers of the entries lie behind.
            try await writer.invalidate(tag: "another")
            let one = try Instance(server.url, keyspace)
            try await one.listen()
            try await server.command("CONFIG", "RESETSTAT")
            let began = MonotonicInstant.now
            /// How often the link's instance may have looked at the marks since: each second at most.
            var looks: Int { Int(began.duration(to: .now).components.seconds) + 1 }
            let keys = (0..<20).map { "\($0)" }
            /// Without those of scripts.
            func askedForTags() async throws -> Int {
                let scripts = try await server.calls(of: "evalsha")
                let asked = try await server.calls(of: "hmget")
                // One that has come between the two questions is counted once only.
                return try await server.calls(of: "evalsha") == scripts ? asked - scripts : askedForTags()
            }
            #expect(try await one.level.get(keys).allSatisfy { $0 == "v" })
            #expect(try await server.calls(of: "mget") == 1)
            let first = try await askedForTags()
            #expect(first >= 1 && first <= 1 + looks)
            #expect(try await one.level.get("3") == "v")
            for _ in 0..<20 { #expect(try await one.level.get(keys).allSatisfy { $0 == "v" }) }
            #expect(try await askedForTags() <= 1 + looks)
            #expect(try await server.calls(of: "get") == 1)
            let before = try await server.calls(of: "hmget")
            try await one.level.set("new", for: "new", tags: ["never asked for"])
            #expect(try await one.level.get("new") == "new")
            // The set is a script as well.
            #expect(try await server.calls(of: "hmget") - before <= server.calls(of: "evalsha") - 1 + looks)
            #expect(try await server.calls(of: "get") == 2)
        }
    }

    @Test(
        "any text is a tag, a thousand on an entry, five thousand invalidated at once; more and longer ones are refused"
    )
    func hostile() async throws {
        try await RedisServer.withServer { server in
            let one = try level(server, .none)
            let strange = [
                "", "s", "c", "=s", "*", "\0", "\r\n", "a:b", "{x}", "caf\u{e9}", String(repeating: "x", count: 1_024),
            ]
            for tag in strange {
                try await one.set("v", for: "k", tags: [tag])
                try await one.set("v", for: "other", tags: ["other"])
                #expect(try await one.get("k") == "v")
                try await one.invalidate(tag: tag)
                #expect(try await one.get(["k", "other"]) == [nil, "v"])
            }
            let tags = (0..<1_000).map { "tag \($0)" }
            try await one.set("v", for: "k", tags: tags)
            #expect(try await one.get("k") == "v")
            try await one.invalidate(tags: (999..<6_000).map { "tag \($0)" })
            #expect(try await one.get("k") == nil)
            for wrong in [tags + ["more"], [String(repeating: "x", count: 1_025)]] {
                let error = await #expect(throws: CacheError.self) { try await one.set("v", for: "k", tags: wrong) }
                #expect(error?.code == .invalidTags)
                let entry = Entry(.value("v"), tags: wrong)
                await #expect(throws: CacheError.self) { try await one.store(entry, for: "k") }
            }
            let wide = (0..<100).map { "\($0)" + String(repeating: "x", count: 1_000) }
            let error = await #expect(throws: CacheError.self) { try await one.set("v", for: "k", tags: wide) }
            #expect(error?.code == .tooLarge)
            try await one.invalidate(tags: [])
            await #expect(throws: CacheError.self) {
                try await one.invalidate(tags: [String(repeating: "x", count: 1_025)])
            }
        }
    }

    @Test("thousands of tags at once are not told by name: memory forgets everything")
    func manyTags() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (Instance(server.url, keyspace), Instance(server.url, keyspace))
            try await one.listen()
            try await one.cache.set("v", for: "k", tags: ["a tag of some length 7"])
            try await one.cache.set("v", for: "other")
            let before = one.changes.count { $0 == .everythingChanged }
            try await other.cache.invalidate(tags: (0..<1_000).map { "a tag of some length \($0)" })
            await one.wait { $0.count { $0 == .everythingChanged } > before }
            #expect(one.remembers("k") == nil)
            #expect(try await one.cache.get(["k", "other"]) == [nil, "v"])
        }
    }

    @Test("entries with tags live no longer than invalidations are remembered")
    func clamped() async throws {
        let redis = try await TestServer.client()
        let policy = FreshnessPolicy(freshFor: .seconds(90 * 86_400), jitter: 0)
        let level = RedisLevel<String, String>(
            redis,
            keyspace: keyspace,
            codec: .text,
            freshness: policy,
            coherence: .none
        )
        try await level.set("v", for: "tagged", tags: ["red"])
        try await level.set("v", for: "plain")
        func life(_ key: String) async throws -> RedisTimeToLive {
            try await redis.timeToLive(of: keyspace.names(for: key.keyBytes).value)
        }
        guard case .remaining(let tagged) = try await life("tagged"),
            case .remaining(let plain) = try await life("plain")
        else {
            Issue.record("no lifetime at the server")
            return
        }
        #expect(tagged <= .seconds(30 * 86_400))
        #expect(plain > .seconds(89 * 86_400))
        try await KeyspaceInspector(redis, keyspace).clear()
    }

    @Test("a server that is full invalidates all the same")
    func full() async throws {
        try await RedisServer.withServer { server in
            let one = try level(server, .none)
            try await one.set("v", for: "k", tags: ["red"])
            try await server.command("CONFIG", "SET", "maxmemory", "1")
            await #expect(throws: RedisError.self) { try await one.set("w", for: "other") }
            try await one.invalidate(tag: "red")
            #expect(try await one.get("k") == nil)
            try await one.clear()
        }
    }

    @Test("an invalidation that fails says so, and this instance's memory has let go")
    func failure() async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace)
            try await one.listen()
            try await one.cache.set("v", for: "k", tags: ["red"])
            #expect(one.remembers("k") == "v")
            try await server.pause()
            try one.redis.adjust(redisBudget: .milliseconds(200))
            await #expect(throws: RedisError.self) { try await one.cache.invalidate(tag: "red") }
            #expect(one.remembers("k") == nil)
            try await server.resume()
        }
    }

    @Test("a memory level above hears of its own instance's invalidation before the call returns")
    func ownInvalidation() async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace)
            try await one.listen()
            for round in 0..<50 {
                try await one.cache.set("\(round)", for: "k", tags: ["red"])
                #expect(try await one.cache.get("k") == "\(round)")
                try await one.cache.invalidate(tag: "red")
                #expect(try await one.cache.get("k") == nil)
                #expect(try await one.level.get("k") == nil)
            }
        }
    }
}
