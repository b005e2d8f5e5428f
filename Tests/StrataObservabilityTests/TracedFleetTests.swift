#if Observability
import InMemoryTracing
import Strata
import StrataRedis
import StrataTesting
import Testing
import Tracing

@testable import StrataObservability

@Suite("Spans of reads that wait for another instance", .timeLimit(.minutes(5)))
struct TracedFleetTests {
    private typealias Cache = Traced<FetchingLevel<Int, String>>

    private let tracers = [TraceContextTracer(1), TraceContextTracer(2)]
    private let keyspace = Keyspace(Observed.uniqueName())
    private let gate = AsyncGate()

    private func spans(_ instance: Int, _ name: String = "cache get") -> [FinishedInMemorySpan] {
        tracers[instance].spans.finishedSpans.filter { $0.operationName == name }
    }

    private func links(_ span: FinishedInMemorySpan) -> [String?] {
        span.links.map(\.context.inMemorySpanContext?.spanID)
    }

    private func level(_ url: String, _ name: String) throws -> RedisLevel<Int, String> {
        RedisLevel(try Observed.client(url) { $0.instanceName = name }, keyspace: keyspace, codec: .text)
    }

    /// The cache of an instance, whose source waits at the gate.
    private func cache(_ url: String, _ instance: Int) throws -> Cache {
        try level(url, "web-\(instance)")
            .fetching(LeaseOptions(duration: .seconds(50))) { [gate] key in
                try await gate.pass()
                return "value \(key)"
            }
            .traced(as: "c", tracer: tracers[instance])
    }

    /// The lease of a key that is being fetched.
    private func lease(of key: Int, _ server: RedisServer) async throws -> [UInt8] {
        guard case .bulk(let bytes) = try await server.command("GET", "\(keyspace):l:{\(key)}") else { return [] }
        return bytes
    }

    @Test("the span of the read that has waited is linked to the span of the read that fetches, in its own trace")
    func linked() async throws {
        try await RedisServer.withServer { server in
            let (one, two) = (try cache(server.url, 0), try cache(server.url, 1))
            let first = Task { try await one.get(1) }
            await gate.arrivals()
            let second = Task { try await two.get(1) }
            while two.base.level.statistics.waits == 0 { try await nextTurn() }
            gate.open()
            #expect(try await first.value == "value 1")
            #expect(try await second.value == "value 1")
            let leader = try #require(spans(0).first)
            let waiter = try #require(spans(1).first)
            #expect(spans(0).count == 1 && spans(1).count == 1)
            #expect(spans(0, "cache fetch").map(\.parentSpanID) == [leader.spanID])
            #expect(spans(1, "cache fetch").isEmpty)
            #expect(links(waiter) == [leader.spanID])
            #expect(waiter.links.first?.context.inMemorySpanContext?.traceID == leader.traceID)
            // A link, and no more: the trace is the waiter's own.
            #expect(waiter.traceID != leader.traceID && waiter.parentSpanID == nil)
            #expect(links(leader).isEmpty)
            let waited = try #require(waiter.events.first { $0.name == "waited" })
            #expect(waited.attributes.get("cache.waited.for") == "web-0".toSpanAttribute())
        }
    }

    @Test("a batch is linked once to each read that it has waited for")
    func batch() async throws {
        try await RedisServer.withServer { server in
            let (one, two) = (try cache(server.url, 0), try cache(server.url, 1))
            let several = Task { try await one.get([1, 2]) }
            let single = Task { try await one.get(3) }
            await gate.arrivals(3)
            let waiting = Task { try await two.get([1, 2, 3]) }
            while two.base.level.statistics.waits < 3 { try await nextTurn() }
            gate.open()
            #expect(try await waiting.value == ["value 1", "value 2", "value 3"])
            _ = try await (several.value, single.value)
            let waiter = try #require(spans(1).first)
            #expect(waiter.links.count == 2)
            #expect(Set(links(waiter)) == Set(spans(0).map(\.spanID)))
        }
    }

    @Test(
        "the lease has the span and nothing else of the context; without a tracer, or for one of another form, neither"
    )
    func record() async throws {
        try await RedisServer.withServer { server in
            let one = try cache(server.url, 0)
            let plain = one.base
            let other = plain.traced(as: "c", tracer: InMemoryTracer())
            let reads = [
                Task { try await one.get(1) }, Task { try await plain.get(2) }, Task { try await other.get(3) },
            ]
            await gate.arrivals(3)
            let leases = try await [lease(of: 1, server), lease(of: 2, server), lease(of: 3, server)]
            gate.open()
            for read in reads { _ = try await read.value }
            let leader = try #require(spans(0).first)
            let name = Array("web-0".utf8)
            #expect(
                leases[0].dropFirst(17).elementsEqual(name + Array(" 00-\(leader.traceID)-\(leader.spanID)-01".utf8))
            )
            #expect(leases[1].dropFirst(17).elementsEqual(name))
            #expect(leases[2].dropFirst(17).elementsEqual(name))
        }
    }

    @Test(
        "what others put into a lease links to nothing, and what it says is only shown",
        arguments: [
            "web-9", "", "web-9 00-zz", "web-9 00-\(String(repeating: "0", count: 32))-00f067aa0ba902b7-01",
            "web-9 ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "web-9 00-4BF92F3577B34DA6A3CE929D0E0E4736-00F067AA0BA902B7-01",
            "web-9 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "web-9 00-4bf92f3577b34da6a3ce929d0e0e4736\u{1b}[2J0f067aa0ba902b7-01",
            String(repeating: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", count: 6),
        ]
    )
    func hostile(text: String) async throws {
        try await RedisServer.withServer { server in
            let two = try cache(server.url, 1)
            gate.open()
            let name = "\(keyspace):l:{1}"
            try await server.command("SET", name, "T0123456789abcdef\(text)", "PX", "60000")
            let read = Task { try await two.get(1) }
            while two.base.level.statistics.waits == 0 { try await nextTurn() }
            try await server.command("DEL", name)
            // As the end of a lease is told.
            try await server.command("PUBLISH", "\(keyspace):ev", "e\(keyspace):v:{1}")
            #expect(try await read.value == "value 1")
            let waiter = try #require(spans(1).first)
            #expect(waiter.links.isEmpty)
            let waited = try #require(waiter.events.first { $0.name == "waited" })
            guard case .string(let whom) = waited.attributes.get("cache.waited.for") else {
                Issue.record("no read was waited for")
                return
            }
            #expect(whom.utf8.count <= 4 * 200 && !whom.contains("\u{1b}"))
        }
    }
}
#endif
