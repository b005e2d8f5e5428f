import StrataTesting
import Testing

@Suite("What a proxy does to the bytes", .timeLimit(.minutes(5)))
struct FaultProxyTests {
    @Test("A real server is used through it as without it", arguments: [TestEndpoint.Kind.loopback, .unixSocket])
    func realServer(kind: TestEndpoint.Kind) async throws {
        try await RedisServer.withServer { server in
            let upstream = kind == .loopback ? server.endpoint : try #require(server.unixEndpoint)
            let proxy = try await FaultProxy.start(to: upstream, at: kind)
            let value = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            let (endpoint, deadline) = (proxy.endpoint, ContinuousClock.now + .seconds(30))
            try await BlockingThread.run { _ in
                var connection = try RawConnection(to: endpoint, until: deadline)
                #expect(try connection.command([Array("SET".utf8), [0x6b], value]) == .status("OK"))
                #expect(try connection.command(["GET", "k"]) == .bulk(value))
            }
            let counts = proxy.snapshot.counts
            #expect(counts.accepted == 1)
            #expect(counts.toServer.delivered == counts.toServer.received)
            #expect(counts.toServer.received > value.count)
            #expect(counts.toClient.delivered > value.count)
            await proxy.stop()
        }
    }

    @Test("Pieces, delays and rates change nothing about the bytes")
    func conditions() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        try await withEcho(seed: seed) { proxy, _ in
            var conditions = LinkConditions.pieces(of: 1...40)
            conditions.jitter = .milliseconds(2)
            proxy.set(conditions)
            var generator = SeededGenerator(seed: seed)
            let bytes = (0..<20_000).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
            let client = try await ByteClient.connect(to: proxy.endpoint)
            try await client.send(bytes)
            #expect(try await client.read(bytes.count) == bytes, "seed \(seed)")
        }
    }

    @Test(
        "A frozen link closes nothing, and goes on where it was",
        arguments: [FaultProxy.Directions.toServer, .toClient]
    )
    func stall(direction: FaultProxy.Directions) async throws {
        try await withEcho { proxy, server in
            let client = try await connect(to: proxy)
            proxy.stall(direction, of: .live)
            #expect(proxy.snapshot.connections.map(\.stalled) == [direction])
            try await client.send("abc")
            if direction == .toClient {
                // The other direction still works.
                try await server.wait { $0.text(of: 0) == "helloabc" }
            }
            client.endWriting()
            // After a later connection's whole exchange the frozen one would have had its turn.
            let other = try await connect(to: proxy)
            let frozen = try #require(proxy.snapshot.connections.first)
            #expect((direction == .toServer ? frozen.toServer : frozen.toClient).delivered == 5)
            #expect(client.readArrived() == [])
            // The end is frozen with the rest.
            if direction == .toServer { #expect(server.snapshot.open == 2) }
            withExtendedLifetime(other) {}
            proxy.resume()
            #expect(try await client.readToEnd() == ("abc", .end))
        }
    }

    @Test("A frozen link holds the sender up instead of filling the memory")
    func bounded() async throws {
        try await withEcho { proxy, _ in
            let client = try await connect(to: proxy)
            proxy.update { $0.bufferLimit = 10_000 }
            proxy.set(.delayed(by: .seconds(3600)), .toServer)
            proxy.update(.toServer) { $0.bufferLimit = 10_000 }
            let sent = client.sendUntilFull()
            #expect(sent > 10_005)
            try await proxy.wait { $0.counts.toServer.received == 10_005 }
            #expect(proxy.snapshot.counts.toServer.delivered == 5)
            try proxy.heal()
            let echo = try await client.read(sent)
            #expect(echo.allSatisfy { $0 == 0x78 })
        }
    }

    @Test("A black hole takes everything, and the sender notices nothing")
    func blackhole() async throws {
        try await withEcho { proxy, server in
            let client = try await connect(to: proxy)
            proxy.update(.toServer) { $0.isBlackhole = true }
            try await client.send("lost")
            try await proxy.wait { $0.counts.toServer.swallowed == 4 }
            try proxy.heal()
            try await client.send("found")
            #expect(try await client.readText(5) == "found")
            #expect(server.snapshot.text(of: 0) == "hellofound")
        }
    }

    @Test("A delay that never ends holds everything until the link is healed")
    func delay() async throws {
        try await withEcho { proxy, _ in
            let client = try await connect(to: proxy)
            proxy.set(.delayed(by: .seconds(3600)), .toClient)
            try await client.send("late")
            try await proxy.wait { $0.counts.toClient.received == 9 }
            #expect(client.readArrived() == [])
            try proxy.heal()
            #expect(try await client.readText(4) == "late")
        }
    }

    @Test("Edits change the stream at their place")
    func edits() async throws {
        try await withEcho { proxy, server in
            let client = try await connect(to: proxy)
            proxy.edit(.swallow(1, after: 1), .toServer)
            proxy.edit(.corrupt(byteAt: 2, mask: 0x20), .toServer)
            proxy.edit(.duplicate(2, after: 2), .toClient)
            proxy.edit(.insert([0x21]), .toClient)
            try await client.send("abcdef")
            #expect(try await client.readText(8) == "!aCdedef")
            #expect(server.snapshot.text(of: 0) == "helloaCdef")
            let counts = proxy.snapshot.counts
            #expect(counts.toServer.swallowed == 1)
            #expect(counts.toServer.corrupted == 1)
            #expect(counts.toClient.added == 3)
            // Done once, and nothing of it is left for the next connection.
            let next = try await connect(to: proxy)
            try await next.send("abcdef")
            #expect(try await next.readText(6) == "abcdef")
        }
    }

    @Test("An edit for later connections happens in each of them")
    func laterEdits() async throws {
        try await withEcho { proxy, _ in
            let old = try await connect(to: proxy)
            proxy.edit(.close(after: 3), .toClient, of: .later)
            for _ in 0..<3 {
                let client = try await ByteClient.connect(to: proxy.endpoint)
                try await client.send("abcdef")
                #expect(try await client.readToEnd().text == "abc")
            }
            try await old.send("abcdef")
            #expect(try await old.readText(6) == "abcdef")
        }
    }

    @Test("The same seed flips the same bits")
    func seeds() async throws {
        func corrupted(seed: UInt64) async throws -> [[UInt8]] {
            var results: [[UInt8]] = []
            try await withEcho(seed: seed) { proxy, _ in
                for index in 0..<20 {
                    proxy.edit(.corrupt(byteAt: index), .toClient, of: .later)
                }
                for _ in 0..<2 {
                    let client = try await ByteClient.connect(to: proxy.endpoint)
                    try await client.send([UInt8](repeating: 0, count: 20))
                    results.append(try await client.read(20))
                }
            }
            return results
        }
        let first = try await corrupted(seed: 5)
        #expect(first.joined().allSatisfy { $0.nonzeroBitCount == 1 })
        #expect(first[0] != first[1])
        #expect(try await corrupted(seed: 5) == first)
        #expect(try await corrupted(seed: 6) != first)
    }
}
