import Strata
import StrataRedis
import StrataTesting
import Testing

@Suite("Levels in Redis conform", .timeLimit(.minutes(5)))
struct RedisConformanceTests {
    /// Lifetimes are left out: what is read before the link stands is kept only as long as the link may stay silent.
    private static let tracked: LevelAbilities = [.absences, .tags]
    /// Longer than this process stands still beside other load: what is fetched without a lease is not stored.
    private static let lease = LeaseOptions(duration: .seconds(60))

    @Test("alone, with and without the invalidation link")
    func alone() async throws {
        let redis = try await TestServer.client()
        let tracked = CacheLevelConformance(abilities: Self.tracked) {
            RedisLevel<String, String>(redis, keyspace: Keyspace(TestServer.uniqueName("conformance")))
        }
        expectNone(await tracked.run())
        let alone = CacheLevelConformance {
            RedisLevel<String, String>(
                redis,
                keyspace: Keyspace(TestServer.uniqueName("conformance")),
                coherence: .none
            )
        }
        expectNone(await alone.run())
    }

    @Test("under a user that may do exactly what a cache needs")
    func leastRights() async throws {
        let rules = AccessRules(for: [.cache], prefix: "least")
        let user = RedisServer.Directive(stringLiteral: "user cache on >pw \(rules)")
        try await RedisServer.withServer(.init(directives: [user])) { server in
            let redis = try TestServer.client(of: server) {
                $0.username = "cache"
                $0.password = Secret("pw")
            }
            @Sendable func level() -> RedisLevel<String, String> {
                RedisLevel(redis, keyspace: Keyspace(TestServer.uniqueName("conformance"), prefix: "least"))
            }
            expectNone(await CacheLevelConformance(abilities: Self.tracked) { level() }.run())
            let fetching = SourceConformance<AnyLevel<String, String>> { source in
                MemoryLevel<String, String>(limit: .entries(1_000))
                    .compose(level().fetching(Self.lease) { (key: String) in try await source(key) }).normalized()
            }
            expectNone(await fetching.run())
            let log = try await server.command("ACL", "LOG").text
            #expect(!log.contains("reason"), "\(log)")
        }
    }

    @Test("below memory, and erased")
    func composed() async throws {
        let redis = try await TestServer.client()
        let suite = CacheLevelConformance(abilities: Self.tracked) {
            MemoryLevel<String, String>(limit: .entries(1_000))
                .compose(RedisLevel(redis, keyspace: Keyspace(TestServer.uniqueName("conformance")), codec: .cbor))
                .normalized()
        }
        expectNone(await suite.run())
    }

    @Test("options mean the same over a source below Redis", arguments: [false, true])
    func source(isBelowMemory: Bool) async throws {
        let redis = try await TestServer.client()
        let suite = SourceConformance<AnyLevel<String, String>> { source in
            let level = RedisLevel<String, String>(redis, keyspace: Keyspace(TestServer.uniqueName("conformance")))
                .fetching(Self.lease) { (key: String) in try await source(key) }
            return isBelowMemory
                ? MemoryLevel<String, String>(limit: .entries(1_000)).compose(level).normalized() : level.normalized()
        }
        expectNone(await suite.run())
    }
}

/// Says what was found, which a comparison with nothing does not.
private func expectNone(_ findings: [ConformanceFinding], sourceLocation: SourceLocation = #_sourceLocation) {
    for finding in findings { Issue.record("\(finding)", sourceLocation: sourceLocation) }
}
