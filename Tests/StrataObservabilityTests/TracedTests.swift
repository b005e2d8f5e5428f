#if Observability
import InMemoryTracing
import Strata
import StrataRedis
import StrataTesting
import Testing
import Tracing

@testable import StrataObservability

@Suite("Spans of reads", .timeLimit(.minutes(5)))
struct TracedTests {
    private let tracer = InMemoryTracer(idGenerator: .incrementing)

    private func spans(_ name: String) -> [FinishedInMemorySpan] {
        tracer.finishedSpans.filter { $0.operationName == name }
    }

    private func text(_ span: FinishedInMemorySpan, _ attribute: String) -> String? {
        guard case .string(let text) = span.attributes.get(attribute) else { return nil }
        return text
    }

    private func redisLevel() async throws -> RedisLevel<Int, String> {
        let level = RedisLevel<Int, String>(
            try Observed.client(await RedisServer.shared().url),
            keyspace: Keyspace(Observed.uniqueName()),
            codec: .text
        )
        // What is read from the first moment on is kept in memory.
        try await level.ready(within: .seconds(60))
        return level
    }

    @Test("a miss is a span under the caller's, its fetch a span under that, the source's under that; a hit is none")
    func tree() async throws {
        let tracer = tracer
        let cache = MemoryLevel<Int, String>(limit: .entries(10))
            .compose(
                try await redisLevel()
                    .fetching(LeaseOptions(duration: .seconds(60))) { key in
                        tracer.withSpan("query") { _ in "value \(key)" }
                    }
                    .traced(as: "products", tracer: tracer)
            )
        let values = try await tracer.withSpan("request") { _ in
            [try await cache.get(1), try await cache.get(1)]
        }
        #expect(values == ["value 1", "value 1"])
        let request = try #require(spans("request").first)
        let get = try #require(spans("cache get").first)
        let fetch = try #require(spans("cache fetch").first)
        let query = try #require(spans("query").first)
        #expect(tracer.finishedSpans.count == 4)
        #expect(get.parentSpanID == request.spanID)
        #expect(fetch.parentSpanID == get.spanID)
        #expect(query.parentSpanID == fetch.spanID)
        #expect(Set([request, get, fetch, query].map(\.traceID)).count == 1)
        #expect(text(get, "cache.name") == "products")
        #expect(text(get, "cache.result") == "fetched")
        #expect(text(get, "cache.level") == "source")
        #expect(text(get, "cache.key.hash")?.count == 16)
        #expect(get.events.map(\.name) == ["miss", "fetched", "stored"])
        #expect(get.events.first?.attributes.get("cache.reason") == "absent".toSpanAttribute())
        #expect(get.status == nil)
        // Neither key nor value stands anywhere.
        #expect(!tracer.finishedSpans.contains { "\($0.attributes)".contains("value 1") })
    }

    @Test("the source that a call brings has its span under the read's")
    func callSource() async throws {
        let tracer = tracer
        let cache = MemoryLevel<Int, String>(limit: .entries(10))
            .compose(
                try await redisLevel()
                    .fetchingPerCall(LeaseOptions(duration: .seconds(60)))
                    .traced(as: "products", tracer: tracer)
            )
        let value: String = try await cache.get(1) { tracer.withSpan("query") { _ in "value" } }
        #expect(value == "value")
        let get = try #require(spans("cache get").first)
        let fetch = try #require(spans("cache fetch").first)
        let query = try #require(spans("query").first)
        #expect(fetch.parentSpanID == get.spanID && query.parentSpanID == fetch.spanID)
        #expect(text(get, "cache.result") == "fetched")
    }

    @Test("what Redis has is a span without a fetch")
    func redisHit() async throws {
        let level = try await redisLevel()
        try await level.set("value", for: 1)
        let cache = level.fetching { _ in "fetched" }.traced(as: "c", tracer: tracer)
        #expect(try await cache.get(1) == "value")
        #expect(tracer.finishedSpans.map(\.operationName) == ["cache get"])
        let get = try #require(tracer.finishedSpans.first)
        #expect(text(get, "cache.result") == "hit")
        #expect(text(get, "cache.level") == "redis")
    }

    @Test("an error is noted in both spans, by its kind")
    func failure() async throws {
        struct Secret: Error, CustomStringConvertible { var description: String { "the password is 1234" } }
        let thrown = ClosureFetcher<Int, String> { _ in throw Secret() }.traced(as: "c", tracer: tracer)
        await #expect(throws: Secret.self) { try await thrown.get(1) }
        let returned = Source<Int, String> { _, _ in .failure(Secret()) }.traced(as: "c", tracer: tracer)
        await #expect(throws: Secret.self) { try await returned.get(1) }
        #expect(spans("cache get").count == 2)
        #expect(spans("cache fetch").count == 2)
        for span in tracer.finishedSpans {
            #expect(text(span, "error.type") == "Secret")
            #expect(span.status == SpanStatus(code: .error, message: "Secret"))
            #expect(span.errors.isEmpty)
        }
    }

    @Test("a source that throws CancellationError by itself has failed, and a caller that has left has not")
    func cancellations() async throws {
        let own = ClosureFetcher<Int, String> { _ in throw CancellationError() }.traced(as: "c", tracer: tracer)
        await #expect(throws: CancellationError.self) { try await own.get(1) }
        for span in tracer.finishedSpans { #expect(span.status?.code == .error) }
        let gate = AsyncGate()
        let slow = ClosureFetcher<Int, String> { _ in
            try await gate.pass()
            return ""
        }
        .traced(as: "slow", tracer: tracer)
        let read = Task { try await slow.get(1) }
        await gate.arrivals()
        read.cancel()
        await #expect(throws: CancellationError.self) { try await read.value }
        let left = tracer.finishedSpans.filter { text($0, "cache.name") == "slow" }
        #expect(!left.isEmpty && left.allSatisfy { $0.status == nil })
    }

    @Test("whether a value is stale goes by the cache's clock")
    func clock() async throws {
        let clock = ManualClock()
        let fails = Locked(false)
        let level = clock.driving {
            MemoryLevel<Int, String>(limit: .entries(4))
                .compose(
                    Source(
                        freshness: FreshnessPolicy(freshFor: .seconds(10), staleIfError: .seconds(600), jitter: 0),
                        failureBackOff: nil
                    ) { _ in
                        if fails.withLock({ $0 }) { throw CancellationError() }
                        return "value"
                    }
                )
        }
        let cache = level.traced(as: "c", tracer: tracer)
        #expect(try await cache.get(1) == "value")
        try clock.advance(by: .seconds(20))
        fails.withLock { $0 = true }
        #expect(try await cache.get(1) == "value")
        #expect(spans("cache get").map { text($0, "cache.result") } == ["fetched", "stale"])
    }

    @Test("a read that joins another is linked to its span, and fetches nothing")
    func joiner() async throws {
        let gate = AsyncGate()
        let level = try await redisLevel()
        // Before the link stands, later reads do not join the flights of earlier ones.
        #expect(try await level.get(0) == nil)
        while level.redis.outageStatistics.untrustedReason != nil { try await nextTurn() }
        let base = level.fetching { key in
            try await gate.pass()
            return "value \(key)"
        }
        let cache = base.traced(as: "c", tracer: tracer)
        async let first = cache.get(1)
        await gate.arrivals()
        async let second = cache.get(1)
        while base.waiting < 2 { try await nextTurn() }
        gate.open()
        let values = try await [first, second]
        #expect(values == ["value 1", "value 1"])
        let gets = spans("cache get")
        let fetch = try #require(spans("cache fetch").first)
        #expect(gets.count == 2)
        #expect(spans("cache fetch").count == 1)
        let leader = try #require(gets.first { $0.spanID == fetch.parentSpanID })
        let joiner = try #require(gets.first { $0.spanID != fetch.parentSpanID })
        #expect(leader.links.isEmpty)
        #expect(joiner.links.map(\.context.inMemorySpanContext?.spanID) == [leader.spanID])
        #expect(joiner.traceID != leader.traceID)
        // The leader has left: the next read leads by itself.
        #expect(try await cache.get(2) == "value 2")
        #expect(spans("cache get").last?.links.isEmpty == true)
    }

    @Test("a batch is one span, and one fetch of several is one span")
    func batch() async throws {
        let level = try await redisLevel()
        try await level.set("set", for: 1)
        let cache =
            level.fetchingSeveral { keys in
                Dictionary(uniqueKeysWithValues: keys.map { ($0, "value \($0)") })
            }
            .traced(as: "c", tracer: tracer)
        #expect(try await cache.get([1, 2, 3]) == ["set", "value 2", "value 3"])
        let get = try #require(spans("cache get").first)
        #expect(spans("cache get").count == 1)
        #expect(spans("cache fetch").map(\.parentSpanID) == [get.spanID])
        #expect(get.attributes.get("cache.keys") == 3.toSpanAttribute())
        #expect(get.attributes.get("cache.hits") == 3.toSpanAttribute())
    }

    @Test("a traced source is a source: a read that must not ask one leaves it out; metrics see the level inside")
    func transparent() async throws {
        let source = Source<Int, String> { "value \($0)" }
        let cache = MemoryLevel<Int, String>(limit: .entries(10)).compose(source.traced(as: "c", tracer: tracer))
        #expect(try await cache.get(1, .cached) == nil)
        #expect(tracer.finishedSpans.isEmpty)
        #expect(cache.label.nodes.map(\.path) == ["composed", "composed.memory", "composed.source"])
        #expect(try await cache.get(1) == "value 1")
        #expect(spans("cache fetch").count == 1)
    }

    @Test("without a tracer there are values and no spans")
    func noTracer() async throws {
        let cache = ClosureFetcher<Int, String> { "value \($0)" }.traced(as: "c", tracer: NoOpTracer())
        #expect(try await cache.get(1) == "value 1")
        #expect(try await cache.get([2]) == ["value 2"])
    }

    @Test("a traced level keeps what levels promise")
    func conformance() async {
        let tracer = tracer
        let suite = CacheLevelConformance<Traced<MemoryLevel<String, String>>> {
            MemoryLevel(limit: .entries(1_000)).traced(as: "c", tracer: tracer)
        }
        for finding in await suite.run() { Issue.record("\(finding)") }
        #expect(tracer.activeSpans.isEmpty)
    }
}
#endif
