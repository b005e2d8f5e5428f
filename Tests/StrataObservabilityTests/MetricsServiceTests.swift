#if Observability && ServiceLifecycle
import MetricsTestKit
import ServiceLifecycle
import ServiceLifecycleTestKit
import Strata
import StrataObservability
import StrataTesting
import Testing

@Suite("Metrics as a service", .timeLimit(.minutes(5)))
struct MetricsServiceTests {
    @Test("graceful shutdown ends a run, which reads once more")
    func graceful() async throws {
        let level = ReportingLevel()
        level.counters.withLock { $0 = [.init("hits", 1)] }
        let exported = TestMetrics()
        let metrics = CacheMetrics(interval: .seconds(3_600), factory: exported)
        try metrics.add(level, as: "c")
        let service: any Service = metrics
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await service.run() }
                while exported.count("cache.requests") != 1 { try await nextTurn() }
                level.counters.withLock { $0 = [.init("hits", 3)] }
                trigger.triggerGracefulShutdown()
                try await group.waitForAll()
            }
        }
        #expect(exported.count("cache.requests") == 3)
    }
}
#endif
