#if ServiceLifecycle
import ServiceLifecycle
import ServiceLifecycleTestKit
import Strata
import StrataTestSupport
import StrataTesting
import Testing

@testable import StrataRedis

@Suite("Named caches as a service", .timeLimit(.minutes(5)))
struct RedisCachesServiceTests {
    private func caches(_ log: LogRecorder) async throws -> RedisCaches {
        var plan = CachePlan()
        plan.defaults.prefix = TestServer.uniqueName()
        plan.defaults.freshness.hardTimeout = .milliseconds(1)
        plan.defaults.leases.duration = .seconds(50)
        return RedisCaches(try await TestServer.client(), plan, logger: log.logger)
    }

    @Test("run tells when the caches are ready, lets background work end, and shuts the client down after it")
    func graceful() async throws {
        let log = LogRecorder()
        let caches = try await caches(log)
        let gate = AsyncGate()
        let numbers = try caches.makeCache("numbers") { (key: Int) in
            try await gate.pass()
            return key
        }
        try await testGracefulShutdown { trigger in
            async let ended: Void = caches.run()
            while !log.lines.contains(where: { $0.text.contains("are ready") }) { try await nextTurn() }
            // Its caller has given up; the fetch goes on.
            await #expect(throws: (any Error).self) { try await numbers.get(1) }
            await gate.arrivals()
            trigger.triggerGracefulShutdown()
            try await nextTurn()
            // The client works until the caches are done.
            try await caches.redis.ping()
            gate.open()
            try await ended
        }
        #expect(numbers.lower.level.statistics.stores == 1)
        await #expect { try await caches.redis.ping() } throws: { ($0 as? RedisError)?.code == .shutDown }
    }

    @Test("a cancelled task ends both at once")
    func cancelled() async throws {
        let caches = try await caches(LogRecorder())
        _ = try caches.cache("numbers", Int.self, Int.self)
        let task = Task { try await caches.run() }
        try await caches.ready()
        task.cancel()
        try await task.value
        await #expect { try await caches.redis.ping() } throws: { ($0 as? RedisError)?.code == .shutDown }
    }
}
#endif
