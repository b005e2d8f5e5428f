import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("The server's clock", .timeLimit(.minutes(5)))
struct ServerClockTests {
    @Test("a reading is taken anew while callers go on with the old one, also while the server stands still")
    func aside() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            // The coarse clock lags a little.
            let clock = ServerClock(redis, validity: .seconds(-1))
            let first = try await clock.offset()
            try await server.pause()
            #expect(try await clock.offset() == first)
            #expect(clock.isMeasuring)
            #expect(try await clock.offset() == first)
            try await server.resume()
            while clock.isMeasuring { try await nextTurn() }
            let calls = try await redis.info("commandstats")
            #expect(calls["cmdstat_time"]?.hasPrefix("calls=2,") == true)
        }
    }

    @Test("where there is no reading the caller waits for one, and is told when none is to be had")
    func none() async throws {
        try await RedisServer.withServer { server in
            let clock = ServerClock(try TestServer.client(of: server))
            try await server.kill()
            await #expect(throws: RedisError.self) { try await clock.offset() }
        }
    }

    @Test("a reading that calls use no more is still there for what replicas answer, however long the server is silent")
    func silent() async throws {
        try await RedisServer.withServer { server in
            let clock = ServerClock(try TestServer.client(of: server), longestValidity: .seconds(-1))
            #expect(clock.last == nil)
            let offset = try await clock.offset()
            try await server.kill()
            await #expect(throws: RedisError.self) { try await clock.offset() }
            #expect(clock.last == offset)
        }
    }

    @Test("a reading that has taken longer than a call may is none: the process was stopped meanwhile")
    func stopped() throws {
        let clock = ServerClock(try TestServer.client(of: "redis://127.0.0.1:1"))
        let asked = MonotonicInstant.now
        let late = asked.advanced(by: .seconds(61))
        #expect(clock.note(.seconds(1_000), askedAt: asked, at: late, within: .seconds(2)) == nil)
        #expect(clock.last == nil && clock.error == 0)
        let soon = asked.advanced(by: .seconds(2))
        let offset = clock.note(.seconds(1_000), askedAt: asked, at: soon, within: .seconds(2))
        #expect(offset != nil && clock.last == offset)
        #expect(clock.error == 1_000_000_000)
    }

    @Test(
        "a time that no server shows is no time, and no crash",
        arguments: ["-9223372037", "-9223372036", "9223372037", "9223372036854775807", "-9223372036854775808", "x"]
    )
    func absurd(seconds: String) async throws {
        let server = try await ScriptedServer.start(answering: { command, _ in
            switch command[0] {
            case "PING": [.send(text: "+PONG\r\n")]
            case "TIME": [.send(text: "*2\r\n$\(seconds.utf8.count)\r\n\(seconds)\r\n$1\r\n0\r\n")]
            default: [.send(text: "+OK\r\n")]
            }
        })
        let clock = ServerClock(try TestServer.client(of: server.url))
        let error = await #expect(throws: RedisError.self) { try await clock.offset() }
        #expect(error?.code == .unexpectedReply)
        await server.stop()
    }

    /// A level whose reading of the server's clock is as if that had been set since.
    private func level(
        _ redis: RedisClient,
        _ keyspace: Keyspace,
        ahead: Duration,
        readBefore age: Duration = .zero
    ) async throws -> RedisLevel<String, String> {
        let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text)
        let clock = level.clock(of: level.names(for: "k"))
        let offset = try await clock.offset()
        let then = MonotonicInstant.now.advanced(by: .zero - age)
        let time = Duration.nanoseconds(then.nanoseconds + offset) + ahead
        #expect(clock.note(time, askedAt: then, at: then, within: .seconds(1)) != nil)
        return level
    }

    @Test("the clock was set back: what was stored before does not live on for as long, unless it has no end")
    func setBack() async throws {
        try await RedisServer.withServer { server in
            let keyspace = Keyspace(TestServer.uniqueName())
            let before = try await level(TestServer.client(of: server), keyspace, ahead: .seconds(3_600))
            let lifetime = EntryLifetime(freshFor: .seconds(300), staleFor: .seconds(300))
            try await before.set("old", for: "k", lifetime: lifetime)
            try await before.set("old", for: "endless", lifetime: .unlimited)
            #expect(try await before.get("k") == "old")
            let now = RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace, codec: .text)
            #expect(try await now.get("k") == nil)
            #expect(try await now.get(["endless", "k", "none"]) == ["old", nil, nil])
            let whatever = ReadOptions(staleness: .allowed)
            #expect(try await now.get("k", whatever) == nil)
            let cache = now.fetching(.lasting) { _ in "new" }
            #expect(try await cache.get("k") == "new")
            #expect(try await now.get("k") == "new")
        }
    }

    @Test("the clock was set forward: who finds a value from the future reads it anew", arguments: [1, 2])
    func setForward(keys: Int) async throws {
        try await RedisServer.withServer { server in
            let keyspace = Keyspace(TestServer.uniqueName())
            let now = RedisLevel<String, String>(try TestServer.client(of: server), keyspace: keyspace, codec: .text)
            let names = ["k", "l"]
            for name in names { try await now.set("new", for: name, lifetime: EntryLifetime(freshFor: .seconds(300))) }
            let client = try TestServer.client(of: server)
            let before = try await level(client, keyspace, ahead: .seconds(-3_600), readBefore: .seconds(5))
            #expect(try await before.get(Array(names.prefix(keys))) == Array(repeating: "new", count: keys))
            let entry = try #require(try await before.entry(for: "k", ReadRequest()))
            // Without a new reading it would be an hour more.
            #expect(entry.freshUntil < .now.advanced(by: .seconds(330)))
        }
    }
}
