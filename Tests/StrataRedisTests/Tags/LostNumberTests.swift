import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Numbers that a server has lost", .timeLimit(.minutes(5)))
struct LostNumberTests {
    @Test("an entry from after the last number is of a server that had more, and void")
    func future() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            let level = RedisLevel<String, String>(redis, keyspace: "lost", coherence: .none)
            let last = try await level.shared.tags.ask(redis).sequence
            let verdicts = try await level.shared.tags.admits([(last, []), (last + 1, [])], nil, redis)
            #expect(verdicts == [true, false])
        }
    }
}
