import Strata
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("A schedule whose lease is lost", .timeLimit(.minutes(5)))
struct RefreshedLeaseTests {
    private let keyspace = Keyspace(TestServer.uniqueName())
    private let name = TestServer.uniqueName("refresh")
    /// With a lease that is renewed every second or so.
    private let options = RefreshOptions(batch: 1, leaseDuration: .seconds(4), lookInterval: .milliseconds(20))

    private func cache(
        _ redis: RedisClient,
        _ fetch: @escaping @Sendable (String) async throws -> Int?
    ) -> FetchingLevel<String, Int> {
        let lease = LeaseOptions(duration: .seconds(60), renewalLimit: .seconds(600), failureBackOff: nil)
        return RedisLevel<String, Int>(redis, keyspace: keyspace).fetching(lease, fetch)
    }

    /// Takes the lease away, as an eviction does.
    private func dropLease(_ redis: RedisClient) async throws {
        let names = Keyspace("leases").names(for: "refresh:\(name)".keyBytes)
        #expect(try await redis.unlink([names.lease]) == 1)
    }

    @Test("the rest until the next round ends with the lease, and the instance competes again")
    func rest() async throws {
        let redis = try await TestServer.client()
        let refreshed = cache(redis) { _ in 1 }
            .refreshAll(["a"], every: .seconds(36_000), as: name, over: redis, options)
        let running = Task { await refreshed.run() }
        while refreshed.statistics.rounds == 0 { try await nextTurn() }
        try await dropLease(redis)
        // A new lease begins with a round; under the old one that would have come in hours.
        while refreshed.statistics.rounds < 2 { try await nextTurn() }
        running.cancel()
        await running.value
    }

    @Test("it leads no longer while it still fetches, and a round that is cut off does not count")
    func cutOff() async throws {
        let redis = try await TestServer.client()
        let gate = AsyncGate()
        let calls = Shared<[String]>([])
        let refreshed = cache(redis) { key in
            calls.withLock { $0.append(key) }
            try await gate.pass()
            return 1
        }
        .refreshAll(["a", "b"], every: .seconds(36_000), as: name, over: redis, options)
        let running = Task { await refreshed.run() }
        await gate.arrivals()
        try await dropLease(redis)
        while refreshed.statistics.isLeading { try await nextTurn() }
        #expect(calls.withLock { $0 } == ["a"])
        gate.open()
        while refreshed.statistics.rounds == 0 { try await nextTurn() }
        #expect(calls.withLock { $0.contains("b") })
        running.cancel()
        await running.value
    }
}
