import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("What a call may spend on Redis", .timeLimit(.minutes(5)))
struct CallBudgetTests {
    @Test("a step may take what is left and what one command may take, whichever is less; then none is made")
    func limits() throws {
        var configuration = try RedisConfiguration(url: "redis://127.0.0.1:1")
        configuration.commandTimeout = .nanoseconds(300)
        configuration.redisBudget = .nanoseconds(1_000)
        let control = OutageControl(configuration, logger: nil)
        let budget = CallBudget(control.budget)
        #expect(try control.limit(budget) == 300)
        budget.spend(600)
        #expect(try control.limit(budget) == 300)
        budget.spend(300)
        #expect(try control.limit(budget) == 100)
        budget.spend(-50)
        #expect(try control.limit(budget) == 100, "time does not run backwards")
        budget.spend(150)
        let error = #expect(throws: RedisError.self) { try control.limit(budget) }
        #expect(error?.code == .budgetSpent)
        #expect(try control.limit(nil) == 300)
    }

    @Test("what a step takes is charged, also when it fails; the next one is not made when nothing is left")
    func charges() async throws {
        let redis = try await TestServer.client()
        try await redis.ping()
        let budget = CallBudget(.max)
        try await CallBudget.$current.withValue(budget) {
            try await redis.guarding(.read) { _ in try await redis.ping() }
            let left = budget.left
            #expect(left < .max)
            await #expect(throws: RedisError.self) {
                try await redis.guarding(.read) { _ in try await redis.send("NONSENSE") }
            }
            #expect(budget.left < left)
            budget.spend(budget.left)
            let error = await #expect(throws: RedisError.self) {
                try await redis.guarding(.read) { _ in Issue.record("a step without time") }
            }
            #expect(error?.code == .budgetSpent)
        }
    }

    @Test("steps at the same time are charged for as long as they take together, and each may take what is left")
    func together() async throws {
        let hour: Int64 = 3_600_000_000_000
        let budget = CallBudget(hour)
        try await CallBudget.$current.withValue(budget) {
            try await CallBudget.together {
                let step = try #require(CallBudget.current)
                step.spend(hour)
                #expect(step.left == hour)
                try await CallBudget.apart {
                    let chain = try #require(CallBudget.current)
                    chain.spend(hour / 2)
                    #expect(chain.left == hour / 2)
                }
                #expect(step.left == hour)
            }
        }
        #expect(budget.left < hour && budget.left > hour / 2)
        await CallBudget.together { #expect(CallBudget.current == nil) }
    }

    /// A server that answers nothing but what a test has an answer to.
    private func server(
        _ answer: @escaping @Sendable (_ command: String) -> [ScriptedServer.Step]
    ) async throws -> ScriptedServer {
        try await ScriptedServer.start(answering: { command, _ in
            switch command[0] {
            case "PING":
                [.send(text: command.count > 1 ? "$\(command[1].utf8.count)\r\n\(command[1])\r\n" : "+PONG\r\n")]
            case "HELLO", "CLIENT": [.send(text: "+OK\r\n")]
            case "TIME": [.send(text: "*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n")]
            default: answer(command[0])
            }
        })
    }

    private static let marks = ScriptedServer.Step.send(text: "*3\r\n$1\r\n5\r\n$1\r\n0\r\n$1\r\n0\r\n")

    @Test("marks that are read beside a value are charged with it, and not once more")
    func besideMarks() async throws {
        let server = try await server { command in
            // In one order or the other, the second answer comes when both pauses are over.
            [.pause(.milliseconds(50)), command == "GET" ? .send(text: "$-1\r\n") : Self.marks]
        }
        let redis = try TestServer.client(of: server.url)
        let level = RedisLevel<String, String>(redis, keyspace: "test", coherence: .none)
        try await redis.ping()
        let budget = CallBudget(3_600_000_000_000)
        let start = MonotonicInstant.now
        _ = try await CallBudget.$current.withValue(budget) { try await level.look(up: level.names(for: "k"), .init()) }
        let elapsed = start.nanoseconds(to: .now)
        let spent = 3_600_000_000_000 - budget.left
        #expect(spent >= 90_000_000 && spent <= elapsed, "\(spent) of \(elapsed)")
        await redis.shutDown()
        await server.stop()
    }

    @Test("what a write waits until it may be sent once more is charged")
    func repeatedWrite() async throws {
        let writes = Shared(0)
        let server = try await server { command in
            guard command == "EVALSHA" else { return [Self.marks] }
            return writes.next() == 1 ? [.close] : [.send(text: ":1\r\n")]
        }
        let redis = try TestServer.client(of: server.url) { $0.commandTimeout = .seconds(16) }
        let level = RedisLevel<String, String>(redis, keyspace: "test", coherence: .none)
        try await redis.ping()
        let budget = CallBudget(3_600_000_000_000)
        var arrival = MonotonicInstant.distantPast
        let entry = Entry(value: "v")
        try await CallBudget.$current.withValue(budget) {
            try await level.write(entry, level.names(for: "k"), &arrival)
        }
        #expect(writes.withLock { $0 } == 2)
        // The first attempt could be applied for half of the time that a command has. A busy machine is slow to learn
        // that it is over, and the wait is shorter.
        #expect(3_600_000_000_000 - budget.left >= 1_000_000_000)
        await redis.shutDown()
        await server.stop()
    }

    @Test("what a key of a batch waits for the read of all is charged to the key's call")
    func sharedRead() async throws {
        let server = try await server { command in
            switch command {
            case "MGET": [.pause(.milliseconds(100)), .send(text: "*1\r\n$-1\r\n")]
            case "HMGET": [Self.marks]
            default: [.send(text: "-ERR none\r\n")]
            }
        }
        let redis = try TestServer.client(of: server.url)
        let level = RedisLevel<String, String>(redis, keyspace: "test", coherence: .none)
        try await redis.ping()
        let left = Shared(Int64.max)
        let fetching = level.fetching { key in
            left.withLock { $0 = CallBudget.current?.left ?? .max }
            return key
        }
        #expect(try await fetching.get(["k"]) == ["k"])
        let spent = redis.outage.budget - left.withLock { $0 }
        #expect(spent >= 50_000_000, "\(spent)")
        await redis.shutDown()
        await server.stop()
    }

    @Test("the touch of a key that is fetched past Redis takes what is left of the call, and no more")
    func touch() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server) { $0.tracking = .perKey }
            let level = RedisLevel<String, String>(redis, keyspace: "test")
            try await level.ready()
            let names = level.names(for: "k")
            let ticket = level.shared.ticket(for: names.fingerprint)
            #expect(!ticket.isTimed)
            let told = { (nanoseconds: Int64) in
                await CallBudget.$current.withValue(CallBudget(nanoseconds)) { await level.isTold(of: names, ticket) }
            }
            #expect(await told(60_000_000_000))
            #expect(await !told(0))
            await redis.shutDown()
        }
    }

    @Test("a call of a level that no reply comes to ends with its budget, and the source answers")
    func silentServer() async throws {
        // A command may take longer than the test.
        let server = try await ScriptedServer.start(answering: { command, _ in
            ["HELLO", "PING", "CLIENT"].contains(command[0]) ? [.send(text: "+PONG\r\n")] : [.hang]
        })
        var configuration = try RedisConfiguration(url: server.endpoint.url)
        configuration.commandTimeout = .seconds(600)
        configuration.connectTimeout = .seconds(20)
        configuration.healthWindow = .seconds(600)
        configuration.redisBudget = .milliseconds(50)
        let redis = try RedisClient(configuration)
        let level = RedisLevel<String, String>(redis, keyspace: "test", coherence: .none)
        #expect(try await level.fetching { _ in "source" }.get("k") == "source")
        for attempt in [
            { try await _ = level.get("k") }, { try await level.set("v", for: "k") }, { try await level.remove("k") },
        ] as [() async throws -> Void] {
            let error = await #expect(throws: RedisError.self) { try await attempt() }
            #expect(error?.code == .timeout)
        }
        await redis.shutDown()
        await server.stop()
    }

    @Test("a source that is a cache itself has a budget of its own")
    func nested() async throws {
        let (outer, inner) = (try await TestServer.client(), try await TestServer.client())
        let below = RedisLevel<String, String>(inner, keyspace: Keyspace(TestServer.uniqueName()), coherence: .none)
        try await below.set("value", for: "k")
        let above = RedisLevel<String, String>(outer, keyspace: Keyspace(TestServer.uniqueName()), coherence: .none)
            .fetching { key in
                // Whatever the outer call has spent by now.
                let budget = try #require(CallBudget.current)
                budget.spend(budget.left)
                return try await below.get(key)
            }
        #expect(try await above.get("k") == "value")
        #expect(above.level.statistics.stores == 0, "the outer call had nothing left to store with")
        #expect(inner.outageStatistics.isImpaired == false)
    }
}
