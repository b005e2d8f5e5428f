import StrataTesting
import Testing

@Suite("What hostile peers send", .timeLimit(.minutes(5)))
struct HostilePeerTests {
    @Test(
        "Replies that are none are typed errors",
        arguments: [
            "HTTP/1.1 400 Bad Request\r\n\r\n",
            "\r\n",
            "+no carriage return\n",
            "$9223372036854775807\r\n",
            "$99999999999999999999999\r\n",
            "$-2\r\n",
            "$x\r\n",
            "$2\r\nabcd",
            "*99999999999\r\n",
            "*-5\r\n",
            ":1.5\r\n",
        ]
    )
    func malformedReplies(reply: String) async throws {
        try await expectMalformed(reply)
    }

    @Test("Lists in lists without end and lines without end are typed errors")
    func endlessReplies() async throws {
        try await expectMalformed(String(repeating: "*1\r\n", count: 100_000))
        try await expectMalformed("+" + String(repeating: "x", count: 200_000))
    }

    private func expectMalformed(_ reply: String) async throws {
        let server = try await ScriptedServer.start(script: [.send(text: reply)])
        let endpoint = server.endpoint
        await expect(code: .malformedReply) {
            try await BlockingThread.run { _ in
                var connection = try RawConnection(to: endpoint, until: .now + .seconds(30))
                return try connection.command(["PING"])
            }
        }
        await server.stop()
    }

    @Test(
        "A reply cut short is an error, never a short value",
        arguments: ["$5\r\nabc", "*3\r\n:1\r\n", "+OK", "*2147483647\r\n"]
    )
    func shortReplies(reply: String) async throws {
        let server = try await ScriptedServer.start(script: [.receive(1), .send(text: reply), .close])
        let endpoint = server.endpoint
        await expect(code: .connectionFailed) {
            try await BlockingThread.run { _ in
                var connection = try RawConnection(to: endpoint, until: .now + .seconds(30))
                return try connection.command(["PING"])
            }
        }
        await server.stop()
    }

    @Test(
        "Commands are cut out of any stream",
        arguments: ["*0\r\n", "*1\r\n$0\r\n\r\n", "*2\r\n$1\r\na\r\n$2\r\nbc\r\n"]
    )
    func wholeCommands(text: String) throws {
        var reader = CommandReader()
        for byte in text.utf8.dropLast() {
            reader.append([byte])
            #expect(try reader.next() == nil)
        }
        reader.append([0x0a])
        let command = try #require(try reader.next())
        #expect(["", " ", "a bc"].contains(command.joined(separator: " ")) && text.hasPrefix("*\(command.count)"))
        #expect(try reader.next() == nil)
    }

    @Test(
        "What is no command is a typed error",
        arguments: [
            "x", "\r\n", "*\n", "*\r\n", "*-1\r\n", "*x\r\n", "*1\r\nx", "*1\r\n$\n", "*99999999\r\n",
            "*1\r\n$999999999999999999999\r\n", "*1\r\n$-1\r\n", "*" + String(repeating: "1", count: 30),
        ]
    )
    func malformedCommands(text: String) {
        var reader = CommandReader()
        reader.append(Array(text.utf8))
        let error = #expect(throws: HarnessError.self) { try reader.next() }
        #expect(error?.code == .malformedReply)
    }

    @Test("Random bytes never do harm")
    func randomBytes() {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let alphabet = Array("*$0123456789\r\n-x".utf8)
        for _ in 0..<5000 {
            var reader = CommandReader()
            let bytes = (0..<30).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &generator)] }
            reader.append(bytes)
            while let command = try? reader.next() {
                #expect(command.count <= 30, "seed \(seed)")
            }
        }
    }
}
