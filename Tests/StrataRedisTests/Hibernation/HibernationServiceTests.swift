#if ServiceLifecycle
import Logging
import ServiceLifecycle
import ServiceLifecycleTestKit
import Strata
import StrataRedis
import StrataTestSupport
import StrataTesting
import Testing

@Suite("A cache whose memory is hibernated when its application ends", .timeLimit(.minutes(5)))
struct HibernationServiceTests {
    private func cache() async throws -> Composed<MemoryLevel<String, String>, RedisLevel<String, String>> {
        let level = RedisLevel<String, String>(
            try await TestServer.client(),
            keyspace: Keyspace(TestServer.uniqueName()),
            codec: .text
        )
        try await level.ready()
        let cache = MemoryLevel<String, String>(limit: .entries(9)).compose(level)
        try await cache.set("v", for: "k")
        return cache
    }

    /// No machine is too slow for them.
    private let limits = HibernationLimits(duration: .seconds(600))

    @Test("graceful shutdown writes the file, and a cancellation does not")
    func ends() async throws {
        let folder = try ScratchFolder()
        let cache = try await cache()
        let task = Task { await HibernationService(cache, to: folder.file, limits: limits).run() }
        task.cancel()
        await task.value
        #expect(folder.names.isEmpty)
        await testGracefulShutdown { trigger in
            async let service: Void = HibernationService(cache, to: folder.file, limits: limits).run()
            trigger.triggerGracefulShutdown()
            await service
        }
        #expect(folder.names == ["cache.warm"])
        #expect(try await cache.restore(from: folder).held == 1)
    }

    @Test("a failure is logged, and nothing fails")
    func fails() async throws {
        let log = LogRecorder()
        let cache = try await cache()
        await testGracefulShutdown { trigger in
            async let service: Void = HibernationService(cache, to: "/proc/nowhere/x", logger: log.logger).run()
            trigger.triggerGracefulShutdown()
            await service
        }
        #expect(log.lines.contains { $0.level == .warning && $0.text.contains("cold") })
    }
}
#endif
