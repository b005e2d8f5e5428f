import StrataTesting
import Testing

@Suite("A server that answers what it is told to", .timeLimit(.minutes(5)))
struct ScriptedServerTests {
    @Test("A script runs for each connection by itself", arguments: [TestEndpoint.Kind.loopback, .unixSocket])
    func script(kind: TestEndpoint.Kind) async throws {
        let server = try await ScriptedServer.start(
            at: kind,
            script: [
                .receive(3), .send(text: "one"), .pause(.milliseconds(1)), .receive(2), .trickle(text: "two"), .end,
                .receive(1), .close,
            ]
        )
        for number in 0..<2 {
            let client = try await ByteClient.connect(to: server.endpoint)
            try await client.send("abc")
            #expect(try await client.readText(3) == "one")
            try await client.send("de")
            #expect(try await client.readToEnd() == ("two", .end))
            try await client.send("f")
            try await server.wait { $0.accepted == number + 1 && $0.open == 0 }
            #expect(server.snapshot.text(of: number) == "abcdef")
        }
        #expect(server.snapshot.receivedCount == 12)
        await server.stop()
    }

    @Test("A script may close or reset without a word")
    func endings() async throws {
        let closing = try await ScriptedServer.start(script: [.receive(1), .send(text: "$5\r\nab"), .close])
        let closed = try await ByteClient.connect(to: closing.endpoint)
        try await closed.send("x")
        #expect(try await closed.readToEnd() == ("$5\r\nab", .end))
        let resetting = try await ScriptedServer.start(script: [.receive(1), .reset])
        let reset = try await ByteClient.connect(to: resetting.endpoint)
        try await reset.send("x")
        #expect(try await reset.readToEnd() == ("", .failure))
        await closing.stop()
        await resetting.stop()
    }

    @Test("Commands are answered one by one, however they arrive")
    func commands() async throws {
        let server = try await ScriptedServer.start(answering: { command, connection in
            switch command.first {
            case "PING": [.trickle(text: "+PONG \(connection)\r\n", interval: .zero)]
            case "QUIT": [.send(text: "+OK\r\n"), .close]
            default: [.send(text: "-ERR \(command.joined(separator: " "))\r\n")]
            }
        })
        let client = try await ByteClient.connect(to: server.endpoint)
        for byte in "*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$0\r\n\r\n".utf8 {
            try await client.send([byte])
        }
        try await client.send("*1\r\n$4\r\nQUIT\r\n")
        #expect(try await client.readToEnd() == ("+PONG 0\r\n-ERR GET \r\n+OK\r\n", .end))
        let stranger = try await ByteClient.connect(to: server.endpoint)
        try await stranger.send("GET / HTTP/1.1\r\n")
        #expect(try await stranger.readToEnd() == ("", .failure))
        await server.stop()
    }

    @Test("A hanging connection stays open until the server is stopped")
    func hang() async throws {
        let server = try await ScriptedServer.start(answering: { _, _ in [.hang] })
        let client = try await ByteClient.connect(to: server.endpoint)
        try await client.send("*1\r\n$4\r\nPING\r\n")
        try await server.wait { $0.receivedCount == 14 }
        #expect(client.readArrived() == [])
        #expect(server.snapshot.open == 1)
        let waiter = Task { try await server.wait { _ in false } }
        await server.stop()
        #expect(try await client.readToEnd().text == "")
        await expect(code: .notRunning) { try await waiter.value }
        await expect(code: .connectionFailed) { try await ByteClient.connect(to: server.endpoint) }
        await server.stop()
    }
}
