import Strata
import StrataTesting
import Testing

@testable import StrataRedis

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// One after the other, for the suite counts what is left behind.
@Suite("The I/O thread that the nodes of a cluster share", .serialized, .timeLimit(.minutes(5)), .leavesNothing)
struct ClusterLoopTests {
    /// The thread on which a client's replies are read.
    private func thread(of client: RedisClient) async -> UInt {
        await withCheckedContinuation { continuation in
            client.post(deadline: .now.advanced(by: .seconds(60))) { _ in
                #if canImport(Darwin)
                continuation.resume(returning: UInt(bitPattern: pthread_self()))
                #else
                continuation.resume(returning: UInt(pthread_self()))
                #endif
            } encode: { writer in
                writer.begin(1)
                writer.argument("PING" as StaticString)
            }
        }
    }

    private func group(of server: ScriptedServer, _ loop: IOLoop) throws -> ConnectionGroup {
        var configuration = try RedisConfiguration(url: server.url)
        configuration.clientName = nil
        configuration.connectTimeout = .seconds(30)
        configuration.healthWindow = .seconds(60)
        return ConnectionGroup(configuration: configuration, logger: nil, loop: loop)
    }

    private func get(_ connection: Connection, within limit: Duration) async throws -> RESPValue {
        try await connection.call(deadline: .now.advanced(by: limit), expecting: .value) { writer in
            writer.begin(2)
            writer.argument("GET" as StaticString)
            writer.argument("a" as StaticString)
        }
    }

    @Test(
        "the clients of all nodes are driven by one thread, which goes on when one of them ends, and ends with the last"
    )
    func oneThread() async throws {
        try await TestCluster.with { cluster in
            let redis = try TestCluster.client(of: cluster)
            let keys = TestCluster.keys("loop", of: cluster).map { RedisKey($0) }
            for key in keys { try await redis.set(key, [1]) }
            let clients = try await redis.primaries()
            #expect(clients.count == 3)
            var threads: Set<UInt> = []
            for client in clients { threads.insert(await thread(of: client)) }
            #expect(threads.count == 1)
            let gone = redis.responsible(for: keys[1])
            await gone.shutDown()
            let error = await #expect(throws: RedisError.self) { try await redis.get(keys[1]) }
            #expect(error?.code == .shutDown)
            for key in [keys[0], keys[2]] {
                #expect(try await redis.get(key) == [1])
                threads.insert(await thread(of: redis.responsible(for: key)))
            }
            #expect(threads.count == 1)
            await redis.shutDown()
            for key in keys {
                let error = await #expect(throws: RedisError.self) { try await redis.get(key) }
                #expect(error?.code == .shutDown)
            }
        }
    }

    @Test("a thread that has ended with its last group is begun anew by the next one")
    func anew() async throws {
        let answers = ["HELLO": "+OK\r\n", "PING": "+PONG\r\n", "GET": "$1\r\nx\r\n"]
        let server = try await ScriptedServer.start(answering: { command, _ in
            [.send(text: answers[command[0]] ?? "-ERR\r\n")]
        })
        let loop = try IOLoop()
        for _ in 0..<50 {
            let group = try group(of: server, loop)
            try group.start()
            let reply = try? await get(group.connections[0], within: .seconds(60))
            #expect(reply == .bytes([0x78]))
            group.stop(by: .distantPast)
            await group.waitUntilStopped()
        }
        await server.stop()
    }

    @Test("deadlines of calls to a node that stands still pass in time while another node sends without end")
    func flood() async throws {
        let handshake = "*2\r\n$5\r\nHELLO\r\n$1\r\n2\r\n*1\r\n$4\r\nPING\r\n".utf8.count
        let ready: [ScriptedServer.Step] = [.receive(handshake), .send(text: "+OK\r\n+PONG\r\n"), .receive(1)]
        // The longest strings there are, one after the other: none is kept, all have to be read.
        // More than pass while this test stands still.
        let calls = 1_000
        let part = [UInt8](repeating: 120, count: 16 << 20)
        let reply: [ScriptedServer.Step] =
            [.send(text: "$\(32 * part.count)\r\n")] + Array(repeating: .send(part), count: 32) + [.send(text: "\r\n")]
        let flooding = try await ScriptedServer.start(
            script: ready + Array(repeating: reply, count: calls).flatMap { $0 } + [.hang]
        )
        let silent = try await ScriptedServer.start(script: ready + [.hang])
        let loop = try IOLoop()
        let (first, second) = (try group(of: flooding, loop), try group(of: silent, loop))
        let ended = Shared(0)
        let flooded = (0..<calls)
            .map { _ in
                Task { [connection = first.connections[0]] in
                    defer { ended.withLock { $0 += 1 } }
                    return try await get(connection, within: .seconds(110))
                }
            }
        while first.connections[0].inFlight < calls { try await nextTurn() }
        for group in [first, second] { try group.start() }
        for _ in 0..<3 {
            let error = await #expect(throws: RedisError.self) {
                try await get(second.connections[0], within: .milliseconds(100))
            }
            #expect(error?.code == .timeout)
        }
        #expect(ended.withLock { $0 } < calls)
        for call in flooded { call.cancel() }
        for call in flooded { _ = await call.result }
        for group in [first, second] {
            group.stop(by: .distantPast)
            await group.waitUntilStopped()
        }
        await flooding.stop()
        await silent.stop()
    }
}
