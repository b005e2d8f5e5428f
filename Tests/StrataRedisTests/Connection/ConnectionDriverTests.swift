import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Bytes between a connection and its socket", .timeLimit(.minutes(5)))
struct ConnectionDriverTests {
    private static let handshake = "*2\r\n$5\r\nHELLO\r\n$1\r\n2\r\n*1\r\n$4\r\nPING\r\n"

    private func configuration(of server: ScriptedServer) throws -> RedisConfiguration {
        var configuration = try RedisConfiguration(url: server.url)
        configuration.clientName = nil
        configuration.connectTimeout = .seconds(30)
        configuration.healthWindow = .seconds(60)
        configuration.queuedBytesLimit = 128 << 20
        return configuration
    }

    /// Starts a call and returns when it is queued.
    private func queue(_ words: [[UInt8]], on connection: Connection) async throws -> Task<RESPValue, any Error> {
        let before = connection.inFlight
        let call = Task {
            try await connection.call(deadline: .now.advanced(by: .seconds(60))) { writer in
                writer.begin(words.count)
                for word in words { writer.argument(word) }
            }
        }
        while connection.inFlight == before { try await nextTurn() }
        return call
    }

    /// The first command is larger than what sockets hold and its reader takes nothing, so the second cannot have been
    /// sent.
    @Test("a reply that comes while its command still waits for room in the socket is not its reply")
    func replyBeforeCommand() async throws {
        let server = try await ScriptedServer.start(script: [
            .receive(Self.handshake.utf8.count), .send(text: "+OK\r\n+PONG\r\n"), .receive(1),
            .send(text: "+one\r\n+two\r\n"),
            .hang,
        ])
        let group = try ConnectionGroup(configuration: configuration(of: server), logger: nil, loop: IOLoop())
        let connection = group.connections[0]
        let first = try await queue([Array("SET".utf8), [], [UInt8](repeating: 0, count: 64 << 20)], on: connection)
        let second = try await queue([Array("GET".utf8), []], on: connection)
        try group.start()
        let firstError = await #expect(throws: RedisError.self) { try await first.value }
        #expect(firstError?.code == .protocolViolation)
        #expect(firstError?.effect == .ambiguous)
        let secondError = await #expect(throws: RedisError.self) { try await second.value }
        #expect(secondError?.code == .connectionLost)
        #expect(secondError?.effect == .notApplied)
        group.stop(by: .distantPast)
        await group.waitUntilStopped()
        await server.stop()
    }

    @Test("a connection that ends while most of a batch waits for room: only what was sent may have been run")
    func lossWithUnsentBytes() async throws {
        let server = try await ScriptedServer.start(script: [
            .receive(Self.handshake.utf8.count), .send(text: "+OK\r\n+PONG\r\n"), .receive(1), .close,
        ])
        let group = try ConnectionGroup(configuration: configuration(of: server), logger: nil, loop: IOLoop())
        let connection = group.connections[0]
        let first = try await queue([Array("SET".utf8), [], [UInt8](repeating: 0, count: 64 << 20)], on: connection)
        let second = try await queue([Array("SET".utf8), [], []], on: connection)
        try group.start()
        let firstError = await #expect(throws: RedisError.self) { try await first.value }
        #expect(firstError?.code == .connectionLost)
        #expect(firstError?.effect == .ambiguous)
        let secondError = await #expect(throws: RedisError.self) { try await second.value }
        #expect(secondError?.code == .connectionLost)
        #expect(secondError?.effect == .notApplied)
        group.stop(by: .distantPast)
        await group.waitUntilStopped()
        await server.stop()
    }

    @Test("replies that arrive byte by byte, those of the handshake too, are the same replies")
    func trickling() async throws {
        let server = try await ScriptedServer.start(answering: { command, _ in
            let answer =
                command[0] == "PING" ? "+PONG\r\n" : "*3\r\n$\(command[1].utf8.count)\r\n\(command[1])\r\n:7\r\n$-1\r\n"
            return [.trickle(text: answer, interval: .zero)]
        })
        let group = try ConnectionGroup(configuration: configuration(of: server), logger: nil, loop: IOLoop())
        var calls: [Task<RESPValue, any Error>] = []
        for number in 0..<20 {
            calls.append(try await queue([Array("GET".utf8), Array("key\(number)".utf8)], on: group.connections[0]))
        }
        try group.start()
        for (number, call) in calls.enumerated() {
            #expect(try await call.value == .array([.bytes(Array("key\(number)".utf8)), .integer(7), .null]))
        }
        group.stop(by: .distantPast)
        await group.waitUntilStopped()
        await server.stop()
    }
}
