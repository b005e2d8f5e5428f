import Strata
import StrataTesting
import Testing

@testable import StrataRedis

extension RedisServer {
    /// Runs a command on the hash of a keyspace's marks.
    @discardableResult
    func marks(_ command: String, _ keyspace: Keyspace, _ arguments: String...) async throws -> RawReply {
        try await self.command(bytes: [Array(command.utf8), keyspace.marks] + arguments.map { Array($0.utf8) })
    }
}

@Suite("The hash of a keyspace's marks", .timeLimit(.minutes(5)))
struct MarksTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    private func level(_ server: RedisServer, freshness: FreshnessPolicy = FreshnessPolicy()) throws
        -> RedisLevel<String, String>
    {
        RedisLevel(
            try TestServer.client(of: server),
            keyspace: keyspace,
            codec: .text,
            freshness: freshness,
            coherence: .none
        )
    }

    private func sequence(_ server: RedisServer) async throws -> UInt64 {
        try #require(UInt64(try await server.marks("HGET", keyspace, "s").text))
    }

    // MARK: Eviction

    @Test(
        "a server that evicts what is used least does not evict them while an instance uses the keyspace",
        arguments: ["allkeys-lru", "allkeys-lfu"]
    )
    func eviction(policy: String) async throws {
        // The server guesses what is used least from samples. With few it may take any key, which says nothing of the
        // marks: with the most that it allows, it takes old ones.
        let directives: [RedisServer.Directive] = [
            "maxmemory 8mb", .init("maxmemory-policy", policy), "maxmemory-samples 64",
        ]
        try await RedisServer.withServer(.init(directives: directives)) { server in
            let one = try Instance(server.url, keyspace)
            try await one.listen()
            try await one.level.invalidate(tag: "red")
            let first = try await sequence(server)
            let before = one.changes.count { $0 == .everythingChanged }
            let client = try TestServer.client(of: server)
            let filler = [UInt8](repeating: 0, count: 4_096)
            // Three times as much as there is room for in a few seconds each, at a pace that leaves the server's clock,
            // which counts seconds, a chance to tell old from new.
            for round in 0..<60 {
                for number in 0..<125 { try await client.set(RedisKey("filler \(round) \(number)"), filler) }
                try await one.cache.set("\(round)", for: "k", tags: ["red"])
                #expect(try await one.cache.get("k") == "\(round)")
                try await Task.pause(for: .milliseconds(200))
            }
            let evicted = try await client.info("stats")["evicted_keys"].flatMap { Int($0) } ?? 0
            #expect(evicted > 3_000)
            #expect(try await sequence(server) == first)
            #expect(one.changes.count { $0 == .everythingChanged } == before)
        }
    }

    // MARK: Damage

    @Test("something else under their name is replaced, by whoever comes first", arguments: 0..<4)
    func wrongType(first: Int) async throws {
        try await RedisServer.withServer { server in
            let level = try level(server)
            try await level.set("old", for: "k", tags: ["red"])
            for command in [["SET", "x"], ["RPUSH", "x"], ["ZADD", "1", "x"]] {
                try await server.marks("DEL", keyspace)
                let bytes = command.dropFirst().map { Array($0.utf8) }
                try await server.command(bytes: [Array(command[0].utf8), keyspace.marks] + bytes)
                switch first {
                case 0: #expect(try await level.get("k") == nil)
                case 1: try await level.invalidate(tag: "green")
                case 2: try await level.clear()
                default:
                    try await level.sweep()
                    try await level.set("other", for: "other")
                }
                #expect(try await level.get("k") == nil)
                #expect(try await server.marks("TYPE", keyspace).text == "hash")
                try await level.set("new", for: "k", tags: ["red"])
                #expect(try await level.get("k") == "new")
                try await level.invalidate(tag: "red")
                #expect(try await level.get("k") == nil)
                try await level.set("old", for: "k", tags: ["red"])
            }
        }
    }

    @Test("the link sees it as well, and puts the marks back", arguments: ["SET", "RPUSH"])
    func wrongTypeHeard(command: String) async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace)
            try await one.listen()
            try await one.cache.set("old", for: "k", tags: ["red"])
            let before = one.changes.count { $0 == .everythingChanged }
            try await server.command(command, "elsewhere", "x")
            try await server.command(bytes: [Array("RENAME".utf8), Array("elsewhere".utf8), keyspace.marks])
            await one.wait { $0.count { $0 == .everythingChanged } > before }
            #expect(try await server.marks("TYPE", keyspace).text == "hash")
            #expect(try await one.cache.get("k") == nil)
            try await one.cache.set("new", for: "k", tags: ["red"])
            #expect(try await one.cache.get("k") == "new")
        }
    }

    @Test(
        "a sequence that no invalidation has given out does not stay",
        arguments: ["8000000000000000", "8000000000000001", "9007199254740993", "7900000000000000", "1000000000000000"]
    )
    func absurdSequence(number: String) async throws {
        try await RedisServer.withServer { server in
            let (level, other) = (try level(server), try level(server))
            try await level.invalidate(tag: "red")
            try await server.marks("HSET", keyspace, "s", number)
            // Who reads first may believe it; the first invalidation does not.
            _ = try await other.get("k")
            try await level.set("one", for: "k", tags: ["red"])
            _ = try await other.get("k")
            try await level.invalidate(tag: "green")
            let now = UInt64(try await level.redis.time().saturatedNanoseconds / 1_000)
            #expect(try await sequence(server) <= now)
            for level in [level, other] {
                try await level.set("two", for: "k", tags: ["red"])
                let first = try await sequence(server)
                #expect(try await level.get("k") == "two")
                try await level.invalidate(tag: "red")
                #expect(try await level.get("k") == nil)
                // No more clears: a value without the tag survives.
                try await level.set("three", for: "other")
                try await level.invalidate(tag: "red")
                #expect(try await level.get("other") == "three")
                let last = try await sequence(server)
                #expect(last > first && last < now + 600_000_000)
            }
        }
    }

    @Test(
        "an instance that was told of a number from nowhere forgets it, also after FLUSHALL",
        arguments: [false, true]
    )
    func forgedNumber(flushes: Bool) async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace)
            try await one.listen()
            // Each is believed on the strength of the one before.
            for _ in 0..<4 {
                let known = one.level.shared.tags.snapshot.highest
                let event = "t\(known):\(known + TagTable.longestStep - 1):"
                try await server.command(bytes: [Array("PUBLISH".utf8), keyspace.events, Array(event.utf8)])
                while one.level.shared.tags.snapshot.highest == known { try await one.redis.ping() }
            }
            if flushes {
                // All that the events have changed is counted.
                try await one.redis.ping()
                let before = one.changes.count { $0 == .everythingChanged }
                try await server.command("FLUSHALL")
                await one.wait { $0.count { $0 == .everythingChanged } > before }
            }
            try await one.level.clear()
            try await one.level.listens()
            let now = UInt64(try await one.redis.time().saturatedNanoseconds / 1_000)
            #expect(try await sequence(server) <= now)
            #expect(one.level.shared.tags.snapshot.highest <= now + 600_000_000)
            let other = try level(server)
            try await one.cache.set("one", for: "k", tags: ["red"])
            #expect(try await other.get("k") == "one")
            #expect(try await one.level.get("k") == "one")
            try await other.invalidate(tag: "red")
            while try await one.cache.get("k") != nil { try await one.redis.ping() }
            try await one.cache.set("two", for: "k", tags: ["red"])
            #expect(try await other.get("k") == "two")
        }
    }

    @Test(
        "a tag's number that makes no sense costs one miss",
        arguments: ["8000000000000001", "x", "", "-1", "7999999999999999"]
    )
    func damagedTag(number: String) async throws {
        try await RedisServer.withServer { server in
            let level = try level(server)
            try await level.invalidate(tag: "green")
            try await level.set("old", for: "k", tags: ["red"])
            try await level.invalidate(tag: "green")
            try await server.marks("HSET", keyspace, "=red", number)
            #expect(try await level.get("k") == nil)
            try await level.set("new", for: "k", tags: ["red"])
            try await level.invalidate(tag: "green")
            #expect(try await level.get("k") == "new")
        }
    }

    @Test("a sequence from before the clock was set right by years begins anew, and nothing from before becomes valid")
    func lateSequence() async throws {
        try await RedisServer.withServer { server in
            let level = try level(server)
            try await level.invalidate(tag: "red")
            let now = UInt64(try await level.redis.time().saturatedNanoseconds / 1_000)
            try await level.set("old", for: "k", tags: ["red"])
            // The server had believed that it was years ago, and then the tag was invalidated.
            let late = String(now - 3 * TagTable.longestStep)
            try await server.marks("HSET", keyspace, "s", late, "c", late, "=red", late)
            let other = try self.level(server)
            try await other.invalidate(tag: "green")
            #expect(try await other.get("k") == nil)
            #expect(try await level.get("k") == nil)
        }
    }

    // MARK: Size

    @Test("as many tags as there may be: the hash stays bounded, nothing void is served, little is voided for it")
    func bounded() async throws {
        try await RedisServer.withServer { server in
            let level = try level(server)
            try await level.invalidate(tag: "first")
            var random = SplitMix64.announced()
            var last: [Int: UInt64] = [:]
            var entries: [(asOf: UInt64, tags: [Int])] = []
            var largest: Int64 = 0
            var lost = (old: 0, young: 0)
            for round in 0..<130 {
                let tags = (0..<1_000)
                    .map { $0 < 950 ? round * 950 + $0 : Int.random(in: 0...round * 950, using: &random) }
                let asOf = level.shared.tags.asOf
                for _ in 0..<4 {
                    entries.append((asOf, [Int.random(in: 0..<150_000, using: &random), -round]))
                }
                try await level.invalidate(tags: tags.map { "tag \($0)" })
                let number = level.shared.tags.asOf
                for tag in tags { last[tag] = number }
                let size = try #require(try await server.marks("HLEN", keyspace).integer)
                largest = max(largest, size)
                guard round % 10 == 9 else { continue }
                let questions = entries.map { (asOf: $0.asOf, tags: $0.tags.map { TagName("tag \($0)") }) }
                let verdicts = try await level.shared.tags.admits(questions, nil, level.redis)
                for (index, (entry, isValid)) in zip(entries, verdicts).enumerated() {
                    let isVoid = entry.tags.contains { last[$0] ?? 0 > entry.asOf }
                    #expect(!(isVoid && isValid), "\(entry) of round \(index / 4) in round \(round)")
                    guard !isVoid, !isValid else { continue }
                    if index / 4 > round - 40 { lost.young += 1 } else { lost.old += 1 }
                }
            }
            #expect(last.count > 110_000)
            #expect(largest < 90_000)
            #expect(largest > 60_000)
            // What was fetched before the tags that were forgotten is gone, nothing else.
            #expect(lost.young == 0)
            #expect(lost.old > 0)
        }
    }

    @Test("tags from longer ago than any entry lives are forgotten by the way, without a sweep")
    func trimmed() async throws {
        try await RedisServer.withServer { server in
            let level = try level(server)
            try await level.invalidate(tag: "young")
            let now = UInt64(try await level.redis.time().saturatedNanoseconds / 1_000)
            let old = String(now - 40 * 86_400 * 1_000_000)
            for start in stride(from: 0, to: 5_000, by: 500) {
                let fields = (start..<start + 500).flatMap { ["=old \($0)", old] }
                try await server.command(
                    bytes: [Array("HSET".utf8), keyspace.marks] + fields.map { Array($0.utf8) }
                )
            }
            try await level.set("v", for: "k", tags: ["old 17", "middle"])
            var calls = 0
            while try #require(try await server.marks("HLEN", keyspace).integer) > 1_100, calls < 500 {
                calls += 1
                try await level.invalidate(tag: "again")
            }
            #expect(calls > 10 && calls < 200)
            #expect(try await server.marks("HEXISTS", keyspace, "=young").integer == 1)
            #expect(try await server.marks("HGET", keyspace, "f").text == old)
            #expect(try await level.get("k") == "v")
        }
    }

    // MARK: Lifetime

    @Test("they expire, later than anything that they are needed for, and not while they are used")
    func expiry() async throws {
        try await RedisServer.withServer { server in
            let level = try level(server)
            func left() async throws -> Duration? {
                guard case .remaining(let left) = try await level.redis.timeToLive(of: RedisKey(keyspace.marks)) else {
                    return nil
                }
                return left
            }
            try await level.invalidate(tag: "red")
            #expect(try #require(try await left()) > .seconds(31 * 86_400))
            // Of an older release, or nearly over.
            for command in [["PERSIST"], ["PEXPIRE", "1000000"]] {
                let bytes = command.dropFirst().map { Array($0.utf8) }
                try await server.command(bytes: [Array(command[0].utf8), keyspace.marks] + bytes)
                try await level.invalidate(tag: "red")
                #expect(try #require(try await left()) > .seconds(31 * 86_400))
            }
            // A keyspace whose values live for longer.
            let year = FreshnessPolicy(freshFor: .seconds(366 * 86_400))
            let long = RedisLevel<String, String>(level.redis, keyspace: keyspace, codec: .text, freshness: year)
            try await long.listens()
            #expect(try #require(try await left()) > .seconds(367 * 86_400))
            // Others do not shorten that.
            try await level.clear()
            try await long.listens()
            try await level.invalidate(tag: "red")
            #expect(try #require(try await left()) > .seconds(31 * 86_400))
        }
    }

    @Test("a version of a keyspace that is used no more leaves nothing behind for ever")
    func versions() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            for version in 1...3 {
                let level = RedisLevel<String, String>(
                    redis,
                    keyspace: Keyspace("articles", version: version),
                    codec: .text
                )
                try await level.listens()
                try await level.set("v", for: "k", tags: ["red"])
                try await level.invalidate(tag: "red")
                try await level.clear()
            }
            var names: Set<RedisKey> = []
            for try await batch in redis.keys(beginningWith: []) { names.formUnion(batch) }
            #expect(names.count { $0.description.hasSuffix(":t:marks") } == 3)
            for name in names {
                guard case .remaining = try await redis.timeToLive(of: name) else {
                    Issue.record("\(name) has no expiry")
                    continue
                }
            }
        }
    }
}
