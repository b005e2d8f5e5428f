import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Connections whose reads a server remembers", .timeLimit(.minutes(5)))
struct ReadTrackingTests {
    private static let ping = "*1\r\n$4\r\nPING\r\n"
    private static let handshake = "*2\r\n$5\r\nHELLO\r\n$1\r\n2\r\n" + ping
    private static let track = ScriptedServer.Step.receive(
        "*5\r\n$6\r\nCLIENT\r\n$8\r\nTRACKING\r\n$2\r\nON\r\n$8\r\nREDIRECT\r\n$1\r\n7\r\n".utf8.count
    )

    /// A tracked connection to a server that goes on with a script after the handshake.
    private func tracked(
        _ script: [ScriptedServer.Step],
        _ body: (ReadTracking, Connection) async throws -> Void
    ) async throws {
        let server = try await ScriptedServer.start(
            script: [
                .receive(Self.handshake.utf8.count), .send(text: "+OK\r\n+PONG\r\n"), .receive(Self.ping.utf8.count),
                .send(text: "+PONG\r\n"),
            ] + script + [.hang]
        )
        var configuration = try RedisConfiguration(url: server.url)
        configuration.clientName = nil
        configuration.connectTimeout = .seconds(30)
        configuration.healthWindow = .seconds(60)
        let group = try ConnectionGroup(configuration: configuration, logger: nil, loop: IOLoop())
        try group.start()
        let connection = group.connections[0]
        // A connection opens for its first call.
        _ = try await connection.call(deadline: .now.advanced(by: .seconds(60))) { writer in
            writer.begin(1)
            writer.argument("PING" as StaticString)
        }
        let tracking = ReadTracking([connection], timeout: .seconds(60))
        #expect(tracking.isComplete(for: 7) == false)
        tracking.point(to: 7, now: .now)
        try await body(tracking, connection)
        group.stop(by: .distantPast)
        await group.waitUntilStopped()
        await server.stop()
    }

    @Test("asked and not answered: the link may not stand yet, and what is read is relied on already")
    func unanswered() async throws {
        try await tracked([Self.track]) { tracking, _ in
            #expect(tracking.target == 7 && tracking.isRelied)
            #expect(!tracking.isComplete(for: 7))
        }
    }

    @Test("answered: for this link and for no other; told to end, it is relied on until that is answered")
    func answered() async throws {
        try await tracked([Self.track, .send(text: "+OK\r\n")]) { tracking, _ in
            while !tracking.isComplete(for: 7) { try await nextTurn() }
            #expect(!tracking.isComplete(for: 8) && tracking.refusal == nil)
            tracking.point(to: nil, now: .now)
            #expect(tracking.isRelied)
        }
    }

    @Test("refused: said, unless the link that was named is gone")
    func refused() async throws {
        try await tracked([Self.track, .send(text: "-NOPERM no permissions\r\n")]) { tracking, _ in
            while tracking.refusal == nil { try await nextTurn() }
            #expect(tracking.refusal?.hasPrefix("NOPERM") == true && !tracking.isComplete(for: 7))
        }
        let gone = "-ERR The client ID you want redirect to does not exist\r\n"
        try await tracked([Self.track, .send(text: gone)]) { tracking, connection in
            while connection.inFlight > 0 { try await nextTurn() }
            #expect(tracking.refusal == nil && !tracking.isComplete(for: 7))
        }
    }
}
