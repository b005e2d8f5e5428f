import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("What memory has while nothing tells of removals", .timeLimit(.minutes(5)))
struct UntrustedSpareTests {
    enum Trouble: CaseIterable {
        case failing, slow
    }

    private struct SourceIsDown: Error {}

    private let keyspace = Keyspace(TestServer.uniqueName())

    @Test(
        "of what Redis has not got any more nothing is served in the place of a source that fails or is slow",
        arguments: Trouble.allCases,
        [false, true]
    )
    func removed(trouble: Trouble, isBatch: Bool) async throws {
        let user = RedisServer.Directive(stringLiteral: "user app on >pw ~* &* +@all -client|tracking")
        try await RedisServer.withServer(.init(directives: [user])) { server in
            let policy = FreshnessPolicy(
                freshFor: .seconds(600),
                staleIfError: .seconds(3_600),
                softTimeout: .milliseconds(50),
                hardTimeout: .seconds(30)
            )
            var configuration = try RedisConfiguration.patient(server.url)
            (configuration.username, configuration.password) = ("app", Secret("pw"))
            configuration.linkPingInterval = .milliseconds(100)
            configuration.linkPingTimeout = .milliseconds(100)
            let redis = try RedisClient(configuration)
            let (calls, gate) = (Shared(0), AsyncGate())
            let level = RedisLevel<String, String>(redis, keyspace: keyspace, codec: .text, freshness: policy)
                .fetching { _ in
                    calls.withLock { $0 += 1 }
                    guard calls.withLock({ $0 }) > 1 else { return "old" }
                    if trouble == .failing { throw SourceIsDown() }
                    try await gate.pass()
                    return "new"
                }
            let cache = MemoryLevel<String, String>(limit: .entries(10)).compose(level)
            @Sendable func read() async throws -> String? {
                try await isBatch ? cache.get(["k", "other"])[0] : cache.get("k")
            }
            #expect(try await cache.get("k") == "old")
            let other = RedisLevel<String, String>(
                try TestServer.client(of: server),
                keyspace: keyspace,
                codec: .text
            )
            try await other.set("other", for: "other")
            try await other.remove("k")
            while cache.resident("k", at: .coarse) != nil { try await nextTurn() }
            switch trouble {
            case .failing: await #expect(throws: SourceIsDown.self) { try await read() }
            case .slow:
                let reading = Task { try await read() }
                await gate.arrivals()
                try await Task.pause(for: .milliseconds(200))
                gate.open()
                #expect(try await reading.value == "new")
            }
        }
    }
}
