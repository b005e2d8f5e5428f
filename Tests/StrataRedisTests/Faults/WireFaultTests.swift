import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("What the wire does to a service that reads on", .leavesNothing, .serialized, .timeLimit(.minutes(5)))
struct WireFaultTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    private func with(
        seed: UInt64 = 0,
        _ adjust: (inout RedisConfiguration) -> Void = { _ in },
        _ body: (FaultService, RedisServer, FaultProxy) async throws -> Void
    ) async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint, seed: seed)
            let service = try FaultService(proxy.url, keyspace, adjust)
            while (try? await service.redis.ping()) == nil { try await nextTurn() }
            try await body(service, server, proxy)
            await service.redis.shutDown()
            await proxy.stop()
        }
    }

    @Test("a way that takes long, both ways: reads spend their budget at most", arguments: [50, 500, 5_000])
    func delayed(milliseconds: Int) async throws {
        try await with { service, _, proxy in
            proxy.set(.delayed(by: .milliseconds(milliseconds)))
            let tally = try await service.traffic { traffic in try await traffic.goesOn(for: 100) }
            // A command and its reply take twice the delay: a read that waited for the longest took ten seconds.
            #expect(tally.longest < .seconds(10))
            try proxy.heal()
            try await service.recovers()
            FaultFigures.tell(
                32,
                [
                    "delay ms": milliseconds, "reads": tally.reads, "errors": tally.errors, "wrong values": tally.wrong,
                    "longest ms": tally.longest.milliseconds,
                ]
            )
        }
    }

    @Test("a way that takes long: a missing key is still fetched once for the fleet")
    func delayedLease() async throws {
        try await RedisServer.withServer { server in
            let source = CountingSource()
            source.gate.open()
            let options = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600))
            var proxies: [FaultProxy] = []
            var fleet: [FaultInstance] = []
            for _ in 0..<2 {
                let proxy = try await FaultProxy.start(to: server.endpoint)
                proxies.append(proxy)
                fleet.append(try await FaultInstance(proxy.url, keyspace, source, options: options))
                proxy.set(.delayed(by: .milliseconds(50)))
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for instance in fleet {
                    for key in 0..<20 {
                        group.addTask {
                            let value = try await instance.cache.get("\(key)")
                            #expect(value == "value")
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(source.calls == 20)
            FaultFigures.tell(32, ["keys": 20, "fetches": source.calls])
            for instance in fleet { await instance.redis.shutDown() }
            for proxy in proxies { await proxy.stop() }
        }
    }

    @Test("replies byte by byte and in pieces of any size: every value is right")
    func pieces() async throws {
        try await with(seed: 33) { service, _, proxy in
            let tally = try await service.traffic { traffic in
                for size in [1...1, 1...7, 100...200] {
                    proxy.set(.pieces(of: size))
                    try await traffic.goesOn(for: 300)
                }
                try proxy.heal()
            }
            FaultFigures.tell(33, ["reads": tally.reads, "errors": tally.errors, "wrong values": tally.wrong])
        }
    }

    enum Cut: CaseIterable { case close, end, reset }

    @Test("the connection ends anywhere within a large reply: the whole value or none", arguments: Cut.allCases)
    func cut(_ cut: Cut) async throws {
        try await with({ $0.beIn(patience: .seconds(20)) }) { service, _, proxy in
            var random = SplitMix64.announced("a reply that is cut")
            let value = FaultTraffic.value(of: String(repeating: "x", count: 5_000))
            try await service.redis.set("large", Array(value.utf8))
            var short = 0
            var failed = 0
            for round in 0..<30 {
                // Until the connection stands, there would be nothing to cut.
                while (try? await service.redis.ping()) == nil { try await nextTurn() }
                let place = Int.random(in: 1..<value.utf8.count, using: &random)
                let edit: WireEdit =
                    switch cut {
                    case .close: .close(after: place)
                    case .end: .end(after: place)
                    case .reset: .reset(after: place)
                    }
                proxy.edit(edit, .toClient)
                do {
                    if try await service.redis.get("large") != Array(value.utf8) { short += 1 }
                } catch {
                    // A read is sent again over the next connection; when that was lost early several times in a row,
                    // it is not waited for.
                    #expect(round > 0, "\(error)")
                    failed += 1
                }
            }
            #expect(short == 0)
            FaultFigures.tell(cut == .reset ? 36 : 34, ["cuts": 30, "short values": short, "failed": failed])
        }
    }

    @Test("one side closes its half: no call hangs, and the next connection is used", arguments: [true, false])
    func halfClosed(byServer: Bool) async throws {
        try await with { service, _, proxy in
            let tally = try await service.traffic { traffic in
                for _ in 0..<5 {
                    proxy.halfClose(byServer ? .toClient : .toServer)
                    try await traffic.goesOn(for: 50)
                    try await service.recovers()
                }
            }
            FaultFigures.tell(
                35,
                [
                    "reads": tally.reads, "errors": tally.errors, "wrong values": tally.wrong,
                    "longest ms": tally.longest.milliseconds,
                ]
            )
        }
    }

    @Test(
        "everything vanishes on the way, in both directions or in one: the connection is given up, the next one used",
        arguments: [FaultProxy.Directions.both, .toServer, .toClient]
    )
    func blackhole(_ directions: FaultProxy.Directions) async throws {
        try await with { service, _, proxy in
            var found = Duration.zero
            let tally = try await service.traffic { traffic in
                let began = MonotonicInstant.now
                let (accepted, connections) = (proxy.snapshot.counts.accepted, proxy.snapshot.connections.count)
                proxy.update(directions, of: .live) { $0.isBlackhole = true }
                // Each has been replaced by a new one, to which nothing happens.
                try await proxy.wait { $0.counts.accepted >= accepted + connections }
                found = began.duration(to: .now)
                try await service.recovers()
            }
            FaultFigures.tell(
                directions == .both ? 37 : 38,
                [
                    "reads": tally.reads, "errors": tally.errors, "wrong values": tally.wrong,
                    "longest ms": tally.longest.milliseconds, "found after ms": found.milliseconds,
                ]
            )
        }
    }

    @Test("a bit flips on the way, in any direction, at any place: no value is wrong", arguments: [true, false])
    func flippedBit(toClient: Bool) async throws {
        // What makes the server wait for more shows only by its silence.
        let seed = UInt64.random(in: 0 ... .max)
        try await with(
            seed: seed,
            {
                $0.redisBudget = .milliseconds(200)
                $0.healthWindow = .milliseconds(300)
            }
        ) { service, _, proxy in
            var random = SplitMix64.announced("flipped bits, proxy \(seed)")
            func flips() -> Int {
                let counts = proxy.snapshot.counts
                return toClient ? counts.toClient.corrupted : counts.toServer.corrupted
            }
            let tally = try await service.traffic { traffic in
                // On a busy machine fewer bytes pass in a round, and some of them never reach their place.
                var rounds = 0
                while rounds < 60 || flips() <= 20 {
                    rounds += 1
                    // Places of values, of lengths, and of commands for other keys.
                    proxy.edit(
                        .corrupt(byteAt: Int.random(in: 0..<2_000, using: &random)),
                        toClient ? .toClient : .toServer
                    )
                    try await traffic.goesOn(for: 20)
                }
                try proxy.heal()
                try await service.recovers()
            }
            let flipped = flips()
            #expect(flipped > 20)
            FaultFigures.tell(
                40,
                [
                    "flipped bits": flipped, "reads": tally.reads, "errors": tally.errors, "wrong values": tally.wrong,
                    "told by the envelope": service.counters.unusable,
                ]
            )
        }
    }

    @Test("a large value on a narrow way: small reads behind it are answered within their budget")
    func narrow() async throws {
        try await with { service, server, proxy in
            let text = Array(repeating: UInt8(ascii: "x"), count: 10 << 20)
            _ = try await server.command(bytes: [Array("SET".utf8), Array("large".utf8), text], within: .seconds(60))
            for key in 0..<50 { _ = try await service.level.get("key \(key)") }
            // Never through within this test: whoever waits for it waits in vain.
            proxy.set(.slow(bytesPerSecond: 125_000), .toClient)
            let large = Task { [redis = service.redis] in try? await redis.get("large") }
            let tally = try await service.traffic { traffic in try await traffic.goesOn(for: 200) }
            // The large one takes eighty seconds.
            #expect(tally.longest < .seconds(20))
            large.cancel()
            _ = await large.value
            try proxy.heal()
            try await service.recovers()
            FaultFigures.tell(
                43,
                [
                    "reads": tally.reads, "errors": tally.errors, "wrong values": tally.wrong,
                    "longest ms": tally.longest.milliseconds,
                ]
            )
        }
    }
}
