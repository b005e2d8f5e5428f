import Strata
import StrataRedis
import StrataTesting
import Testing

@Suite("Levels in Redis conform", .timeLimit(.minutes(2)))
struct RedisConformanceTests {
    @Test("alone")
    func alone() async throws {
        let redis = try await TestServer.client()
        let suite = CacheLevelConformance {
            RedisLevel<String, String>(redis, keyspace: Keyspace(TestServer.uniqueName("conformance")))
        }
        #expect(await suite.run() == [])
    }

    @Test("below memory, and erased")
    func composed() async throws {
        let redis = try await TestServer.client()
        let suite = CacheLevelConformance {
            MemoryLevel<String, String>(limit: .entries(1_000))
                .compose(RedisLevel(redis, keyspace: Keyspace(TestServer.uniqueName("conformance")), codec: .cbor))
                .normalized()
        }
        #expect(await suite.run() == [])
    }
}
