import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Changing what is cached in memory and in Redis", .timeLimit(.minutes(5)))
struct ChangeTests {
    private let name = TestServer.uniqueName()
    private var keyspace: Keyspace { Keyspace(name) }

    private func append(_ number: Int) -> @Sendable ([Int]?) -> [Int]? { { ($0 ?? []) + [number] } }

    @Test("A236 A237 A238 A239 A240 A241 A242 A243 A244 A245 A247 A248 each action, in memory and in Redis")
    func actions() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (ListInstance(server.url, keyspace), ListInstance(server.url, keyspace))
            for (number, action) in ListActionCase.all.enumerated() {
                let key = "\(number)"
                if let before = action.before { try await one.cache.set(before, for: key) }
                #expect(try await one.cache.apply(action.actions, to: key) == action.after, "\(action)")
                #expect(try await one.cache.get(key) == action.after, "\(action)")
                #expect(try await other.cache.get(key) == action.after, "\(action)")
            }
        }
    }

    @Test("a change that the server refuses in its middle may have been made, and is said to be")
    func midway() async throws {
        let user = RedisServer.Directive(stringLiteral: "user app on >pw ~* &* +@all -del")
        try await RedisServer.withServer(.init(directives: [user])) { server in
            let whole = try ListInstance(server.url, keyspace)
            try await whole.level.set([1], for: "k")
            let limited = try ListInstance(server.url.replacing("redis://", with: "redis://app:pw@"), keyspace)
            #expect(try await cacheCode { try await limited.level.update("k", append(2)) } == .outcomeUnknown)
            #expect(try await whole.level.get("k") == [1, 2])
        }
    }

    @Test("A246 the age begins anew with the same lifetime, and only that key's; an update keeps what is left")
    func age() async throws {
        try await RedisServer.withServer { server in
            let one = try ListInstance(server.url, keyspace)
            try await one.listen()
            let lifetime = EntryLifetime(freshFor: .seconds(600), staleFor: .seconds(60))
            for key in ["list", "other"] {
                try await one.cache.set([1], for: key, lifetime: lifetime, tags: ["t"])
                // As if that had been some time ago.
                try await one.level.redis.withAge(.seconds(400), one.level.names(for: key))
            }
            try await one.cache.update("other", append(2))
            try await one.cache.apply(ListActions().addLast(2), to: "list")
            let now = MonotonicInstant.now
            let list = try #require(try await one.level.entry(for: "list", ReadRequest()))
            #expect(list.value == [1, 2] && list.tags == ["t"])
            #expect(list.freshUntil > now.advanced(by: .seconds(590)))
            // On a busy machine the server's clock is known to some seconds.
            #expect(list.freshUntil <= now.advanced(by: .seconds(610)))
            #expect(list.freshUntil.duration(to: list.staleUntil) == .seconds(60))
            let other = try #require(try await one.level.entry(for: "other", ReadRequest()))
            #expect(other.value == [1, 2] && other.tags == ["t"])
            #expect(other.freshUntil <= now.advanced(by: .seconds(210)))
            #expect(other.freshUntil > now.advanced(by: .seconds(100)))
            #expect(other.age(at: now).map { $0 >= .seconds(390) } == true)
            // Memory keeps it as long.
            let above = try #require(try await one.memory.entry(for: "other", ReadRequest()))
            #expect(above.freshUntil <= now.advanced(by: .seconds(211)))
            // Named: that.
            try await one.cache.update("other", lifetime: EntryLifetime(freshFor: .seconds(50)), tags: [], append(3))
            let named = try #require(try await one.level.entry(for: "other", ReadRequest()))
            #expect(named.tags.isEmpty && named.freshUntil <= MonotonicInstant.now.advanced(by: .seconds(60)))
        }
    }

    @Test("A249 another instance's change in between is not written over, and each memory has the last list")
    func others() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (ListInstance(server.url, keyspace), ListInstance(server.url, keyspace))
            try await one.listen()
            try await other.listen()
            try await one.cache.set([1], for: "k")
            #expect(try await other.cache.get("k") == [1])
            var seen: [[Int]?] = []
            try await other.cache.update("k", within: .seconds(60)) { old in
                seen.append(old)
                if seen.count == 1 { try await one.cache.update("k", append(2)) }
                return (old ?? []) + [3]
            }
            #expect(seen == [[1], [1, 2]])
            #expect(other.remembers("k") == [1, 2, 3])
            #expect(try await other.level.get("k") == [1, 2, 3])
            // The link tells of it; then no older value is left.
            while one.remembers("k") == [1, 2] { try await one.redis.ping() }
            #expect(try await one.cache.get("k") == [1, 2, 3])
            // Nor does a removal take along what it has not seen.
            var runs = 0
            try await one.cache.update("k", within: .seconds(60)) { old in
                runs += 1
                if runs == 1 { try await other.level.update("k", append(4)) }
                return runs == 1 ? nil : old
            }
            #expect(try await one.cache.get("k") == [1, 2, 3, 4])
            try await one.cache.update("k") { _ in nil }
            #expect(one.remembers("k") == nil)
            #expect(try await one.level.get("k") == nil)
        }
    }

    @Test(
        "A249 tasks of two instances lose no change, with a link and without",
        arguments: [Coherence.tracking, .none]
    )
    func concurrent(coherence: Coherence) async throws {
        try await RedisServer.withServer { server in
            let instances = try (0..<2).map { _ in try ListInstance(server.url, keyspace, coherence: coherence) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<8 {
                    group.addTask {
                        for number in 0..<20 {
                            let actions = ListActions<Int>().addLast(task * 100 + number)
                            try await instances[task % 2].cache.apply(actions, to: "list", within: .seconds(60))
                        }
                    }
                }
                try await group.waitForAll()
            }
            let list = try #require(try await instances[0].level.get("list"))
            #expect(list.count == 160)
            for task in 0..<8 { #expect(list.filter { $0 / 100 == task } == (0..<20).map { task * 100 + $0 }) }
        }
    }

    @Test("so does one that the new value does not bear: the update begins anew", arguments: [[], ["other"]])
    func droppedTags(tags: [String]) async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (ListInstance(server.url, keyspace), ListInstance(server.url, keyspace))
            try await one.listen()
            try await one.cache.set([1], for: "k", tags: ["t"])
            let seen = Locked<[[Int]?]>([])
            try await one.cache.update("k", tags: tags, within: .seconds(60)) { old in
                if seen.withLock({ $0.isEmpty }) { try await other.cache.invalidate(tag: "t") }
                seen.withLock { $0.append(old) }
                return (old ?? []) + [2]
            }
            #expect(seen.withLock { $0 } == [[1], nil])
            #expect(try await other.cache.get("k") == [2])
        }
    }

    @Test(
        "a tag that is invalidated during an update voids the outcome in every instance; one that changes stays changed"
    )
    func tags() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (ListInstance(server.url, keyspace), ListInstance(server.url, keyspace))
            try await one.listen()
            try await other.listen()
            try await one.cache.set([1], for: "k", tags: ["t"])
            try await one.cache.update("k") { old in
                try await other.cache.invalidate(tag: "t")
                return (old ?? []) + [2]
            }
            #expect(try await other.cache.get("k") == nil)
            while try await one.cache.get("k") != nil { try await one.redis.ping() }
            // By this instance itself: nothing of it is kept above.
            try await one.cache.set([1], for: "k", tags: ["t"])
            try await one.cache.update("k") { old in
                try await one.cache.invalidate(tag: "t")
                return (old ?? []) + [2]
            }
            #expect(one.remembers("k") == nil)
            #expect(try await one.cache.get("k") == nil)
            // An invalidated entry counts as none, with its tags.
            try await one.cache.update("k") { old in
                #expect(old == nil)
                return [7]
            }
            #expect(try await other.level.entry(for: "k", ReadRequest())?.tags == [])
            // Tags that were invalidated long ago void nothing new.
            try await one.cache.update("k", tags: ["t"], append(8))
            #expect(try await other.level.get("k") == [7, 8])
            // Another's list of tags, set in between, is the one that is kept.
            var runs = 0
            try await one.cache.update("k", within: .seconds(60)) { old in
                runs += 1
                if runs == 1 { try await other.cache.set([9], for: "k", tags: ["u", "v"]) }
                return (old ?? []) + [10]
            }
            let entry = try #require(try await other.level.entry(for: "k", ReadRequest()))
            #expect(entry.value == [9, 10] && entry.tags == ["u", "v"])
            try await other.cache.invalidate(tag: "v")
            #expect(try await other.cache.get("k") == nil)
        }
    }

    @Test("an update that never converges ends with an error, and the others' changes stand")
    func endless() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (ListInstance(server.url, keyspace), ListInstance(server.url, keyspace))
            var runs = 0
            let code = try await cacheCode {
                try await one.cache.update("k", within: .milliseconds(50)) { _ in
                    runs += 1
                    try await other.level.update("k", append(runs))
                    return [-1]
                }
            }
            #expect(code == .conflict)
            #expect(try await other.level.get("k") == Array(1...runs))
        }
    }

    @Test("absent, expired, foreign and older records count as none; a newer release's is not touched")
    func records() async throws {
        try await RedisServer.withServer { server in
            let one = try ListInstance(server.url, keyspace, schema: 2)
            let newer = try ListInstance(server.url, keyspace, schema: 3)
            let older = try ListInstance(server.url, keyspace, schema: 1)
            try await one.level.store(Entry(.absent), for: "absent")
            try await one.redis.set(one.level.names(for: "foreign").value, Array("short".utf8))
            try await one.redis.set(one.level.names(for: "long").value, Array(repeating: 7, count: 200))
            try await older.level.set([1], for: "older")
            for key in ["absent", "foreign", "long", "older", "none"] {
                try await one.cache.update(key) { old in
                    #expect(old == nil, "\(key)")
                    return nil
                }
                try await one.cache.update(key) { old in
                    #expect(old == nil, "\(key)")
                    return [5]
                }
                #expect(try await one.level.get(key) == [5], "\(key)")
            }
            try await newer.level.set([9], for: "newer")
            #expect(try await cacheCode { try await one.cache.update("newer", append(1)) } == .codec)
            #expect(try await newer.level.get("newer") == [9])
        }
    }

    @Test("the intact value of another codec is not taken for none, until something voids it")
    func otherMaking() async throws {
        try await RedisServer.withServer { server in
            let one = try ListInstance(server.url, keyspace, schema: 2)
            let other = RedisLevel<String, [Int]>(one.redis, keyspace: keyspace, codec: .cbor, schema: 2)
            let text = RedisLevel<String, String>(one.redis, keyspace: keyspace, codec: .json, schema: 2)
            try await other.set([9], for: "k", tags: ["t"])
            try await text.set("no list", for: "type", tags: ["t"])
            for key in ["k", "type"] {
                #expect(try await cacheCode { try await one.cache.update(key, append(1)) } == .codec)
                #expect(try await cacheCode { _ = try await one.cache.setIfAbsent([1], for: key) } == .codec)
                #expect(
                    try await cacheCode { _ = try await one.cache.compareAndSet(key, from: nil, to: [1]) } == .codec
                )
            }
            #expect(try await other.get("k") == [9])
            #expect(try await text.get("type") == "no list")
            try await one.cache.invalidate(tag: "t")
            for key in ["k", "type"] {
                try await one.cache.update(key, append(1))
                #expect(try await one.level.get(key) == [1])
            }
        }
    }

    @Test("what is too large changes nothing; an update ends a running fetch and is not written over by it")
    func fetches() async throws {
        try await RedisServer.withServer { server in
            let small = try ListInstance(server.url, keyspace) { $0.replyLimits.bulkLength = 1_000 }
            try await small.cache.set([1], for: "k")
            let large = Array(repeating: 1 << 40, count: 1_000)
            #expect(
                try await cacheCode { try await small.cache.apply(ListActions().addAllLast(large), to: "k") }
                    == .tooLarge
            )
            #expect(try await small.cache.get("k") == [1])
            let (one, other) = try (ListInstance(server.url, keyspace), ListInstance(server.url, keyspace))
            let gate = AsyncGate()
            let cache = one.memory.compose(
                one.level.fetching { _ in
                    try await gate.pass()
                    return [0]
                }
            )
            let read = Task { try await cache.get("fetched") }
            await gate.arrivals(1)
            try await other.cache.update("fetched", append(1))
            gate.open()
            #expect(try await read.value == [0])
            #expect(try await other.level.get("fetched") == [1])
            // Through the level that fetches, the source is not asked.
            try await cache.update("fetched", append(2))
            #expect(try await cache.get("fetched") == [1, 2])
            #expect(try await other.level.get("fetched") == [1, 2])
        }
    }

    @Test("A210 A211 a reload that fails removes the record from memory and Redis; until then others get it")
    func reload() async throws {
        struct Failure: Error {}
        try await RedisServer.withServer { server in
            let (one, other) = try (ListInstance(server.url, keyspace), ListInstance(server.url, keyspace))
            let gate = AsyncGate()
            let cache = one.memory.compose(
                one.level.fetching { _ in
                    try await gate.pass()
                    throw Failure()
                }
            )
            try await cache.set([1], for: "k")
            async let reload = Result { try await cache.reloadOrRemove("k") }
            await gate.arrivals(1)
            #expect(try await cache.get("k") == [1])
            #expect(try await other.cache.get("k") == [1])
            gate.open()
            let outcome = await reload
            #expect(throws: Failure.self) { try outcome.get() }
            #expect(try await other.level.get("k") == nil)
            #expect(try await one.memory.get("k") == nil)
        }
    }

    @Test("above a source Redis has the truth, and a cluster's parts are told apart")
    func overSource() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (ListInstance(server.url, keyspace), ListInstance(server.url, keyspace))
            let cache = one.memory.compose(one.level).compose(ClosureFetcher { _ in [5] })
            #expect(try await cache.get("k") == [5])
            // On a busy machine Redis is filled later, or by another read.
            while try await other.level.get("k") == nil {
                #expect(try await cache.get("k", ReadOptions(skipsReading: [.memory])) == [5])
            }
            try await cache.update("k", append(6))
            #expect(try await other.level.update("k", append(7)) == [5, 6, 7])
            #expect(try await cache.update("k", append(8)) == [5, 6, 7, 8])
            #expect(try await other.level.get("k") == [5, 6, 7, 8])
            try await cache.update("k") { _ in nil }
            #expect(try await other.level.get("k") == nil)
            #expect(try await cache.get("k") == [5])
        }
    }

    @Test("A249 two processes apply a thousand actions each to one list, killed among them: none is lost or doubled")
    func processes() async throws {
        let path = try InstanceProcess.builtProduct(named: "StrataTestingInstance")
        try await RedisServer.withServer { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 1...2 {
                    group.addTask {
                        try await ActionWriter.run(kills: 6) {
                            let arguments = ["actions", server.url, name, "\(writer)", "1000"]
                            return try await InstanceProcess.start(path, arguments: arguments)
                        }
                    }
                }
                try await group.waitForAll()
            }
            let list = try #require(try await ListInstance(server.url, keyspace).level.get("list"))
            #expect(ActionWriter.faults(in: list, writers: 1...2, count: 1_000) == [])
        }
    }
}

extension RedisClient {
    /// Makes an entry older: moves its instants in the envelope.
    fileprivate func withAge(_ age: Duration, _ names: KeyNames) async throws {
        let bytes = try await get(names.value)
        var envelope = try Envelope(bytes ?? [], keyHash: names.keyHash)
        let shift = Int64(age.components.seconds) * 1_000
        envelope.storedAt -= shift
        envelope.freshUntil -= shift
        envelope.staleUntil -= shift
        try await set(names.value, try envelope.encoded())
    }
}
