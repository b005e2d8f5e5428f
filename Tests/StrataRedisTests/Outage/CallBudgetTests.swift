import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("What a call may spend on Redis", .timeLimit(.minutes(1)))
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

    @Test("a call of a level that no reply comes to ends with its budget, and the source answers")
    func silentServer() async throws {
        // A command may take longer than the test.
        let server = try await ScriptedServer.start(answering: { command, _ in
            ["HELLO", "PING", "CLIENT"].contains(command[0]) ? [.send(text: "+PONG\r\n")] : [.hang]
        })
        var configuration = try RedisConfiguration(url: server.endpoint.url)
        configuration.commandTimeout = .seconds(600)
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
