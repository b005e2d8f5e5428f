import StrataTesting
import Testing

@Suite("What a proxy does to connections", .timeLimit(.minutes(5)))
struct ProxyConnectionTests {
    @Test("Closing, resetting and half-closing reach the ends they should")
    func endings() async throws {
        try await withEcho { proxy, server in
            let closed = try await connect(to: proxy)
            proxy.closeConnections()
            #expect(try await closed.readToEnd() == ("", .end))

            let reset = try await connect(to: proxy)
            proxy.resetConnections()
            #expect(try await reset.readToEnd() == ("", .failure))
            try await server.wait { $0.open == 0 }

            let half = try await connect(to: proxy)
            proxy.halfClose(.toClient)
            #expect(try await half.readToEnd() == ("", .end))
            try await half.send("still heard")
            try await server.wait { $0.text(of: 2) == "hellostill heard" }
            #expect(proxy.snapshot.connections.count == 1)
            half.endWriting()
            try await proxy.wait { $0.connections.isEmpty && $0.counts.closed == 3 }
        }
    }

    @Test("A connection ends after exactly the bytes asked for")
    func closeAfter() async throws {
        try await withEcho { proxy, _ in
            let closed = try await connect(to: proxy)
            proxy.edit(.close(after: 10), .toClient)
            try await closed.send(String(repeating: "x", count: 1000))
            #expect(try await closed.readToEnd() == ("xxxxxxxxxx", .end))

            let reset = try await connect(to: proxy)
            proxy.edit(.reset(after: 10), .toClient)
            try await reset.send(String(repeating: "x", count: 1000))
            #expect(try await reset.readToEnd() == ("xxxxxxxxxx", .failure))

            let frozen = try await connect(to: proxy)
            proxy.edit(.stall(after: 2), .toClient)
            try await frozen.send("abcdef")
            #expect(try await frozen.readText(2) == "ab")
            try await proxy.wait { $0.connections.last?.stalled == .toClient }
            proxy.resume()
            #expect(try await frozen.readText(4) == "cdef")

            let ended = try await connect(to: proxy)
            proxy.edit(.end(after: 2), .toClient)
            try await ended.send("abcdef")
            #expect(try await ended.readToEnd() == ("ab", .end))
        }
    }

    @Test("The client's half-close and reset travel to the server, and the server's close to the client")
    func endsOfOthers() async throws {
        let server = try await ScriptedServer.start(responding: { bytes, _ in
            bytes.contains(UInt8(ascii: "r")) ? [.reset] : [.send(bytes), .close]
        })
        let proxy = try await FaultProxy.start(to: server.endpoint)
        let first = try await ByteClient.connect(to: proxy.endpoint)
        try await first.send("abc")
        #expect(try await first.readToEnd() == ("abc", .end))
        let second = try await ByteClient.connect(to: proxy.endpoint)
        try await second.send("r")
        #expect(try await second.readToEnd() == ("", .failure))
        await proxy.stop()
        await server.stop()
    }

    @Test("One connection can be picked out")
    func oneConnection() async throws {
        try await withEcho { proxy, _ in
            let first = try await connect(to: proxy)
            let second = try await connect(to: proxy)
            let ids = proxy.snapshot.connections.map(\.id)
            #expect(ids.count == 2)
            #expect(ids == ids.sorted())
            proxy.closeConnections(.connection(ids[0]))
            #expect(try await first.readToEnd() == ("", .end))
            #expect(proxy.snapshot.connections.map(\.id) == [ids[1]])
            try await second.send("abc")
            #expect(try await second.readText(3) == "abc")
            proxy.closeConnections(.later)
            proxy.closeConnections(.connection(ids[0]))
            #expect(proxy.snapshot.connections.map(\.id) == [ids[1]])
        }
    }

    @Test("New connections are refused, reset or left waiting, and then accepted again at the same place")
    func admission() async throws {
        try await withEcho { proxy, _ in
            let old = try await connect(to: proxy)
            try proxy.admit(.refuse)
            await expect(code: .connectionFailed) { try await ByteClient.connect(to: proxy.endpoint) }
            try await old.send("abc")
            #expect(try await old.readText(3) == "abc")

            try proxy.admit(.reset)
            try await expectReset(by: proxy)
            #expect(proxy.snapshot.counts.refused == 1)

            try proxy.admit(.ignore)
            let waiting = try await ByteClient.connect(to: proxy.endpoint)
            try await waiting.send("hello")
            #expect(proxy.snapshot.counts.accepted == 1)
            try proxy.admit(.accept)
            #expect(try await waiting.readText(5) == "hello")
        }
    }

    @Test("A Unix-domain socket is refused and accepted again as well")
    func unixAdmission() async throws {
        try await withEcho(at: .unixSocket) { proxy, _ in
            try proxy.admit(.refuse)
            await expect(code: .connectionFailed) { try await ByteClient.connect(to: proxy.endpoint) }
            try proxy.admit(.accept)
            let client = try await connect(to: proxy)
            proxy.resetConnections()
            _ = try await client.readToEnd()
        }
    }

    @Test("A server that is not there shows as a reset, and a new target is taken by new connections")
    func target() async throws {
        // By path: another process may take the port of a server that is gone.
        let server = try await ScriptedServer.start(at: .unixSocket, script: [])
        try await withEcho { proxy, _ in
            try proxy.retarget(to: server.endpoint)
            await server.stop()
            try await expectReset(by: proxy)
            try await proxy.wait { $0.counts.unreachable == 1 }
            try await withEcho { _, other in
                try proxy.retarget(to: other.endpoint)
                let client = try await connect(to: proxy)
                #expect(other.snapshot.accepted == 1)
                proxy.closeConnections()
                _ = try await client.readToEnd()
            }
            #expect(throws: HarnessError.self) { try proxy.retarget(to: .tcp(host: "no.such.host", port: 1)) }
        }
    }

    @Test("After the stop clients are told, and calls do nothing")
    func stop() async throws {
        let server = try await ScriptedServer.start(script: [])
        let proxy = try await FaultProxy.start(to: server.endpoint, at: .unixSocket)
        let client = try await ByteClient.connect(to: proxy.endpoint)
        let waiter = Task { try await proxy.wait { _ in false } }
        try await proxy.wait { $0.counts.accepted == 1 }
        await proxy.stop()
        #expect(try await client.readToEnd() == ("", .end))
        await expect(code: .notRunning) { try await waiter.value }
        await expect(code: .notRunning) { try await proxy.wait { _ in true } }
        await expect(code: .connectionFailed) { try await ByteClient.connect(to: proxy.endpoint) }
        proxy.stall()
        try proxy.admit(.accept)
        try proxy.heal()
        await proxy.stop()
        await server.stop()
    }

    @Test("A cancelled wait ends with CancellationError")
    func cancelledWait() async throws {
        try await withEcho { proxy, _ in
            let task = Task { try await proxy.wait { _ in false } }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test("Control calls from many tasks neither lose bytes nor stop each other")
    func concurrency() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        try await withEcho(seed: seed) { proxy, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<4 {
                    group.addTask {
                        var generator = SeededGenerator(seed: seed &+ UInt64(number))
                        for _ in 0..<5 {
                            let client = try await ByteClient.connect(to: proxy.endpoint)
                            for _ in 0..<10 {
                                let bytes = (0..<500).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
                                try await client.send(bytes)
                                #expect(try await client.read(500) == bytes, "seed \(seed)")
                            }
                        }
                    }
                }
                for number in 0..<2 {
                    group.addTask {
                        var generator = SeededGenerator(seed: seed &+ 100 &+ UInt64(number))
                        for _ in 0..<100 {
                            switch Int.random(in: 0..<4, using: &generator) {
                            case 0: proxy.stall(.both)
                            case 1: proxy.set(.pieces(of: 1...50))
                            case 2: _ = proxy.snapshot
                            default: try proxy.heal()
                            }
                            proxy.resume()
                        }
                    }
                }
                try await group.waitForAll()
            }
            try proxy.heal()
        }
    }
}
