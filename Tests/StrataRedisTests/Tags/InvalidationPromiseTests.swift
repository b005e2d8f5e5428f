import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// A source whose values have tags, that can be held.
private struct TaggedSource: Fetcher {
    let source: CountingSource
    let tags: [String]

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<String>? {
        try await source.fetch().map { Entry(.value($0), tags: tags) }
    }
}

/// One test for each way in which an invalidation could be undone.
@Suite("Nothing undoes an invalidation", .timeLimit(.minutes(5)))
struct InvalidationPromiseTests {
    enum Invalidation: CaseIterable {
        case tag
        case clear
    }

    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()

    private func invalidate(_ level: RedisLevel<String, String>, by kind: Invalidation) async throws {
        switch kind {
        case .tag: try await level.invalidate(tag: "red")
        case .clear: try await level.clear()
        }
    }

    /// Returns when what another instance has invalidated has reached this one.
    private func heard(_ instance: Instance, _ number: UInt64) async throws {
        while instance.level.shared.tags.snapshot.standing?.told ?? 0 < number { try await instance.redis.ping() }
    }

    /// Returns when an instance is connected again and knows the numbers.
    private func settled(_ instance: Instance) async throws {
        while !instance.level.shared.tags.isKnown {
            try Task.checkCancellation()
            _ = try? await instance.redis.ping()
        }
        while (try? await instance.redis.ping()) == nil { try Task.checkCancellation() }
    }

    @Test(
        "a read: answered before an invalidation of this instance, looked at after it",
        arguments: Invalidation.allCases
    )
    func racingRead(kind: Invalidation) async throws {
        try await RedisServer.withServer { server in
            // No link tells of changes, so the marks are asked for beside the value.
            let level = RedisLevel<String, String>(
                try TestServer.client(of: server),
                keyspace: keyspace,
                codec: .text,
                coherence: .none
            )
            // The first one voids everything, because what came before it is not known.
            try await level.invalidate(tag: "green")
            try await level.set("old", for: "k", tags: ["red"])
            let names = level.names(for: "k")
            let ticket = level.shared.gate.ticket(for: names.fingerprint)
            let (bytes, asked) = try await level.read(names)
            #expect(bytes != nil && asked != nil)
            try await invalidate(level, by: kind)
            let entry = try await level.open(bytes, names, ticket, .nothing, asked).entry
            #expect(entry.map { level.shared.gate.isLive($0.ticket) && $0.seal?.isLive != false } != true)
        }
    }

    @Test("a racing fetch: begun before, stored after", arguments: Invalidation.allCases, [Coherence.tracking, .none])
    func racingFetch(kind: Invalidation, coherence: Coherence) async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace, coherence: coherence)
            let other = try Instance(server.url, keyspace)
            if coherence == .tracking { try await one.listen() }
            let below = one.level.compose(TaggedSource(source: source, tags: ["red"]))
            let cache = MemoryLevel<String, String>(limit: .entries(4)).compose(below)
            source.set("old")
            let early = Task { try await cache.get("k") }
            await source.gate.arrivals()
            try await invalidate(other.level, by: kind)
            source.set("new")
            source.gate.open()
            #expect(try await early.value == "old")
            // It may lie in Redis, and is void there for every instance.
            #expect(try await other.level.get("k") == nil)
            if coherence == .tracking {
                try await heard(one, other.level.shared.tags.asOf)
                #expect(cache.resident("k", at: .coarse) == nil)
                #expect(try await cache.get("k") == "new")
            }
            #expect(try await one.level.get("k") != "old")
        }
    }

    @Test("a racing fetch under a lease, in memory above it as well")
    func racingLease() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (Instance(server.url, keyspace), Instance(server.url, keyspace))
            try await one.listen()
            let cache = MemoryLevel<String, String>(limit: .entries(4))
                .compose(one.level.fetching { [source] _ in try await source.fetch() })
            let early = Task { try await cache.get("k") }
            await source.gate.arrivals()
            try await other.level.clear()
            try await heard(one, other.level.shared.tags.asOf)
            source.set("new")
            source.gate.open()
            #expect(try await early.value == "value")
            #expect(cache.resident("k", at: .coarse) == nil)
            #expect(try await other.level.get("k") == nil)
            #expect(try await cache.get("k") == "new")
        }
    }

    @Test(
        "a lagging instance: it has not heard yet and stores by the number it knows",
        arguments: Invalidation.allCases
    )
    func laggingInstance(kind: Invalidation) async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (Instance(server.url, keyspace), Instance(server.url, keyspace))
            try await other.listen()
            try await one.listen()
            let lagging = one.level.shared.tags.asOf
            try await invalidate(other.level, by: kind)
            try await one.level.store(Entry(.value("old"), tags: ["red"], asOf: lagging), for: "k")
            #expect(try await other.level.get("k") == nil)
            try await heard(one, other.level.shared.tags.asOf)
            #expect(try await one.cache.get("k") == nil)
        }
    }

    /// How an instance learns of a number that its link has not told.
    enum Ahead: CaseIterable {
        case ownInvalidation
        case look
    }

    /// Runs a test with two instances, of which the first is told of nothing until its proxy resumes.
    private func withUntold(
        _ keys: [String] = [],
        _ body: (_ one: Instance, _ other: Instance, FaultProxy) async throws -> Void
    ) async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let (one, other) = try (Instance(proxy.url, keyspace), Instance(server.url, keyspace))
            try await other.listen()
            try await one.listen()
            // By what they have carried the connection for commands and the link are told apart.
            try await one.cache.set(String(repeating: "x", count: 50_000), for: "large")
            for key in keys { try await one.cache.set("old", for: key, tags: ["red"]) }
            let connections = proxy.snapshot.connections.sorted { $0.toServer.received > $1.toServer.received }
            try #require(connections.count == 2)
            proxy.stall(.toClient, of: .connection(connections[1].id))
            try await body(one, other, proxy)
            await one.redis.shutDown()
            await proxy.stop()
        }
    }

    @Test(
        "a change made of what is void, by an instance that knows a later number and has not heard of this one",
        arguments: Invalidation.allCases,
        Ahead.allCases
    )
    func changedUnheard(kind: Invalidation, ahead: Ahead) async throws {
        try await withUntold(["k", "l"]) { one, other, proxy in
            let told = one.level.shared.tags.snapshot.standing?.told
            try await invalidate(other.level, by: kind)
            switch ahead {
            case .ownInvalidation: try await one.level.invalidate(tag: "green")
            case .look: _ = try await one.level.shared.tags.ask(one.redis)
            }
            #expect(one.level.shared.tags.asOf > other.level.shared.tags.asOf - 1)
            #expect(one.level.shared.tags.snapshot.standing?.told == told && one.level.shared.tags.isKnown)
            try await one.cache.update("k") { old in
                #expect(old == nil)
                return "new"
            }
            #expect(try await one.cache.touch("l") == false)
            proxy.resume()
            try await heard(one, other.level.shared.tags.asOf)
            for instance in [one, other] {
                #expect(try await instance.cache.get("k") == "new")
                #expect(try await instance.cache.get("l") == nil)
            }
        }
    }

    @Test(
        "a change made of a value that is newer than all that this instance has heard of",
        arguments: Invalidation.allCases
    )
    func changedNewer(kind: Invalidation) async throws {
        try await withUntold { one, other, proxy in
            try await invalidate(other.level, by: kind)
            for key in ["k", "l"] { try await other.cache.set("newer", for: key, tags: ["red"]) }
            try await one.cache.update("k") { old in
                #expect(old == "newer")
                return "new"
            }
            #expect(try await one.cache.touch("l"))
            proxy.resume()
            try await heard(one, other.level.shared.tags.asOf)
            // The other one is told of the change, too.
            while other.remembers("k") == "newer" { try await other.redis.ping() }
            for instance in [one, other] {
                #expect(try await instance.cache.get("k") == "new")
                #expect(try await instance.cache.get("l") == "newer")
            }
        }
    }

    @Test("an invalidation that fails while a value is on its way, and is kept, voids that value here")
    func failedMeanwhile() async throws {
        let redis = try await TestServer.client()
        let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
        try await level.ready(within: .seconds(60))
        try await level.set("old", for: "k", tags: ["red"])
        let names = level.names(for: "k")
        let ticket = level.shared.ticket(for: names.fingerprint)
        let bytes = try await redis.get(names.value)
        #expect(try await level.open(bytes, names, ticket, .nothing).entry != nil)
        // It is not repeated before that.
        redis.outage.replay.record(
            .tag(TagName("red"), keyspace, names.part),
            .removal,
            for: .seconds(60),
            notBefore: .now.advanced(by: .seconds(600)),
            redis
        )
        #expect(try await level.open(bytes, names, ticket, .nothing).entry == nil)
    }

    @Test("a restart without data: what is stored by a number from before is void", arguments: Invalidation.allCases)
    func restartWithoutData(kind: Invalidation) async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace)
            try await one.listen()
            try await one.cache.set("old", for: "k", tags: ["red"])
            let before = one.level.shared.tags.asOf
            try await invalidate(one.level, by: kind)
            try await server.restart(keepingData: false)
            await one.wait { $0.count { $0 == .listening } == 2 }
            try await settled(one)
            let other = try Instance(server.url, keyspace)
            for level in [one.level, other.level] {
                try await other.level.store(Entry(.value("old"), tags: ["red"], asOf: before), for: "k")
                #expect(try await level.get("k") == nil)
            }
            try await one.cache.set("new", for: "k", tags: ["red"])
            #expect(try await other.cache.get("k") == "new")
        }
    }

    @Test("a restart with older data: the values come back, and are void", arguments: Invalidation.allCases)
    func restartWithOlderData(kind: Invalidation) async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace)
            try await one.listen()
            try await one.cache.set("old", for: "k", tags: ["red"])
            try await one.cache.set("plain", for: "other")
            try await server.command("SAVE")
            try await invalidate(one.level, by: kind)
            try await server.kill()
            try await server.restart(keepingData: true)
            #expect(try await server.command("EXISTS", one.level.names(for: "k").value.description).integer == 1)
            await one.wait { $0.count { $0 == .listening } == 2 }
            try await settled(one)
            let other = try Instance(server.url, keyspace)
            #expect(try await other.level.get("k") == nil)
            #expect(try await one.cache.get("k") == nil)
        }
    }

    @Test(
        "a hash that is lost, by eviction or by hand, or holds nonsense: everything from before is void",
        arguments: [
            ["DEL"], ["UNLINK"], ["PEXPIRE", "0"], ["HDEL", "s"], ["HSET", "s", "nan"], ["HSET", "c", "-1"],
            ["HSET", "s", "1e300"], ["HSET", "s", "7"], ["RENAME", "elsewhere"],
        ],
        [Coherence.tracking, .none]
    )
    func lostHash(change: [String], coherence: Coherence) async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace, coherence: coherence)
            if coherence == .tracking { try await one.listen() }
            try await one.cache.set("old", for: "k", tags: ["red"])
            try await one.cache.set("old", for: "other", tags: ["green"])
            try await one.level.invalidate(tag: "red")
            #expect(try await one.level.get(["k", "other"]) == [nil, "old"])
            let before = one.changes.count { $0 == .everythingChanged }
            let command = [Array(change[0].utf8), keyspace.marks] + change.dropFirst().map { Array($0.utf8) }
            try await server.command(bytes: command)
            if coherence == .tracking {
                await one.wait { $0.count { $0 == .everythingChanged } > before }
                #expect(one.remembers("other") == nil)
            }
            let other = try Instance(server.url, keyspace, coherence: coherence)
            #expect(try await one.level.get(["k", "other"]) == [nil, nil])
            #expect(try await other.level.get(["k", "other"]) == [nil, nil])
            try await one.level.set("new", for: "k", tags: ["red"])
            #expect(try await one.level.get("k") == "new")
            #expect(try await other.level.get("k") == "new")
        }
    }

    @Test("a cut link: what it did not tell is seen as soon as it stands again", arguments: Invalidation.allCases)
    func cutLink(kind: Invalidation) async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (Instance(server.url, keyspace), Instance(server.url, keyspace))
            try await one.listen()
            try await one.cache.set("old", for: "k", tags: ["red"])
            #expect(one.remembers("k") == "old")
            try await server.command("CLIENT", "KILL", "TYPE", "pubsub")
            try await invalidate(other.level, by: kind)
            await one.wait { $0.contains(.untrusted) }
            #expect(try await one.cache.get("k") == nil)
            await one.wait { $0.count { $0 == .listening } == 2 }
            #expect(try await one.cache.get("k") == nil)
        }
    }

    @Test("an event that never comes: the hash shows it, and everything is void within three pings")
    func lostEvent() async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace) { $0.linkPingInterval = .milliseconds(50) }
            try await one.listen()
            try await one.cache.set("old", for: "k", tags: ["red"])
            #expect(one.remembers("k") == "old")
            // What the script does, without its PUBLISH.
            let number = Array(String(one.level.shared.tags.asOf + 1_000).utf8)
            let fields = [Array("s".utf8), number, Array("=red".utf8), number]
            try await server.command(bytes: [Array("HSET".utf8), keyspace.marks] + fields)
            while one.remembers("k") != nil { try await one.redis.ping() }
            #expect(try await one.cache.get("k") == nil)
        }
    }

    @Test("scripts that the server has lost: the look of the link gets them there again")
    func scriptsLost() async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace)
            try await one.listen()
            try await one.cache.set("old", for: "k", tags: ["red"])
            try await server.command("SCRIPT", "FLUSH")
            let before = one.changes.count { $0 == .everythingChanged }
            try await server.command(bytes: [Array("DEL".utf8), keyspace.marks])
            await one.wait { $0.count { $0 == .everythingChanged } > before }
            #expect(try await one.cache.get("k") == nil)
        }
    }
}
