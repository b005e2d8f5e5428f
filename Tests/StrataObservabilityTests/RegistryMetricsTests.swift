#if Observability
import MetricsTestKit
import Strata
import Testing

@testable import StrataObservability

@Suite("Metrics of all caches of a registry", .timeLimit(.minutes(5)))
struct RegistryMetricsTests {
    private typealias Numbers = Composed<MemoryLevel<Int, Int>, Source<Int, Int>>

    private func numbers() -> Numbers { MemoryLevel(limit: .entries(10)).compose(Source { $0 }) }

    private func requests(_ exported: TestMetrics, _ name: String) -> Int {
        exported.counters(label: "cache.requests", dimensions: [("cache.name", name)]).count
    }

    @Test("each is exported by its name, also one that comes later; one that has left ends")
    func follows() async throws {
        let exported = TestMetrics()
        let metrics = CacheMetrics(factory: exported)
        let caches = CacheRegistry()
        let first = try caches.cache("first") { numbers() }
        try metrics.add(caches)
        _ = try await first.get(1)
        let later = try caches.cache("later") { numbers() }
        metrics.record()
        _ = try await later.get(1)
        metrics.record()
        #expect(requests(exported, "first") > 0 && requests(exported, "later") > 0)
        caches.remove("later")
        metrics.record()
        #expect(requests(exported, "later") == 0 && requests(exported, "first") > 0)
        // Another one of the name is another one.
        let again = try caches.cache("later") { numbers() }
        metrics.record()
        _ = try await again.get(1)
        metrics.record()
        #expect(requests(exported, "later") > 0)
    }

    @Test("a cache that is exchanged between two readings is followed")
    func exchanged() async throws {
        let exported = TestMetrics()
        let metrics = CacheMetrics(factory: exported)
        let caches = CacheRegistry()
        _ = try caches.cache("one") { numbers() }
        try metrics.add(caches)
        metrics.record()
        #expect(exported.level("cache.limit", [("cache.name", "one"), ("cache.level", "memory")]) == 10)
        caches.remove("one")
        _ = try caches.cache("one") {
            MemoryLevel<Int, Int>(limit: .entries(77)).compose(Source<Int, Int> { $0 })
        }
        metrics.record()
        #expect(exported.level("cache.limit", [("cache.name", "one"), ("cache.level", "memory")]) == 77)
    }

    @Test("a name that another cache has is refused, and then none is added")
    func taken() throws {
        let exported = TestMetrics()
        let metrics = CacheMetrics(factory: exported)
        try metrics.add(numbers(), as: "b")
        let caches = CacheRegistry()
        for name in ["a", "b", "c"] { try caches.add(numbers(), as: name) }
        #expect { try metrics.add(caches) } throws: { ($0 as? ObservabilityError)?.code == .nameTaken }
        #expect(!metrics.remove("a") && !metrics.remove("c"))
        #expect(metrics.remove("b"))
        try metrics.add(caches)
        #expect(metrics.remove("a"))
    }
}
#endif
