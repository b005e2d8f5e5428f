import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("More reads at once than there are processors", .timeLimit(.minutes(5)))
struct CrowdTests {
    @Test("20 000 reads at once of what a healthy server has are no outage")
    func healthy() async throws {
        try await RedisServer.withServer { server in
            // As a service has it, but that a machine may stand still for seconds.
            var configuration = try RedisConfiguration(url: server.url)
            configuration.connectTimeout = .seconds(100)
            configuration.healthWindow = .seconds(100)
            configuration.redisBudget = .seconds(100)
            configuration.commandTimeout = .seconds(100)
            configuration.breaker.slowAfter = .seconds(100)
            let redis = try RedisClient(configuration)
            let level = RedisLevel<Int, String>(redis, keyspace: Keyspace(TestServer.uniqueName()), codec: .text)
            try await level.ready(within: .seconds(60))
            for key in 0..<100 { try await level.set("value \(key)", for: key) }
            let found = await withTaskGroup(of: Int.self) { group in
                for number in 0..<20_000 {
                    group.addTask {
                        let key = number % 100
                        // One for which there is no room is no error of the server.
                        do {
                            #expect(try await level.get(key) == "value \(key)")
                            return 1
                        } catch {
                            #expect((error as? RedisError)?.code == .overloaded, "\(error)")
                            return 0
                        }
                    }
                }
                return await group.reduce(0, +)
            }
            #expect(found > 0)
            let statistics = redis.outageStatistics
            for role in RedisRole.allCases {
                #expect(statistics.breakers[role]?.openings == 0)
                #expect(statistics.breakers[role]?.refusals == 0)
            }
            await redis.shutDown()
        }
    }
}
