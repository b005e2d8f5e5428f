import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("The end of a lease, on every way out", .timeLimit(.minutes(5)))
struct LeaseEndTests {
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let source = CountingSource()
    /// A lease left behind would stand for longer than a test may take.
    private let options = LeaseOptions(duration: .seconds(1_000), renewalLimit: .seconds(2_000))

    private var names: KeyNames { keyspace.names(for: "k".keyBytes) }

    private func cache(_ url: String) throws -> FetchingLevel<String, String> {
        let level = RedisLevel<String, String>(
            try RedisClient(.patient(url)),
            keyspace: keyspace,
            codec: .text,
            coherence: .none
        )
        return level.fetching(options) { [source] _ in try await source.fetch() }
    }

    private func leaseEnds(at server: RedisServer) async throws {
        while try await server.command(bytes: [Array("EXISTS".utf8), names.lease.bytes]).integer == 1 {
            try await nextTurn()
        }
    }

    @Test("cancelled while a store that is refused is on its way: no read waits for the lease")
    func refused() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let cache = try cache(proxy.url)
            let foreign = [Array("SET".utf8), names.value.bytes]
            try await server.command(bytes: foreign + [Array("no envelope, but long enough for a stamp".utf8)])
            let call = Task { try await cache.get("k") }
            await source.gate.arrivals()
            // The clock is known by then, and the server has the script or gets its text.
            _ = try await cache.level.serverClock.offset()
            try await server.command(bytes: foreign + [Array("another one that is no envelope, and is as long".utf8)])
            let before = try await server.calls(of: "eval", "evalsha")
            proxy.stall(.toClient)
            source.gate.open()
            while try await server.calls(of: "eval", "evalsha") == before { try await nextTurn() }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            proxy.resume(.toClient)
            try await leaseEnds(at: server)
            await proxy.stop()
        }
    }

    @Test("cancelled between the fetch and the store: no read waits for the lease")
    func sealing() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            let cache = try cache(proxy.url)
            let call = Task { try await cache.get("k") }
            await source.gate.arrivals()
            let before = try await server.calls(of: "time")
            proxy.stall(.toClient)
            source.gate.open()
            // It asks for the server's time before it stores.
            while try await server.calls(of: "time") == before { try await nextTurn() }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            try await leaseEnds(at: server)
            proxy.resume(.toClient)
            await proxy.stop()
        }
    }

    @Test("the end of a cancelled call's lease is lost with its connection: it is sent again")
    func lostEnd() async throws {
        let asked = AsyncGate()
        let ends = Locked(0)
        let owing = Locked<Set<Int>>([])
        let server = try await ScriptedServer.start(answering: { command, connection in
            switch command[0] {
            case "EVALSHA":
                owing.withLock { _ = $0.insert(connection) }
                asked.open()
                return []
            case "EVAL":
                ends.withLock { $0 += 1 }
                return ends.withLock { $0 < 3 } ? [.reset] : [.send(text: ":0\r\n")]
            default:
                // It would be taken for the answer that the script is owed.
                return owing.withLock { $0.contains(connection) } ? [] : [.send(text: "+PONG\r\n")]
            }
        })
        var configuration = try RedisConfiguration.patient(server.url)
        configuration.commandTimeout = .seconds(600)
        configuration.redisBudget = .seconds(600)
        configuration.healthWindow = .seconds(600)
        let redis = try RedisClient(configuration)
        let call = Task { [keyspace, names] in
            try await Lease.readOrLead(redis, keyspace, names, duration: .seconds(600), replacing: nil)
        }
        try await asked.pass()
        call.cancel()
        await #expect(throws: CancellationError.self) { _ = try await call.value }
        while ends.withLock({ $0 }) < 3 { try await nextTurn() }
        await redis.shutDown()
        await server.stop()
    }

    @Test(
        "the end of a lease is refused, for connections were lost one after the other: nothing is tried without an end"
    )
    func refusedEnd() async throws {
        let isGiven = Locked(false)
        let server = try await ScriptedServer.start(answering: { command, _ in
            if command[0] == "EVALSHA" {
                isGiven.withLock { $0 = true }
                return [.send(text: "*4\r\n:2\r\n$-1\r\n:0\r\n$-1\r\n")]
            }
            return isGiven.withLock { $0 } ? [.reset] : [.send(text: "+PONG\r\n")]
        })
        var configuration = try RedisConfiguration.patient(server.url)
        configuration.commandTimeout = .seconds(600)
        configuration.redisBudget = .seconds(600)
        let redis = try RedisClient(configuration)
        let answer = try await Lease.readOrLead(redis, keyspace, names, duration: .seconds(600), replacing: nil)
        guard case .leads(let lease, _) = answer else {
            Issue.record("no lease")
            return
        }
        while true {
            // A call that is refused is over before it waits.
            let refusal = Locked<RedisError?>(nil)
            let over = AsyncGate()
            let hasReturned = Locked(false)
            redis.post(deadline: MonotonicInstant.coarse.advanced(by: .seconds(600))) { outcome in
                if case .failure(let error) = outcome, !hasReturned.withLock({ $0 }) {
                    refusal.withLock { $0 = error }
                }
                over.open()
            } encode: { writer in
                writer.begin(1)
                writer.argument("PING" as StaticString)
            }
            hasReturned.withLock { $0 = true }
            try await over.pass()
            if let code = refusal.withLock({ $0?.code }), code == .connectionLost { break }
        }
        lease.leave()
        await redis.shutDown()
        await server.stop()
    }

    @Test("a call that has spent its time for Redis ends its lease nonetheless")
    func spent() async throws {
        try await RedisServer.withServer { server in
            let cache = try cache(server.url)
            let redis = cache.level.redis
            let answer = try await Lease.readOrLead(redis, keyspace, names, duration: .seconds(1_000), replacing: nil)
            guard case .leads(let lease, _) = answer else {
                Issue.record("no lease")
                return
            }
            let budget = CallBudget(0)
            await CallBudget.$current.withValue(budget) { await lease.end(.withoutValue) }
            try await leaseEnds(at: server)
        }
    }

    @Test("with several connections the end of a lease cannot overtake what has asked for it")
    func order() async throws {
        let scripts = Locked<[(connection: Int, text: String)]>([])
        let server = try await ScriptedServer.start(answering: { command, connection in
            guard ["EVAL", "EVALSHA"].contains(command[0]) else {
                // Where a script is owed an answer, this would be taken for it.
                let isOwing = scripts.withLock { $0.contains { $0.connection == connection } }
                return isOwing ? [] : [.send(text: "+PONG\r\n")]
            }
            scripts.withLock { $0.append((connection, command[1])) }
            return []
        })
        var configuration = try RedisConfiguration.patient(server.url)
        configuration.connections = 4
        configuration.commandTimeout = .seconds(600)
        configuration.redisBudget = .seconds(600)
        configuration.healthWindow = .seconds(600)
        let redis = try RedisClient(configuration)
        for number in 1...8 {
            let call = Task { [keyspace, names] in
                _ = try await Lease.readOrLead(redis, keyspace, names, duration: .seconds(600), replacing: nil)
            }
            while scripts.withLock({ $0.count }) < 2 * number - 1 { try await nextTurn() }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            while scripts.withLock({ $0.count }) < 2 * number { try await nextTurn() }
            let last = scripts.withLock { Array($0.suffix(2)) }
            #expect(last[0].text == LeaseScripts.readOrLead.digest)
            #expect(last[1].text == LeaseScripts.endWithoutValue.source)
            #expect(last[0].connection == last[1].connection)
        }
        #expect(Set(scripts.withLock { $0.map(\.connection) }).count == 4)
        await redis.shutDown()
        await server.stop()
    }

    @Test("a renewal without an answer is none: the holder learns that its lease is gone")
    func unknownRenewal() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            var configuration = try RedisConfiguration.patient(proxy.url)
            // Renewals end unanswered long before the lease does.
            configuration.commandTimeout = .milliseconds(500)
            configuration.redisBudget = .milliseconds(500)
            let redis = try RedisClient(configuration)
            // The first call waits for the connection.
            while (try? await redis.ping()) == nil { try await nextTurn() }
            let begun = AsyncGate()
            let options = LeaseOptions(duration: .seconds(4), renewalLimit: .seconds(1_000))
            let work = Task { [keyspace] in
                while true {
                    do {
                        return try await redis.withLease("k", in: keyspace, options: options) { lease in
                            begun.open()
                            try await begun.pass()
                            while lease.isHeld { try await nextTurn() }
                        }
                    } catch is RedisError {
                        // A busy machine spends the budget before there is a lease.
                    }
                }
            }
            await begun.arrivals()
            proxy.stall()
            // Ends with the test's time limit if the lease is taken for renewed.
            try await work.value
            await proxy.stop()
        }
    }

    @Test("a renewal whose answer does not come at all is not waited for beyond the lease")
    func hangingRenewal() async throws {
        try await RedisServer.withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            var configuration = try RedisConfiguration.patient(proxy.url)
            configuration.commandTimeout = .seconds(600)
            configuration.redisBudget = .seconds(600)
            configuration.healthWindow = .seconds(600)
            let redis = try RedisClient(configuration)
            let begun = AsyncGate()
            let noticed = AsyncGate()
            let options = LeaseOptions(duration: .milliseconds(300), renewalLimit: .seconds(1_000))
            let work = Task { [keyspace] in
                try await redis.withLease("k", in: keyspace, options: options) { lease in
                    begun.open()
                    try await begun.pass()
                    while lease.isHeld { try await nextTurn() }
                    noticed.open()
                    try await noticed.pass()
                }
            }
            await begun.arrivals()
            proxy.stall()
            await noticed.arrivals()
            work.cancel()
            try? await work.value
            await proxy.stop()
        }
    }
}
