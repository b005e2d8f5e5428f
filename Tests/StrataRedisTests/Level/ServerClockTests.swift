import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("The server's clock", .timeLimit(.minutes(1)))
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
}
