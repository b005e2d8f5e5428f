import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("What a server does to a service that reads on", .leavesNothing, .serialized, .timeLimit(.minutes(5)))
struct ServerFaultTests {
    private let keyspace = Keyspace(TestServer.uniqueName())

    /// A service before a server of its own, with a proxy between them that counts connections.
    func with(
        _ configuration: RedisServer.Configuration = .init(),
        _ adjust: (inout RedisConfiguration) -> Void = { _ in },
        _ body: (FaultService, RedisServer, FaultProxy) async throws -> Void
    ) async throws {
        try await RedisServer.withServer(configuration) { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let service = try FaultService(proxy.url, keyspace, adjust)
            while (try? await service.redis.ping()) == nil { try await nextTurn() }
            try await body(service, server, proxy)
            await service.redis.shutDown()
            await proxy.stop()
        }
    }

    @Test("kill -9 under load, and back with nothing: every read is answered")
    func killed() async throws {
        try await with { service, server, proxy in
            var back = Duration.zero
            let tally = try await service.traffic { traffic in
                try await server.kill()
                try await traffic.goesOn(for: 1_000)
                try await server.restart(keepingData: false)
                back = try await service.recovers()
            }
            FaultFigures.tell(
                1,
                [
                    "reads": tally.reads, "errors": tally.errors, "wrong values": tally.wrong,
                    "longest ms": tally.longest.milliseconds, "back after ms": back.milliseconds,
                ]
            )
        }
    }

    @Test("stopped and continued: late replies are dropped, and every read is answered")
    func stopped() async throws {
        try await with { service, server, proxy in
            let tally = try await service.traffic { traffic in
                for _ in 0..<3 {
                    try await server.pause()
                    try await traffic.goesOn(for: 200)
                    try await server.resume()
                    try await service.recovers()
                }
            }
            FaultFigures.tell(
                3,
                [
                    "reads": tally.reads, "errors": tally.errors, "wrong values": tally.wrong,
                    "longest ms": tally.longest.milliseconds,
                ]
            )
        }
    }

    /// Commands sent directly: what comes late would show as another key's value.
    @Test("stopped and continued, with commands of one's own: each reply is that of its command or none")
    func stoppedBelowCommands() async throws {
        try await with(.init(), { $0.commandTimeout = .milliseconds(20) }) { service, server, _ in
            for key in 0..<50 {
                try await server.command("SET", "key \(key)", FaultTraffic.value(of: "key \(key)"))
            }
            let refused = Locked(0)
            let tally = try await FaultTraffic()
                .run(
                    { [redis = service.redis] key in
                        do {
                            return try await redis.get(RedisKey(key)).map { String(decoding: $0, as: UTF8.self) }
                        } catch let error as RedisError {
                            #expect(error.code != .protocolViolation)
                            refused.withLock { $0 += 1 }
                            return FaultTraffic.value(of: key)
                        }
                    },
                    during: { traffic in
                        for _ in 0..<5 {
                            try await server.pause()
                            let before = refused.withLock { $0 }
                            while refused.withLock({ $0 }) < before + 50 { try await nextTurn() }
                            try await server.resume()
                            try await traffic.goesOn()
                        }
                    }
                )
            #expect(tally.wrong == 0)
            #expect(tally.errors == 0, "one of them: \(tally.anError ?? "")")
            FaultFigures.tell(3, ["commands": tally.reads, "mismatched replies": tally.wrong])
        }
    }

    @Test("a command that takes two seconds: every read is answered, and no storm of connections follows")
    func sleeps() async throws {
        try await with(.init(directives: ["enable-debug-command yes"])) { service, server, proxy in
            let before = proxy.snapshot.counts.accepted
            let began = MonotonicInstant.now
            let tally = try await service.traffic { traffic in
                async let sleep: Void = { _ = try await server.command("DEBUG", "SLEEP", "2") }()
                try await traffic.goesOn(for: 500)
                try await sleep
                try await service.recovers()
            }
            let connections = proxy.snapshot.counts.accepted - before
            // The connection for commands, that of the link, and each once more; either is tried twice a second while
            // the server stands still.
            let beyond = max(began.duration(to: .now) - .seconds(2), .zero).components.seconds
            #expect(connections <= 4 + 4 * (Int(beyond) + 1))
            FaultFigures.tell(
                5,
                [
                    "reads": tally.reads, "errors": tally.errors, "wrong values": tally.wrong,
                    "longest ms": tally.longest.milliseconds, "connections opened": connections,
                ]
            )
        }
    }

    @Test(
        "clients are paused: for writes reads go on at the server, for everything at the source",
        arguments: [true, false]
    )
    func paused(writesOnly: Bool) async throws {
        try await with { service, server, _ in
            for key in 0..<50 { try await service.fill("key \(key)") }
            var written = "written"
            let tally = try await service.traffic { traffic in
                // Paused for everything, the server takes no order to end it.
                let pause = writesOnly ? ["100000", "WRITE"] : ["10000", "ALL"]
                if writesOnly {
                    var fetches = Int.max
                    // A machine that stands still for a moment has a read fetch; what it then stores waits, and holds
                    // up what is behind it. Looks at the marks would do so each second, so one round in ten without is
                    // enough.
                    for round in 0..<10 where fetches > 2 * traffic.tasks {
                        if round > 0 {
                            try await server.command("CLIENT", "UNPAUSE")
                            for key in 0..<50 { try await service.fill("key \(key)") }
                        }
                        try await service.isServedByRedis()
                        try await server.command("CLIENT", "PAUSE", pause[0], pause[1])
                        let (hits, before, began) = (service.counters.hits, service.fetches, MonotonicInstant.now)
                        while service.counters.hits < hits + 200 || began.duration(to: .now) < .seconds(3) {
                            try await nextTurn()
                        }
                        fetches = service.fetches - before
                        FaultFigures.tell(6, ["round": round, "fetches": fetches])
                    }
                    #expect(fetches <= 2 * traffic.tasks)
                    await #expect(throws: RedisError.self) { try await service.level.set("late", for: "written") }
                    try await server.command("CLIENT", "UNPAUSE")
                } else {
                    var (round, isRefused) = (0, false)
                    // A set that comes when the pause is over, because this process stood still, says nothing.
                    repeat {
                        round += 1
                        written = "written \(round)"
                        let fetches = service.fetches
                        try await server.command("CLIENT", "PAUSE", pause[0], pause[1])
                        while service.fetches < fetches + 50 { try await nextTurn() }
                        isRefused = (try? await service.level.set("late", for: written)) == nil
                    } while !isRefused
                }
                try await service.recovers()
            }
            // What a failed set has sent is not applied later.
            #expect(try await service.level.get(written) == FaultTraffic.value(of: written))
            FaultFigures.tell(
                6,
                [
                    "reads": tally.reads, "errors": tally.errors, "wrong values": tally.wrong,
                    "longest ms": tally.longest.milliseconds,
                ]
            )
        }
    }

    @Test("a server that loads its data: the source answers, few connections are made, and it is used when it is ready")
    func loading() async throws {
        let slow: [RedisServer.Directive] = ["key-load-delay 5000", "loading-process-events-interval-bytes 1024"]
        try await with(.init(directives: slow)) { service, server, proxy in
            for key in 0..<50 { try await service.fill("key \(key)") }
            try await server.command(
                "EVAL",
                "for i = 1, 2000 do redis.call('set', 'filler' .. i, string.rep('x', 100)) end",
                "0"
            )
            let before = proxy.snapshot.counts.accepted
            let tally = try await service.traffic { traffic in
                try await server.restart(keepingData: true, waitingForLoad: false)
                let error = await #expect(throws: HarnessError.self) { try await server.command("GET", "filler1") }
                #expect(error?.message.hasPrefix("LOADING") == true)
                try await traffic.goesOn(for: 500)
                try await service.recovers()
            }
            // What it had is there, however late this process gets to it.
            var found: String?
            while found == nil {
                found = try? await service.level.level.get("key 1")
                try await nextTurn()
            }
            #expect(found == FaultTraffic.value(of: "key 1"))
            FaultFigures.tell(
                22,
                [
                    "reads": tally.reads, "errors": tally.errors, "wrong values": tally.wrong,
                    "longest ms": tally.longest.milliseconds,
                    "connections opened": proxy.snapshot.counts.accepted - before,
                ]
            )
        }
    }

    @Test("a script without an end: the source answers, and the server is used when the script was killed")
    func busy() async throws {
        try await with(.init(directives: ["lua-time-limit 10"])) { service, server, _ in
            var back = Duration.zero
            let tally = try await service.traffic { traffic in
                async let script: RawReply? = try? await server.command(
                    "EVAL",
                    "while true do end",
                    "0",
                    within: .seconds(60)
                )
                // The server answers nothing at all until the script has had its time.
                while true {
                    do {
                        _ = try await server.command("GET", "k", within: .seconds(30))
                    } catch let error as HarnessError where error.message.hasPrefix("BUSY") {
                        break
                    }
                }
                try await traffic.goesOn(for: 500)
                try await server.command("SCRIPT", "KILL")
                _ = await script
                back = try await service.recovers()
            }
            FaultFigures.tell(
                23,
                [
                    "reads": tally.reads, "errors": tally.errors, "wrong values": tally.wrong,
                    "longest ms": tally.longest.milliseconds, "back after ms": back.milliseconds,
                ]
            )
        }
    }

    @Test("a table of tracked keys that holds ten: others' changes are told of as ever")
    func trackingTable() async throws {
        try await RedisServer.withServer(.init(directives: ["tracking-table-max-keys 10"])) { server in
            let source = CountingSource()
            source.gate.open()
            let one = try await FaultInstance(server.url, keyspace, source)
            let other = try await FaultInstance(server.url, keyspace, source)
            for key in 0..<90 { _ = try await one.cache.get("\(key)") }
            let kept = (0..<90).count { one.remembers("\($0)") == "value" }
            #expect(kept == 90)
            source.set("new")
            var wrong = 0
            for key in 0..<90 { try await other.cache.remove("\(key)") }
            try await one.catchUp()
            for key in 0..<90 where try await one.cache.get("\(key)") != "new" { wrong += 1 }
            #expect(wrong == 0)
            FaultFigures.tell(30, ["kept in memory": kept, "of": 90, "wrong values": wrong])
            await one.redis.shutDown()
            await other.redis.shutDown()
        }
    }

    @Test("the server is emptied: memory lets go, and each key is fetched once for the fleet")
    func emptied() async throws {
        try await RedisServer.withServer { server in
            let source = CountingSource()
            source.gate.open()
            var fleet: [FaultInstance] = []
            for _ in 0..<3 { fleet.append(try await FaultInstance(server.url, keyspace, source)) }
            for instance in fleet { for key in 0..<20 { _ = try await instance.cache.get("\(key)") } }
            #expect(source.calls == 20)
            source.set("new")
            try await server.command("FLUSHALL")
            for instance in fleet { try await instance.catchUp() }
            let before = source.calls
            let wrong = try await withThrowingTaskGroup(of: Int.self) { group in
                for instance in fleet {
                    for task in 0..<40 {
                        group.addTask { try await instance.cache.get("\(task % 20)") == "new" ? 0 : 1 }
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(wrong == 0)
            #expect(source.calls - before == 20)
            FaultFigures.tell(31, ["keys": 20, "fetches": source.calls - before, "wrong values": wrong])
            for instance in fleet { await instance.redis.shutDown() }
        }
    }
}
