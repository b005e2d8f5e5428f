import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataRedis

/// A source that holds up the thread it runs on, as none should.
private final class BlockingSource: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    /// Lets one fetch go on.
    func release() { semaphore.signal() }

    func fetch() -> String {
        semaphore.wait()
        return "value"
    }
}

// One after the other: on few cores several blocked threads would be all that there are.
@Suite("A source that blocks its thread", .serialized, .timeLimit(.minutes(5)))
struct BlockingSourceTests {
    private let source = BlockingSource()
    private let policy = FreshnessPolicy(hardTimeout: .milliseconds(20))

    /// The wait limit of the caller ends while the source still blocks; the value is there once it has come.
    private func expectTimeout(_ cache: some CacheLevel<String, String>) async throws {
        let error = await #expect(throws: CacheError.self) { try await cache.get("k") }
        #expect(error?.code == .timeout)
        source.release()
        await cache.drain(within: .seconds(30))
    }

    @Test("costs a thread and not the caller's time")
    func alone() async throws {
        let cache = MemoryLevel<String, String>(limit: .entries(8))
            .compose(Source(freshness: policy) { [source] _ in source.fetch() })
        try await expectTimeout(cache)
    }

    @Test("costs a thread and not the caller's time, below Redis", arguments: [true, false])
    func belowRedis(isReachable: Bool) async throws {
        let redis = isReachable ? try await TestServer.client() : try RedisClient("redis://127.0.0.1:1")
        let level = RedisLevel<String, String>(
            redis,
            keyspace: Keyspace(TestServer.uniqueName()),
            codec: .text,
            freshness: policy
        )
        let cache = level.fetching(.lasting) { [source] _ in source.fetch() }
        try await expectTimeout(cache)
        if isReachable { #expect(try await level.get("k") == "value") }
    }
}
