import StrataTesting
import Testing

@testable import StrataRedis

@Suite("The lease for a refresh", .timeLimit(.minutes(5)))
struct RefreshLeaseTests {
    @Test("it is given for the value that is to be replaced; another value is the answer")
    func stamps() async throws {
        try await RedisServer.withServer { server in
            let redis = try TestServer.client(of: server)
            let keyspace: Keyspace = "refresh"
            let names = keyspace.names(for: [1])
            let value = (0..<100).map { UInt8($0) }
            try await redis.set(names.value, value)
            func ask(replacing stamp: [UInt8]) async throws -> Lease.Answer {
                try await Lease.readOrLead(redis, keyspace, names, duration: .seconds(2), replacing: stamp)
            }
            guard case .value(let found) = try await ask(replacing: [UInt8](repeating: 200, count: 16)) else {
                Issue.record("a value that came meanwhile is to be replaced")
                return
            }
            #expect(found == value)
            #expect(try await redis.exists(names.lease) == 0)
            guard case .leads(let lease, failures: 0) = try await ask(replacing: Envelope.stamp(of: value)) else {
                Issue.record("no instance refreshes the value")
                return
            }
            await lease.end(.withoutValue)
        }
    }
}
