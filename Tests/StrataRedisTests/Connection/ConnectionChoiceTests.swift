import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Which of several connections a call takes", .timeLimit(.minutes(5)))
struct ConnectionChoiceTests {
    @Test("who has no turn takes the first that is usable; the first one where none is")
    func first() throws {
        let settings = ConnectionSettings(try RedisConfiguration(url: "redis://127.0.0.1:1"))
        let wakeup = try Wakeup()
        let connections = (0..<3).map { Connection(settings: settings, wakeup: wakeup, seed: $0) }
        #expect(connections.firstUsable === connections[0])
        connections[0].note(isUsable: false)
        #expect(connections.firstUsable === connections[1])
        for connection in connections { connection.note(isUsable: false) }
        #expect(connections.firstUsable === connections[0])
    }

    @Test("one that cannot be made again is left out while another stands")
    func standing() async throws {
        let server = try await ScriptedServer.start(answering: { command, connection in
            guard connection < 2 else { return [.send(text: "-ERR max number of clients reached\r\n"), .close] }
            return command[0] == "BREAK" ? [.close] : [.send(text: command[0] == "PING" ? "+PONG\r\n" : "+OK\r\n")]
        })
        var configuration = try RedisConfiguration.patient(server.url)
        configuration.connections = 2
        configuration.reconnectDelay = .nanoseconds(1) ... .nanoseconds(2)
        let redis = try RedisClient(configuration)
        for _ in 0..<4 { try await redis.ping() }
        #expect(server.snapshot.accepted == 2)
        await #expect(throws: RedisError.self) { _ = try await redis.send("BREAK") }
        // The first attempt may have been refused without the client having seen it.
        while server.snapshot.accepted < 4 { try await nextTurn() }
        for _ in 0..<40 { try await redis.ping() }
        #expect(redis.connections.count(where: \.isUsable) == 1)
        await redis.shutDown()
        await server.stop()
    }
}
