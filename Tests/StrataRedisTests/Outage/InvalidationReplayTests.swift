import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Invalidations that failed are carried out later", .timeLimit(.minutes(5)))
struct InvalidationReplayTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    /// A client that is quick to give up and to come back.
    private func client(_ url: String, _ adjust: (inout RedisConfiguration) -> Void = { _ in }) throws -> RedisClient {
        var configuration = try RedisConfiguration(url: url)
        configuration.connectTimeout = .seconds(10)
        configuration.commandTimeout = .seconds(20)
        configuration.redisBudget = .seconds(20)
        configuration.breaker.slowAfter = .seconds(20)
        configuration.healthWindow = .seconds(20)
        configuration.reconnectDelay = .milliseconds(1) ... .milliseconds(20)
        adjust(&configuration)
        return try RedisClient(configuration)
    }

    private func level(_ redis: RedisClient) -> RedisLevel<String, String> {
        RedisLevel(redis, keyspace: keyspace, codec: .text)
    }

    /// Removes a key at a server that stands still from here on, so that no answer can come before the cancellation
    /// does.
    private func cancelRemoval(
        of key: String,
        _ level: RedisLevel<String, String>,
        _ server: RedisServer
    ) async throws {
        try await server.pause()
        let call = Task { try await level.remove(key) }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    /// Returns when nothing is pending: the client tries by itself.
    private func settled(_ redis: RedisClient) async throws {
        while redis.outageStatistics.pendingInvalidations > 0 { try await Task.sleep(for: .milliseconds(2)) }
    }

    @Test(
        "a remove that could not be sent: the source answers until it is repeated, then the old value is gone everywhere"
    )
    func remove() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let redis = try client(proxy.url)
            let cut = level(redis)
            let cache = MemoryLevel<String, String>(limit: .entries(10)).compose(cut.fetching { _ in "new" })
            let other = try Instance(server.url, keyspace)
            try await other.listen()
            try await cut.set("old", for: "k")
            try await cut.set("kept", for: "else")
            #expect(try await other.cache.get("k") == "old")

            try proxy.admit(.refuse)
            proxy.resetConnections()
            await #expect(throws: RedisError.self) { try await cache.remove("k") }
            #expect(redis.outageStatistics.pendingInvalidations == 1)
            #expect(try await cache.get("k") == "new")
            #expect(redis.outage.replay.reach(over: keyspace.names(for: "k".keyBytes), keyspace) == .everything)

            try proxy.admit(.accept)
            try await settled(redis)
            #expect(redis.outageStatistics.replayedInvalidations == 1)
            #expect(try await other.level.get("k") == nil)
            while other.remembers("k") != nil { try await other.redis.ping() }
            #expect(try await cut.get("else") == "kept")
            #expect(try await cache.get("k") == "new")
            await proxy.stop()
        }
    }

    @Test("what lies under a pending key is void, alone or among others, however healthy the rest is")
    func void() async throws {
        try await RedisServer.withServer { server in
            let redis = try client(server.url)
            let level = level(redis)
            try await level.set("old", for: "k")
            try await level.set("fine", for: "other")
            // A replica reads and does not write, and neither does the repetition succeed.
            try await server.command("REPLICAOF", "127.0.0.1", "1")
            try await server.command("CONFIG", "SET", "replica-serve-stale-data", "yes")
            let refused = await #expect(throws: RedisError.self) { try await level.remove("k") }
            #expect(refused?.serverCode == "READONLY")
            #expect(try await level.get("k") == nil)
            #expect(try await level.get(["other", "k", "none"]) == ["fine", nil, nil])
            #expect(try await level.fetching { _ in "new" }.get("k") == "new")
            #expect(try await level.fetching { _ in "new" }.get("other") == "fine")

            // No connection is made anew: it is the pauses that bring it.
            try await server.command("REPLICAOF", "NO", "ONE")
            try await settled(redis)
            #expect(try await level.get("k") == nil)
            #expect(try await level.get("other") == "fine")
        }
    }

    @Test("a set that failed: what lay there before is not served any more")
    func failedSet() async throws {
        try await RedisServer.withServer { server in
            let redis = try client(server.url)
            let level = level(redis)
            try await level.set("old", for: "k")
            try await server.command("CONFIG", "SET", "maxmemory", "1")
            let refused = await #expect(throws: RedisError.self) { try await level.set("new", for: "k") }
            #expect(refused?.serverCode == "OOM")
            // A removal needs no memory, so it is repeated although the server is as full as before.
            try await settled(redis)
            #expect(try await level.get("k") == nil)
            try await server.command("CONFIG", "SET", "maxmemory", "0")
        }
    }

    @Test("of more tags than one script takes all are repeated, also those that were not tried any more")
    func manyTags() async throws {
        let redis = try client("redis://127.0.0.1:1")
        let tags = (0..<2_500).map { "tag-\($0)" }
        await #expect(throws: RedisError.self) { try await level(redis).invalidate(tags: tags) }
        #expect(redis.outageStatistics.pendingInvalidations == tags.count)
    }

    @Test("a clear that failed is repeated; until then all of the keyspace is void")
    func clear() async throws {
        try await RedisServer.withServer { server in
            let redis = try client(server.url)
            let level = level(redis)
            let elsewhere = RedisLevel<String, String>(redis, keyspace: Keyspace(TestServer.uniqueName()), codec: .text)
            try await level.set("old", for: "k")
            try await elsewhere.set("fine", for: "k")
            try await server.command("REPLICAOF", "127.0.0.1", "1")
            await #expect(throws: RedisError.self) { try await level.clear() }
            #expect(try await level.get("k") == nil)
            #expect(try await elsewhere.get("k") == "fine")
            try await server.command("REPLICAOF", "NO", "ONE")
            try await settled(redis)
            #expect(try await level.get("k") == nil)
            #expect(try await elsewhere.get("k") == "fine")
        }
    }

    @Test("one that is repeated to a server which has lost another does not hide that loss")
    func lostMeanwhile() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let redis = try client(proxy.url)
            // Nothing but its own questions tells it of anything.
            let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text, coherence: .none)
            try await level.set("old", for: "k", tags: ["lost"])
            try await level.set("old", for: "other", tags: ["repeated"])
            let marks = String(decoding: keyspace.marks(of: nil), as: UTF8.self)
            var before: [(field: String, value: String)] = []
            for field in ["s", "c", "f"] { before.append((field, try await server.command("HGET", marks, field).text)) }
            try await level.invalidate(tags: ["lost"])
            try proxy.admit(.refuse)
            proxy.resetConnections()
            await #expect(throws: RedisError.self) { try await level.invalidate(tags: ["repeated"]) }
            // A replica takes over that had not got the first invalidation.
            try await server.command("DEL", marks)
            for (field, value) in before where value != "" { try await server.command("HSET", marks, field, value) }
            let known = level.shared.tags(of: nil).highest
            try proxy.admit(.accept)
            try await settled(redis)
            #expect(level.shared.tags(of: nil).highest > known)
            for key in ["k", "other"] { #expect(try await level.get(key) == nil) }
            await proxy.stop()
        }
    }

    @Test("while a tag is pending what does not bear it is served, and what does is fetched under a lease")
    func tag() async throws {
        try await RedisServer.withServer { server in
            let redis = try client(server.url)
            let level = level(redis)
            try await level.set("old", for: "red", tags: ["red"])
            try await level.set("fine", for: "plain", tags: ["blue"])
            // Not as a replica: that one would be left, and be tried again on a new connection.
            try await server.command("CONFIG", "SET", "min-replicas-to-write", "1")
            await #expect(throws: RedisError.self) { try await level.invalidate(tag: "red") }
            // It is not tried again while the test lasts: what has been tried has its answer when the PING has.
            await redis.outage.replay.finish(by: .distantPast, redis)
            try await redis.ping()
            try await server.command("CONFIG", "SET", "min-replicas-to-write", "0")

            #expect(try await level.get("plain") == "fine")
            #expect(try await level.get("red") == nil)
            #expect(try await level.get(["red", "plain"]) == [nil, "fine"])
            let cache = level.fetching(.lasting) { _ in "new" }
            #expect(try await cache.get("red") == "new")
            #expect(level.statistics.uncoordinatedFetches == 0)
            #expect(try await self.level(try client(server.url)).get("red") == "new", "stored for all")
            #expect(redis.outageStatistics.pendingInvalidations == 1)
        }
    }

    @Test("a call that is cancelled counts as failed: it may have happened or not")
    func cancelled() async throws {
        try await RedisServer.withServer { server in
            let redis = try client(server.url)
            let level = level(redis)
            try await level.set("old", for: "k")
            try await cancelRemoval(of: "k", level, server)
            #expect(redis.outageStatistics.pendingInvalidations == 1)
            try await server.resume()
            try await settled(redis)
            #expect(try await level.get("k") == nil)
        }
    }

    @Test("one that the server refuses for want of a permission does not hold up those behind it")
    func refused() async throws {
        let user = RedisServer.Directive(stringLiteral: "user half on >pw ~*\(keyspace.name)* &* +@all")
        try await RedisServer.withServer(.init(directives: [user])) { server in
            let redis = try client(server.url) { ($0.username, $0.password) = ("half", Secret("pw")) }
            let forbidden = RedisLevel<String, String>(redis, keyspace: "forbidden", codec: .text)
            let error = await #expect(throws: RedisError.self) { try await forbidden.remove("k") }
            #expect(error?.serverMessage?.hasPrefix("NOPERM") == true)
            let level = level(redis)
            try await level.set("old", for: "k")
            try await cancelRemoval(of: "k", level, server)
            #expect(redis.outageStatistics.pendingInvalidations == 2)
            try await server.resume()
            while redis.outageStatistics.pendingInvalidations > 1 { try await Task.sleep(for: .milliseconds(2)) }
            #expect(try await level.get("k") == nil)
            #expect(redis.outageStatistics.replayedInvalidations == 1)
        }
    }

    @Test("of a user that may not publish they are in force, once, and others are told", arguments: [true, false])
    func unpublished(isClear: Bool) async throws {
        let user = RedisServer.Directive(stringLiteral: "user half on >pw ~* resetchannels +@all")
        try await RedisServer.withServer(.init(directives: [user])) { server in
            let redis = try client(server.url) { ($0.username, $0.password) = ("half", Secret("pw")) }
            let half = level(redis)
            let other = try ListInstance(server.url, keyspace)
            try await other.listen()
            try await other.cache.set([1], for: "list", tags: ["t"])
            if isClear { try await half.clear() } else { try await half.invalidate(tag: "t") }
            #expect(redis.outageStatistics.pendingInvalidations == 0)
            while other.remembers("list") != nil { try await nextTurn() }
            #expect(try await other.level.get("list") == nil)
            try await other.cache.set([2], for: "list", tags: ["t"])
            #expect(try await other.level.get("list") == [2])
        }
    }

    @Test(
        "hundreds that are refused for good keep no other waiting, neither at work nor at the end",
        arguments: [false, true]
    )
    func refusedForGood(atEnd: Bool) async throws {
        let user = RedisServer.Directive(stringLiteral: "user half on >pw ~*\(keyspace.name)* &* +@all")
        try await RedisServer.withServer(.init(directives: [user])) { server in
            let log = LogRecorder()
            var configuration = try RedisConfiguration(url: server.url)
            (configuration.username, configuration.password) = ("half", Secret("pw"))
            configuration.beIn(patience: .seconds(20))
            let redis = try RedisClient(configuration, logger: log.logger)
            let forbidden = RedisLevel<String, String>(redis, keyspace: "forbidden", codec: .text)
            for key in 0..<300 { await #expect(throws: RedisError.self) { try await forbidden.remove("\(key)") } }
            let level = level(redis)
            try await level.set("old", for: "k")
            try await cancelRemoval(of: "k", level, server)
            #expect(redis.outageStatistics.pendingInvalidations == 301)
            try await server.resume()
            let end = Task { if atEnd { await redis.shutDown(within: .seconds(200)) } }
            let name = String(decoding: keyspace.names(for: "k".keyBytes).value.bytes, as: UTF8.self)
            while try await server.command("EXISTS", name).integer == 1 { try await nextTurn() }
            #expect(redis.outageStatistics.pendingInvalidations >= 300)
            // With the permission they are carried out, without a new connection, and nothing is left to wait for.
            try await server.command("ACL", "SETUSER", "half", "~*")
            await end.value
            while redis.outageStatistics.pendingInvalidations > 0 { try await nextTurn() }
            // Once for all of them.
            #expect(log.lines.count { $0.text.hasPrefix("invalidations have failed and will be repeated") } <= 1)
        }
    }

    @Test("neither a removal nor its repetition is bound by what the call around it has spent")
    func spentBudget() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let redis = try client(proxy.url)
            let level = level(redis)
            try await level.set("old", for: "k", tags: ["red"])
            try await level.set("old", for: "other")
            try await CallBudget.$current.withValue(CallBudget(0)) { try await level.remove("other") }
            #expect(try await level.get("other") == nil)
            try proxy.admit(.refuse)
            proxy.resetConnections()
            await CallBudget.$current.withValue(CallBudget(0)) {
                let error = await #expect(throws: RedisError.self) { try await level.invalidate(tag: "red") }
                #expect(error?.code != .budgetSpent)
            }
            try proxy.admit(.accept)
            try await settled(redis)
            #expect(try await level.get("k") == nil)
            await proxy.stop()
        }
    }

    @Test("many are repeated, and none twice")
    func many() async throws {
        try await RedisServer.withServer { server in
            let redis = try client(server.url) { $0.invalidationLimit = 200 }
            let level = level(redis)
            for key in 0..<250 { try await level.set("old", for: "\(key)") }
            try await server.command("REPLICAOF", "127.0.0.1", "1")
            for key in 0..<250 { try? await level.remove("\(key)") }
            #expect(redis.outageStatistics.pendingInvalidations == 200)
            #expect(redis.outageStatistics.droppedInvalidations == 50)
            try await server.command("REPLICAOF", "NO", "ONE")
            try await settled(redis)
            #expect(redis.outageStatistics.replayedInvalidations == 200)
            #expect(try await server.command("DBSIZE").integer == 50 + 1, "and the marks")
        }
    }

    @Test("a clean end carries them out first, as long as its grace lasts")
    func shutDown() async throws {
        try await RedisServer.withServer { server in
            let log = LogRecorder()
            for mends in [true, false] {
                var configuration = try RedisConfiguration(url: server.url)
                configuration.beIn(patience: .seconds(20))
                let redis = try RedisClient(configuration, logger: log.logger)
                let level = level(redis)
                try await level.set("old", for: "k")
                try await server.command("REPLICAOF", "127.0.0.1", "1")
                await #expect(throws: RedisError.self) { try await level.remove("k") }
                if mends { try await server.command("REPLICAOF", "NO", "ONE") }
                await redis.shutDown(within: mends ? .seconds(60) : .milliseconds(1))
                #expect(try await server.command("DBSIZE").integer == (mends ? 0 : 1) + 1, "and the marks")
                if !mends { try await server.command("REPLICAOF", "NO", "ONE") }
            }
            let lines = log.lines.map(\.text)
            #expect(lines.count { $0.hasPrefix("failed invalidations are given up: the client ends count=1") } == 1)
        }
    }

    @Test("a client with something pending goes away like any other")
    func forgotten() async throws {
        weak var gone: RedisClient?
        do {
            let redis = try client("redis://127.0.0.1:1")
            gone = redis
            await #expect(throws: RedisError.self) { try await level(redis).remove("k") }
            #expect(redis.outageStatistics.pendingInvalidations == 1)
        }
        while gone != nil { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test("so does one whose removal is refused for good, while the next attempt is a minute away")
    func forgottenRefusal() async throws {
        let user = RedisServer.Directive(stringLiteral: "user half on >pw ~*\(keyspace.name)* &* +@all")
        try await RedisServer.withServer(.init(directives: [user])) { server in
            weak var gone: RedisClient?
            do {
                let redis = try client(server.url) { ($0.username, $0.password) = ("half", Secret("pw")) }
                gone = redis
                let forbidden: Keyspace = "forbidden"
                let level = RedisLevel<String, String>(redis, keyspace: forbidden, codec: .text, coherence: .none)
                await #expect(throws: RedisError.self) { try await level.remove("k") }
                // Each refusal doubles the rest.
                for _ in 0..<12 {
                    let refused = try await server.calls(of: "evalsha", field: "rejected_calls")
                    while try await server.calls(of: "evalsha", field: "rejected_calls") == refused {
                        redis.outage.replay.hurry((forbidden.names(for: "k".keyBytes), forbidden))
                        try await nextTurn()
                    }
                }
            }
            let dropped = MonotonicInstant.now
            while gone != nil { try await nextTurn() }
            #expect(dropped.duration(to: .now) < .seconds(40))
        }
    }
}
