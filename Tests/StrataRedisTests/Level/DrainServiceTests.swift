#if ServiceLifecycle
import ServiceLifecycle
import ServiceLifecycleTestKit
import Strata
import StrataRedis
import Testing

@Suite("A cache that is drained when its application ends", .timeLimit(.minutes(5)))
struct DrainServiceTests {
    /// Takes down how it was drained.
    private final class Level: CacheLevel {
        private let state = Locked<[Duration]>([])

        var drains: [Duration] { state.withLock { $0 } }

        func entry(for key: String, _ request: ReadRequest) async throws -> Entry<Int>? { nil }
        func store(_ entry: Entry<Int>, for key: String) async throws {}
        func remove(_ key: String) async throws {}
        func removeAll() async throws {}
        func drain(within limit: Duration) async { state.withLock { $0.append(limit) } }
    }

    @Test("graceful shutdown drains within the limit")
    func graceful() async throws {
        let level = Level()
        try await testGracefulShutdown { trigger in
            async let service: Void = DrainService(level, within: .seconds(3)).run()
            trigger.triggerGracefulShutdown()
            try await service
        }
        #expect(level.drains == [.seconds(3)])
    }

    @Test("cancellation gives up at once what goes on")
    func cancelled() async throws {
        let level = Level()
        let task = Task { try await DrainService(level).run() }
        task.cancel()
        try await task.value
        #expect(level.drains == [.zero])
    }
}
#endif
