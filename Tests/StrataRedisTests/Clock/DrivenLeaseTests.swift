import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Leases and breakers, where a test moves the clock", .timeLimit(.minutes(5)))
struct DrivenLeaseTests {
    private let clock = ManualClock()
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()
    private var policy: FreshnessPolicy {
        var policy = FreshnessPolicy.exact(.seconds(60))
        policy.hardTimeout = nil
        return policy
    }

    private var names: KeyNames { keyspace.names(for: "k".keyBytes) }

    private func instance(
        _ server: RedisServer,
        _ options: LeaseOptions = .lasting,
        adjust: @escaping (inout RedisConfiguration) -> Void = { _ in }
    ) throws -> DrivenInstance {
        try DrivenInstance(clock, server, keyspace, policy, options, adjust: adjust) { [source] _ in
            try await source.fetch()
        }
    }

    private func exists(_ name: RedisKey, at server: RedisServer) async throws -> Bool {
        try await server.command(bytes: [Array("EXISTS".utf8), name.bytes]).integer == 1
    }

    // MARK: Holders

    // Far longer than the test takes: what ends such a lease is the move.
    private let long = LeaseOptions(
        duration: .seconds(1_000),
        renewalLimit: .seconds(4_000),
        waitLimit: .seconds(100_000)
    )

    @Test("when the holder has died, its lease ends with the move, and who waits takes over", arguments: [true, false])
    func takeOver(isTold: Bool) async throws {
        try await RedisServer.withServer { server in
            let (holder, heir) = (try instance(server, long), try instance(server, long))
            // Who is not told of changes looks again and again; who is, waits for the end of the lease.
            if isTold { try await heir.level.listens() }
            let lost = Task { try await holder.cache.get("k") }
            await source.gate.arrivals()
            // As its process dies: without a word to Redis.
            holder.redis.leases.stop()
            await holder.redis.shutDown()
            let read = Task { try await heir.cache.get("k") }
            // It counts what the lease has left from the moment at which it begins to wait.
            while heir.level.shared.waiters.awaiting(names.value.bytes).isEmpty { try await nextTurn() }
            try await clock.advance(by: .seconds(500), with: server)
            #expect(try await exists(names.lease, at: server))
            #expect(source.calls == 1)
            try await clock.advance(by: .seconds(501), with: server)
            await source.gate.arrivals(2)
            source.gate.open()
            #expect(try await read.value == "value")
            #expect(source.calls == 2)
            _ = await lost.result
            await heir.redis.shutDown()
        }
    }

    @Test("a holder that lives keeps its lease, and the value to replace, over a move that is longer than both")
    func kept() async throws {
        var policy = policy
        policy.staleIfError = .seconds(10)
        try await RedisServer.withServer { [policy] server in
            let holder = try DrivenInstance(clock, server, keyspace, policy, long) { [source] _ in
                try await source.fetch()
            }
            let other = try instance(server, long)
            try await holder.cache.set("old", for: "k", lifetime: EntryLifetime(freshFor: .seconds(10)))
            try clock.advance(by: .seconds(15))
            let fetch = Task { try await holder.cache.get("k") }
            await source.gate.arrivals()
            let read = Task { try await other.cache.get("k", ReadOptions(staleness: .never)) }
            while other.level.statistics.waits == 0 { try await nextTurn() }
            // The old value has some ten minutes to live in Redis, and the lease a thousand seconds.
            try await clock.advance(by: .seconds(3_000), with: server)
            #expect(try await exists(names.lease, at: server))
            #expect(try await exists(names.value, at: server))
            source.gate.open()
            #expect(try await fetch.value == "value")
            #expect(try await read.value == "value")
            #expect(source.calls == 1)
            #expect(holder.level.statistics.stores == 1 && holder.level.statistics.refusedStores == 0)
            for instance in [holder, other] { await instance.redis.shutDown() }
        }
    }

    @Test("a move past the limit of renewals ends the lease of a holder that lives, and its store is refused")
    func renewalLimit() async throws {
        try await RedisServer.withServer { server in
            let (holder, other) = (try instance(server, long), try instance(server, long))
            let fetch = Task { try await holder.cache.get("k") }
            await source.gate.arrivals()
            try await clock.advance(by: .seconds(4_001), with: server)
            #expect(try await !exists(names.lease, at: server))
            let read = Task { try await other.cache.get("k") }
            await source.gate.arrivals(2)
            source.gate.open()
            #expect(try await fetch.value == "value")
            #expect(try await read.value == "value")
            #expect(holder.level.statistics.refusedStores + other.level.statistics.refusedStores == 1)
            for instance in [holder, other] { await instance.redis.shutDown() }
        }
    }

    @Test("a caller waits for another instance until its limit has passed by the clock")
    func waitLimit() async throws {
        try await RedisServer.withServer { server in
            let other = try instance(server, LeaseOptions(duration: .seconds(1_000), waitLimit: .seconds(500)))
            try await other.redis.set(names.lease, Array("T0123456789abcdefsomebody".utf8), expiringIn: .seconds(900))
            let read = Task { try await other.cache.get("k") }
            while other.level.statistics.waits == 0 { try await nextTurn() }
            try clock.advance(by: .seconds(501))
            let error = await #expect(throws: CacheError.self) { try await read.value }
            #expect(error?.code == .timeout && source.calls == 0)
            await other.redis.shutDown()
        }
    }

    @Test("work that one does at a time: it is told that its lease has ended, and the next has waited no longer")
    func withLease() async throws {
        try await RedisServer.withServer { server in
            let (one, other) = try clock.driving {
                (try TestServer.client(of: server), try TestServer.client(of: server))
            }
            let gate = AsyncGate()
            let held = Locked<LeaseStatus?>(nil)
            let name = TestServer.uniqueName("lease")
            let holder = Task {
                try await one.withLease(name, options: long) { status in
                    held.withLock { $0 = status }
                    try await gate.pass()
                }
            }
            await gate.arrivals()
            let next = Task { try await other.withLease(name, options: long) { $0.isHeld } }
            try await clock.advance(by: .seconds(2_000), with: server)
            #expect(held.withLock { $0?.isHeld } == true)
            try await clock.advance(by: .seconds(2_001), with: server)
            #expect(held.withLock { $0?.isHeld } == false)
            #expect(try await next.value)
            gate.open()
            try await holder.value
            for client in [one, other] { await client.shutDown() }
        }
    }

    @Test("leases of other programs, and the keys of a service, lose the time")
    func others() async throws {
        try await RedisServer.withServer { server in
            let redis = try clock.driving { try TestServer.client(of: server) }
            try await redis.set("session", [1], expiringIn: .seconds(1_000))
            try await redis.set("cart", [1], expiringIn: .seconds(3_000))
            try await redis.set("user", [1])
            try await clock.advance(by: .seconds(2_000), with: server)
            #expect(try await redis.exists("session") == 0)
            #expect(try await redis.exists("cart", "user") == 2)
            let left = try #require(try await server.command("TTL", "cart").integer)
            #expect(left <= 1_000 && left > 0)
            await redis.shutDown()
        }
    }

    // MARK: Breakers

    @Test("a breaker that is open stays so until its pause has passed by the clock, and then finds the server well")
    func breaker() async throws {
        let isIll = Locked(true)
        let asked = Locked(0)
        let server = try await ScriptedServer.start(answering: { command, _ in
            switch command[0] {
            case "PING": return [.send(text: "+PONG\r\n")]
            case "CLIENT": return [.send(text: "+OK\r\n")]
            default:
                asked.withLock { $0 += 1 }
                guard !isIll.withLock({ $0 }) else { return [.send(text: "-LOADING it loads\r\n")] }
            }
            return switch command[0] {
            case "TIME": [.send(text: "*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n")]
            case "HMGET": [.send(text: "*3\r\n$1\r\n5\r\n$1\r\n0\r\n$-1\r\n")]
            default: [.send(text: "$-1\r\n")]
            }
        })
        let level = try clock.driving {
            RedisLevel<String, String>(
                try TestServer.client(of: server.url) { configuration in
                    configuration.breaker.minimumCalls = 4
                    configuration.breaker.pause = .milliseconds(1) ... .milliseconds(1)
                },
                keyspace: keyspace,
                codec: .text,
                coherence: .none
            )
        }
        let redis = level.redis
        while redis.outageStatistics.breakers[.read]?.state != .open {
            try Task.checkCancellation()
            _ = try? await level.get("k")
        }
        // What was sent before the breaker opened has been answered then.
        try await redis.ping()
        isIll.withLock { $0 = false }
        let before = asked.withLock { $0 }
        let end = MonotonicInstant.now.advanced(by: .milliseconds(20))
        while MonotonicInstant.now < end {
            let error = await #expect(throws: RedisError.self) { try await level.get("k") }
            #expect(error?.code == .circuitOpen)
            try await nextTurn()
        }
        #expect(asked.withLock { $0 } == before)
        try clock.advance(by: .milliseconds(1))
        // The first call sends a probe, and one that comes after its answer is the trial.
        while redis.outageStatistics.breakers[.read]?.state != .closed {
            try Task.checkCancellation()
            _ = try? await level.get("k")
        }
        #expect(asked.withLock { $0 } > before)
        await redis.shutDown()
        await server.stop()
    }

    // MARK: Removals that are repeated

    @Test("a repeated removal tells older values from newer ones by the clock", arguments: [0, 3_600])
    func repeatedRemoval(seconds: Int) async throws {
        try await RedisServer.withServer { server in
            let one = try instance(server)
            try clock.advance(by: .seconds(seconds))
            func removal() -> PendingInvalidations.Intent? {
                var pending = PendingInvalidations(limit: 1)
                pending.record(.key(names, keyspace), .removal, at: clock.cacheClock.now, for: .seconds(1_000))
                return pending.inOrder.first
            }
            try await one.level.set("old", for: "k")
            try clock.advance(by: .seconds(100))
            let intent = try #require(removal())
            try await one.redis.repeatInvalidation(intent, by: .distantFuture)
            #expect(try await !exists(names.value, at: server))
            try clock.advance(by: .seconds(100))
            try await one.level.set("new", for: "k")
            try await one.redis.repeatInvalidation(intent, by: .distantFuture)
            #expect(try await exists(names.value, at: server))
            await one.redis.shutDown()
        }
    }

    // MARK: Instances that list themselves

    @Test("the list of instances outlives a move")
    func fleet() async throws {
        try await RedisServer.withServer { server in
            let one = try instance(server)
            // The longest: what it has written last must not vanish while this process stands still.
            let member = FleetMember(interval: .seconds(60))
            member.add(one.cache, of: one.level, memory: one.memory)
            let running = Task { await member.run() }
            let inspector = FleetInspector(one.redis, keyspace)
            while try await inspector.instances().instances.isEmpty { try await nextTurn() }
            try await clock.advance(by: .seconds(86_400), with: server)
            #expect(try await inspector.instances().instances.count == 1)
            running.cancel()
            await running.value
            await one.redis.shutDown()
        }
    }

    // MARK: Several nodes

    @Test("at a cluster the time goes by at each node, and levels of all parts go by the clock")
    func cluster() async throws {
        try await TestCluster.with { cluster in
            let level = try clock.driving {
                RedisLevel<Int, String>(
                    try TestCluster.client(of: cluster),
                    keyspace: keyspace,
                    codec: .text,
                    freshness: .exact(.seconds(500))
                )
            }
            let redis = level.redis
            for number in 0..<40 {
                try await level.set("value", for: number)
                try await redis.set(RedisKey("own \(number)"), [1], expiringIn: .seconds(1_000))
            }
            try await clock.advance(by: .seconds(400), with: cluster.nodes)
            for number in 0..<40 { #expect(try await level.get(number) == "value") }
            try await clock.advance(by: .seconds(1_000), with: cluster.nodes)
            for number in 0..<40 {
                #expect(try await level.get(number) == nil)
                #expect(try await redis.exists(RedisKey("own \(number)")) == 0)
            }
            await redis.shutDown()
        }
    }
}
