import Logging
import Strata
import StrataTesting
import Synchronization
import Testing

@testable import StrataRedis

/// One instance of a service: memory over Redis, with what its link has heard.
final class Instance: Sendable {
    let redis: RedisClient
    let level: RedisLevel<String, String>
    let memory = MemoryLevel<String, String>(limit: .entries(100))
    let cache: Composed<MemoryLevel<String, String>, RedisLevel<String, String>>
    private let heard = Locked<[KeyspaceChange]>([])
    private let watchers = Locked<[CheckedContinuation<Void, Never>]>([])

    init(
        _ url: String,
        _ keyspace: Keyspace,
        coherence: Coherence = .tracking,
        logger: Logger? = nil,
        _ adjust: (inout RedisConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = try RedisConfiguration(url: url)
        configuration.connectTimeout = .seconds(10)
        configuration.commandTimeout = .seconds(10)
        configuration.redisBudget = .seconds(10)
        configuration.breaker.slowAfter = .seconds(10)
        // Memory stays trusted on a machine that is busy for seconds.
        configuration.linkPingTimeout = .seconds(60)
        configuration.healthWindow = .seconds(60)
        adjust(&configuration)
        redis = try RedisClient(configuration, logger: logger)
        level = RedisLevel(redis, keyspace: keyspace, codec: .text, coherence: coherence)
        cache = memory.compose(level)
        _ = level.shared.addObserver { [weak self] change in self?.hear(change) }
    }

    private func hear(_ change: KeyspaceChange) {
        heard.withLock { $0.append(change) }
        for watcher in watchers.withLock({ exchange(&$0, with: []) }) { watcher.resume() }
    }

    var changes: [KeyspaceChange] { heard.withLock { $0 } }

    /// Returns when the link has told what `condition` looks for, or the task is cancelled: the test's time is over.
    func wait(until condition: ([KeyspaceChange]) -> Bool) async {
        while !Task.isCancelled, !condition(changes) {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    watchers.withLock { $0.append(continuation) }
                    if Task.isCancelled || condition(changes) { hear() }
                }
            } onCancel: {
                hear()
            }
        }
    }

    private func hear() {
        for watcher in watchers.withLock({ exchange(&$0, with: []) }) { watcher.resume() }
    }

    /// Connects and returns when changes are told.
    func listen() async throws {
        try await redis.ping()
        await wait { $0.contains(.listening) }
        try await level.listens()
    }

    /// Returns when the link has told of a change of a key for the `count`th time.
    func hears(_ key: String, times count: Int = 1) async {
        let name = level.names(for: key).value
        await wait { $0.count { $0 == .changed(name) } >= count }
    }

    /// Whether memory answers alone.
    func remembers(_ key: String) -> String? { cache.resident(key, at: .coarse)?.value }
}

@Suite("Memory that stays true", .leavesNothing, .timeLimit(.minutes(5)))
struct CoherenceTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    @Test("a change by another instance is gone from memory when it is told")
    func otherInstance() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (Instance(server.url, keyspace), Instance(server.url, keyspace))
            try await one.listen()
            try await other.cache.set("old", for: "k")
            await one.hears("k")
            #expect(try await one.cache.get("k") == "old")
            #expect(one.remembers("k") == "old")
            try await other.cache.set("new", for: "k")
            await one.hears("k", times: 2)
            #expect(one.remembers("k") == nil)
            #expect(try await one.cache.get("k") == "new")
            try await other.cache.remove("k")
            await one.hears("k", times: 3)
            #expect(try await one.cache.get("k") == nil)
        }
    }

    @Test("changes by other programs count as well: DEL, SET, expiry, FLUSHALL")
    func otherPrograms() async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace)
            try await one.listen()
            let name = one.level.names(for: "k").value
            func fill() async throws {
                // A look may have shown the last change ahead of its notice, which then voids what is set.
                while one.remembers("k") != "value" { try await one.cache.set("value", for: "k") }
            }
            let changes: [[String]] = [["DEL"], ["SET", "x"], ["PEXPIRE", "1"], ["RENAME", "elsewhere"]]
            for change in changes {
                try await fill()
                let bytes = [Array(change[0].utf8), name.bytes] + change.dropFirst().map { Array($0.utf8) }
                try await server.command(bytes: bytes)
                while one.remembers("k") != nil { try await one.redis.ping() }
            }
            try await fill()
            let before = one.changes.count { $0 == .everythingChanged }
            try await server.command("FLUSHALL")
            await one.wait { $0.count { $0 == .everythingChanged } > before }
            #expect(one.remembers("k") == nil)
        }
    }

    @Test("keys that lie under a hash because they are long are told like others")
    func longKeys() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (Instance(server.url, keyspace), Instance(server.url, keyspace))
            try await one.listen()
            let key = String(repeating: "long ", count: 1000)
            try await other.cache.set("old", for: key)
            await one.hears(key)
            #expect(try await one.cache.get(key) == "old")
            try await other.cache.set("new", for: key)
            await one.hears(key, times: 2)
            #expect(try await one.cache.get(key) == "new")
        }
    }

    @Test("an own write survives its echo: memory goes on answering, and one look was taken")
    func echo() async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace)
            try await one.listen()
            try await server.command("CONFIG", "RESETSTAT")
            try await one.cache.set("mine", for: "k")
            await one.hears("k")
            // The look was posted before this, and is answered in order.
            try await one.redis.ping()
            #expect(one.remembers("k") == "mine")
            let calls = try await one.redis.info("commandstats")
            #expect(calls["cmdstat_getrange"]?.hasPrefix("calls=1,") == true)
        }
    }

    @Test("an own write that another's follows, in the same turn of the server or later, is not kept")
    func followedByAnother() async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace)
            let other = try Instance(server.url, keyspace)
            try await one.listen()
            for round in 0..<100 {
                async let mine: Void = one.cache.set("mine \(round)", for: "k")
                async let theirs: Void = other.level.set("theirs \(round)", for: "k")
                _ = try await (mine, theirs)
                // Everything that was changed is told before the answer to what is asked after it.
                try await one.redis.ping()
                await one.hears("k", times: 1)
                let truth = try await other.level.get("k")
                var kept = one.remembers("k")
                while kept != nil, kept != truth {
                    try await one.redis.ping()
                    kept = one.remembers("k")
                }
                #expect(try await one.cache.get("k") == truth)
            }
        }
    }

    @Test("link killed: memory is not relied on until it stands again, and then begins anew")
    func killed() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try (Instance(server.url, keyspace), Instance(server.url, keyspace))
            try await one.listen()
            try await one.cache.set("old", for: "k")
            await one.hears("k")
            try await server.command("CLIENT", "KILL", "TYPE", "pubsub")
            await one.wait { $0.contains(.untrusted) }
            #expect(one.remembers("k") == nil)
            try await other.level.set("new", for: "k")
            #expect(try await one.cache.get("k") == "new")
            await one.wait { $0.count { $0 == .listening } == 2 }
            #expect(try await one.cache.get("k") == "new")
        }
    }

    @Test("link killed during a fill: what was read before is not kept")
    func killedDuringFill() async throws {
        let lower = AsyncGate()
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace)
            try await one.listen()
            let slow = ClosureFetcher<String, String> { [level = one.level] key in
                let value = try await level.get(key)
                try await lower.pass()
                return value
            }
            try await one.level.set("old", for: "k")
            // A level that answers slowly, under the same gate.
            let cache = one.memory.compose(SlowLevel(base: one.level, fetcher: slow))
            let fill = Task { try await cache.get("k") }
            await lower.arrivals()
            try await server.command("CLIENT", "KILL", "TYPE", "pubsub")
            await one.wait { $0.count { $0 == .listening } == 2 }
            lower.open()
            #expect(try await fill.value == "old")
            #expect(cache.resident("k", at: .coarse) == nil)
        }
    }

    @Test("link frozen without a reset: past its trust memory is asked about below")
    func frozen() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let one = try Instance(proxy.url, keyspace) {
                $0.linkPingInterval = .milliseconds(100)
                $0.linkPingTimeout = .milliseconds(100)
                $0.healthWindow = .seconds(60)
            }
            let other = try Instance(server.url, keyspace)
            try await one.listen()
            while one.remembers("k") != "old" { try await one.cache.set("old", for: "k") }
            proxy.stall()
            try await other.level.set("new", for: "k")
            // The bound is 2 × 100 ms + 100 ms, counted from a ping that was sent before the stall. On a busy machine
            // the link may have been lost before that, too.
            while one.remembers("k") != nil { try await nextTurn() }
            proxy.resume()
            #expect(try await one.cache.get("k") == "new")
            await one.redis.shutDown()
            await proxy.stop()
        }
    }

    @Test("while no link stands, what is read is kept for a bounded time, not at all afterwards")
    func untrusted() async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace, coherence: .lifetime(.seconds(2)))
            let other = try Instance(server.url, keyspace)
            try await other.level.set("old", for: "k")
            try await one.redis.ping()
            while one.remembers("k") != "old" { #expect(try await one.cache.get("k") == "old") }
            let kept = MonotonicInstant.now
            try await other.level.set("new", for: "k")
            while one.remembers("k") != nil { try await one.redis.ping() }
            #expect(kept.duration(to: .now) < .seconds(30))
            #expect(try await one.cache.get("k") == "new")
        }
    }

    @Test("a server that forbids tracking: the missing permission is named, memory is kept for a short time")
    func forbidden() async throws {
        let configuration = RedisServer.Configuration(
            directives: ["user app on >secret ~* &* +@all -client|tracking"]
        )
        try await RedisServer.withServer(configuration) { server in
            let port = try #require(server.port)
            let one = try Instance("redis://app:secret@127.0.0.1:\(port)", keyspace)
            try await one.cache.set("value", for: "k")
            await one.wait { $0.contains(.untrusted) }
            #expect(one.redis.link.refusal?.contains("CLIENT TRACKING was refused: NOPERM") == true)
            #expect(try await one.cache.get("k") == "value")
            #expect(one.memory.statistics.entries == 1)
        }
    }

    @Test("a suspect entry is served, and flagged, when nothing below can be asked")
    func suspect() async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace)
            try await one.listen()
            try await one.cache.set("value", for: "k")
            await one.hears("k")
            // The echo's look was posted before this: killed in between, the server leaves the entry in doubt, and
            // void.
            try await one.redis.ping()
            try await server.kill()
            await one.wait { $0.contains(.untrusted) }
            let (value, trace) = try await one.cache.getWithTrace("k")
            #expect(value == "value")
            #expect(trace.state == .suspect)
            await one.redis.shutDown()
        }
    }

    @Test("a forged message on the channel, an event of another keyspace: nothing happens")
    func forged() async throws {
        try await RedisServer.withServer { server in
            let one = try Instance(server.url, keyspace)
            try await one.listen()
            try await one.cache.set("value", for: "k")
            await one.hears("k")
            try await one.redis.ping()
            try await server.command("PUBLISH", "__redis__:invalidate", "forged")
            try await server.command(bytes: [Array("PUBLISH".utf8), keyspace.events, []])
            try await server.command(bytes: [Array("PUBLISH".utf8), keyspace.events, Array("iother:key".utf8)])
            try await server.command(bytes: [Array("PUBLISH".utf8), keyspace.events, Array("?".utf8)])
            for text in ["t", "c", "t9:7:", "c7:7:", "t1:x:", "t1:2:\u{ff}"] {
                try await server.command(bytes: [Array("PUBLISH".utf8), keyspace.events, Array(text.utf8)])
            }
            try await one.level.set("x", for: "other")
            await one.hears("other")
            #expect(one.remembers("k") == "value")
        }
    }
}

/// A Redis level whose reads pass through something slow, under the same gate.
struct SlowLevel: CacheLevel {
    let base: RedisLevel<String, String>
    let fetcher: ClosureFetcher<String, String>

    func entry(for key: String, _ request: ReadRequest) async throws -> Entry<String>? {
        try await fetcher.entry(for: key, request)
    }

    func store(_ entry: Entry<String>, for key: String) async throws { try await base.store(entry, for: key) }

    func remove(_ key: String) async throws { try await base.remove(key) }

    func removeAll() async throws { try await base.removeAll() }

    var gate: FillGate? { base.gate }

    func fingerprint(of key: String) -> UInt64 { base.fingerprint(of: key) }
}
