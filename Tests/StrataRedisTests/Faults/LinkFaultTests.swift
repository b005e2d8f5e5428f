import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("What a fleet is not told, or told too much of", .leavesNothing, .serialized, .timeLimit(.minutes(5)))
struct LinkFaultTests {
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()

    /// How long values that others have changed may be served while the link is silent: 2 × the interval of pings and
    /// its timeout.
    private let bound = Duration.seconds(3)

    /// An instance with the link's own settings, where ``Instance`` is patient.
    private func instance(_ url: String) async throws -> FaultInstance {
        try await FaultInstance(url, keyspace, source) { $0.linkPingTimeout = .seconds(1) }
    }

    /// Reads until the new value is there.
    ///
    /// - Returns: How long after `change` the last read began that got the old one.
    private func staleness(of instance: FaultInstance, since change: MonotonicInstant) async throws -> Duration {
        var oldest = Duration.zero
        while true {
            let began = MonotonicInstant.now
            let value = try await instance.cache.get("k")
            guard value == "old" else {
                #expect(value == "new")
                return oldest
            }
            oldest = max(oldest, change.duration(to: began))
            try await nextTurn()
        }
    }

    @Test(
        "the way of one instance is cut: it serves what it has for as long as promised, and what is true when it heals"
    )
    func cutOff() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let (one, other) = (try await instance(proxy.url), try await instance(server.url))
            source.gate.open()
            source.set("old")
            #expect(try await one.cache.get("k") == "old")
            proxy.stall()
            try proxy.admit(.ignore)
            source.set("new")
            try await other.cache.remove("k")
            let stale = try await staleness(of: one, since: .now)
            #expect(stale <= bound)
            #expect(try await other.cache.get("k") == "new")
            try proxy.heal()
            proxy.resetConnections()
            while (try? await one.base.level.listens()) == nil { try await nextTurn() }
            #expect(try await one.cache.get("k") == "new")
            FaultFigures.tell(
                42,
                ["stale for ms": stale.milliseconds, "bound ms": bound.milliseconds, "wrong values": 0]
            )
            await one.redis.shutDown()
            await other.redis.shutDown()
            await proxy.stop()
        }
    }

    @Test("the server stands still, without a reset: the same bound")
    func standsStill() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let one = try await instance(proxy.url)
            source.gate.open()
            source.set("old")
            #expect(try await one.cache.get("k") == "old")
            // To the instance the server stands still from here on; others go on.
            proxy.stall(.toClient)
            try await server.command("FLUSHALL")
            let change = MonotonicInstant.now
            try await server.pause()
            source.set("new")
            let stale = try await staleness(of: one, since: change)
            #expect(stale <= bound)
            try await server.resume()
            try proxy.heal()
            while (try? await one.base.level.listens()) == nil { try await nextTurn() }
            #expect(try await one.cache.get("k") == "new")
            FaultFigures.tell(
                4,
                ["stale for ms": stale.milliseconds, "bound ms": bound.milliseconds, "wrong values": 0]
            )
            await one.redis.shutDown()
            await proxy.stop()
        }
    }

    /// Has the server write so many keys of the keyspace in one go, and tell of them all at once.
    private func write(_ count: Int, _ server: RedisServer, deleting key: String? = nil) async throws {
        let script = """
            if ARGV[2] ~= '' then redis.call('del', ARGV[2]) end
            for i = 1, tonumber(ARGV[1]) do redis.call('set', KEYS[1] .. i .. string.rep('x', 300), 1, 'PX', 20000) end
            """
        let name = keyspace.names(for: "flood".keyBytes).value
        let words = [
            Array("EVAL".utf8), Array(script.utf8), [UInt8(ascii: "1")], name.bytes, Array("\(count)".utf8),
            key.map { keyspace.names(for: $0.keyBytes).value.bytes } ?? [],
        ]
        try await server.command(bytes: words, within: .seconds(60))
    }

    @Test("the server closes a link whose buffer is full, with what it had to tell: memory does not believe in it")
    func overflow() async throws {
        try await RedisServer.withServer(.init(directives: ["client-output-buffer-limit pubsub 64kb 0 0"])) { server in
            let one = try await instance(server.url)
            source.gate.open()
            source.set("old")
            #expect(try await one.cache.get("k") == "old")
            source.set("new")
            try await write(40_000, server, deleting: "k")
            let stale = try await staleness(of: one, since: .now)
            #expect(stale <= bound)
            // It was the buffer, and nothing that the link was told.
            await one.base.wait { $0.contains(.untrusted) }
            FaultFigures.tell(
                29,
                ["stale for ms": stale.milliseconds, "bound ms": bound.milliseconds, "wrong values": 0]
            )
            await one.redis.shutDown()
        }
    }

    @Test("50 000 invalidations at once: all are heard, by the link that stands")
    func storm() async throws {
        try await RedisServer.withServer { server in
            let one = try await FaultInstance(server.url, keyspace, source)
            source.gate.open()
            source.set("old")
            #expect(try await one.cache.get("k") == "old")
            source.set("new")
            let links = one.base.changes.count { $0 == .listening }
            let began = MonotonicInstant.now
            for _ in 0..<25 { try await write(2_000, server) }
            try await write(0, server, deleting: "k")
            let wrote = began.duration(to: .now)
            // It is told of behind all others.
            let stale = try await staleness(of: one, since: .now)
            let lag = began.duration(to: .now) - wrote
            // This one's link is patient.
            #expect(stale <= .seconds(62))
            #expect(one.base.changes.count { $0 == .listening } == links)
            let heard = one.base.changes.count { if case .changed = $0 { true } else { false } }
            #expect(heard >= 50_000)
            FaultFigures.tell(
                58,
                [
                    "heard": heard, "written in ms": wrote.milliseconds, "heard after ms": lag.milliseconds,
                    "wrong values": 0,
                ]
            )
            await one.redis.shutDown()
        }
    }
}
