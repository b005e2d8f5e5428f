import Logging
import StrataRedis
import StrataTestSupport
import StrataTesting
import Testing

/// One line for each change of state, and never a password; at servers that answer the handshake in their own ways.
@Suite("What a connection tells of itself", .timeLimit(.minutes(5)))
struct ConnectionLogTests {
    private let log = LogRecorder()

    private func client(
        of server: ScriptedServer,
        _ adjust: (inout RedisConfiguration) -> Void = { _ in }
    ) throws -> RedisClient {
        var configuration = try RedisConfiguration(url: server.url)
        configuration.password = Secret("hunter2")
        configuration.connectTimeout = .seconds(20)
        configuration.commandTimeout = .seconds(20)
        configuration.healthWindow = .seconds(20)
        configuration.reconnectDelay = .nanoseconds(1) ... .milliseconds(1)
        adjust(&configuration)
        return try RedisClient(configuration, logger: log.logger)
    }

    /// A server that refuses each AUTH with the same words.
    private func refusing(_ answer: String) async throws -> ScriptedServer {
        try await ScriptedServer.start(answering: { command, _ in
            command.first == "AUTH" ? [.send(text: answer)] : [.send(text: "+OK\r\n")]
        })
    }

    @Test(
        "a refused handshake is one error and one line, however often it is tried, and neither has the password",
        arguments: [
            ("-WRONGPASS invalid username-password pair or user is disabled.\r\n", .authentication),
            ("-ERR unknown command 'AUTH', with args beginning with: 'hunter2' \r\n", .authentication),
            ("-ERR max number of clients reached\r\n", .server),
            ("*2\r\n$4\r\nAUTH\r\n$7\r\nhunter2\r\n", .protocolViolation),
            ("$7\r\nhunter2\r\n", .protocolViolation), ("hunter2\r\n", .protocolViolation),
        ] as [(String, RedisError.Code)]
    )
    func refused(answer: String, code: RedisError.Code) async throws {
        let server = try await refusing(answer)
        let redis = try client(of: server)
        let error = await #expect(throws: RedisError.self) { try await redis.ping() }
        #expect(error?.code == code)
        #expect(error?.effect == .notApplied)
        try await server.wait { $0.accepted >= 5 }
        await redis.shutDown()
        let lines = log.lines
        #expect(lines.count == 1)
        // What is configured wrongly does not mend by itself.
        #expect(lines.first?.level == (code == .authentication ? .warning : .info))
        #expect(lines.first?.text.contains("\(code)") == true)
        let printed = lines.map(\.text) + [error.map { "\($0) \(String(reflecting: $0))" } ?? ""]
        for text in printed { #expect(!text.contains("hunter2"), "\(text)") }
        await server.stop()
    }

    @Test("a connection that stands again after a failure is told of, one that stands at once is not news")
    func recovered() async throws {
        let server = try await ScriptedServer.start(answering: { command, connection in
            switch command.first {
            case "AUTH": [.send(text: connection < 3 ? "-LOADING Redis is loading the dataset\r\n" : "+OK\r\n")]
            case "PING": [.send(text: "+PONG\r\n")]
            default: [.send(text: "+OK\r\n")]
            }
        })
        let redis = try client(of: server)
        await #expect(throws: RedisError.self) { try await redis.ping() }
        while (try? await redis.ping()) == nil { try Task.checkCancellation() }
        await redis.shutDown()
        #expect(log.lines.map(\.level) == [.info, .info])
        #expect(log.lines.last?.text.hasPrefix("connected to Redis") == true)

        let second = LogRecorder()
        var configuration = redis.configuration
        configuration.connectTimeout = .seconds(20)
        let other = try RedisClient(configuration, logger: second.logger)
        try await other.ping()
        await other.shutDown()
        #expect(second.lines.map(\.level) == [.debug])
        await server.stop()
    }

    @Test("a connection that falls silent, and an answer that no call asked for, are logged")
    func givenUp() async throws {
        let silent = try await ScriptedServer.start(answering: { command, _ in
            command.first == "GET" ? [.hang] : [.send(text: "+OK\r\n")]
        })
        // Long enough for the command to be sent on a busy machine.
        let redis = try client(of: silent) { $0.healthWindow = .seconds(1) }
        let error = await #expect(throws: RedisError.self) { try await redis.send("GET", "k") }
        #expect(error?.code == .connectionLost)
        #expect(error?.effect == .ambiguous)
        await redis.shutDown()
        #expect(log.lines.contains { $0.level == .info && $0.text.contains("connection lost") })
        await silent.stop()

        let talkative = try await ScriptedServer.start(answering: { command, _ in
            [.send(text: command.first == "GET" ? "+one\r\n+two\r\n" : "+OK\r\n")]
        })
        let other = try client(of: talkative)
        _ = try? await other.send("GET", "k")
        try await talkative.wait { $0.accepted >= 2 }
        await other.shutDown()
        #expect(log.lines.contains { $0.level == .info && $0.text.contains("protocol violation") })
        await talkative.stop()
    }
}
