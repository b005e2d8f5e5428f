#if HTTP
import Strata
import StrataTesting
import Testing

@testable import StrataHTTP

/// What a level tells of its fetches.
private final class Observed: Sendable {
    private let timed = Locked<[String?]>([])
    private let told = Locked<[String]>([])

    /// The errors of the fetches that were timed, in their order; `nil` for one without.
    var durations: [String?] { timed.withLock { $0 } }

    /// The events of the fetches since this was asked last.
    var events: [String] { told.withLock { exchange(&$0, with: []) } }

    /// Hears of what happens in a level from now on.
    init(_ level: some CacheLevel) {
        let labels = level.label.nodes.map(\.label)
        for durations in Set(labels.flatMap(\.durations)) {
            _ = durations.add { [self] work, _, error in
                if work == .fetch { timed.withLock { $0.append(error) } }
            }
        }
        for hub in Set(labels.flatMap(\.hubs)) {
            _ = hub.add([.fetchBegan, .fetchEnded]) { [self] event in
                let text = event.error.map { "\(event.kind) with \($0)" } ?? "\(event.kind)"
                told.withLock { $0.append(event.level == .source && event.key is HTTPResource ? text : "\(event)") }
            }
        }
    }
}

extension CacheLevel {
    /// A counter, added up over all levels inside, as a dashboard does.
    fileprivate func count(_ name: String) -> Int {
        label.nodes.flatMap(\.label.counters).reduce(0) { $0 + ($1.name == name ? $1.value : 0) }
    }

    /// The steps of a read at the source, also of one that fails.
    fileprivate func sourceSteps(_ key: Key) async -> [String] {
        let recorder = ReadTraceRecorder()
        var request = ReadRequest()
        request.recorder = recorder
        _ = try? await entry(for: key, request)
        return recorder.steps.filter { $0.origin == .source }
            .map { step in step.error.map { "\(step.event) with \($0)" } ?? "\(step.event)" }
    }
}

@Suite("Requests to servers are measured like other fetches", .timeLimit(.minutes(5)))
struct HTTPMeasureTests {
    private static let succeeds = ["fetch began", "fetch ended"]
    private static let fails = ["fetch began", "fetch ended with status not ok"]

    private static let answers: @Sendable (LocalServer.Request) async -> LocalServer.Answer = { request in
        switch request.path {
        case "/absent": .response(404)
        case "/broken": .response(503)
        default:
            request.fields["if-none-match"] == nil
                ? .response(200, ["cache-control": "max-age=0", "etag": "\"a\""], body: "v") : .response(304)
        }
    }

    private static func making() -> HTTPFetcher { HTTPFetcher(options: HTTPFetchOptions(absentStatuses: [404])) }

    @Test("of a fetcher: a value, an absence and a failure are counted, timed, told of, and noted in the trace")
    func fetcher() async throws {
        try await LocalServer.with(Self.answers) { server async throws in
            let fetcher = Self.making()
            let observed = Observed(fetcher)
            for path in ["/", "/absent"] {
                #expect(await fetcher.sourceSteps(server.resource(path)) == ["fetched"])
                #expect(observed.events == Self.succeeds)
            }
            #expect(fetcher.count("fetches") == 2 && fetcher.count("failed_fetches") == 0)
            #expect(await fetcher.sourceSteps(server.resource("/broken")) == ["failed with status not ok"])
            #expect(observed.events == Self.fails)
            #expect(fetcher.count("fetches") == 3 && fetcher.count("failed_fetches") == 1)
            #expect(observed.durations == [nil, nil, "status not ok"])
        }
    }

    @Test("of a cache: so is a response that has not changed, and none is counted by the fetcher, too")
    func cache() async throws {
        try await LocalServer.with(Self.answers) { server async throws in
            let fetcher = Self.making()
            let cache = HTTPCache(in: MemoryLevel<HTTPResource, HTTPContent>(limit: .entries(8)), fetcher)
            let observed = Observed(cache)
            for path in ["/", "/", "/absent"] {
                #expect(await cache.sourceSteps(server.resource(path)) == ["fetched"])
                #expect(observed.events == Self.succeeds)
            }
            #expect(cache.statistics.notModified == 1)
            #expect(await cache.sourceSteps(server.resource("/broken")) == ["failed with status not ok"])
            #expect(observed.events == Self.fails)
            #expect(cache.count("fetches") == 4 && cache.count("failed_fetches") == 1)
            #expect(fetcher.count("fetches") == 0)
            // Past the cache, and none of its fetches.
            _ = try await fetcher.get(server.resource())
            #expect(cache.count("fetches") == 4 && fetcher.count("fetches") == 1)
            #expect(observed.events.isEmpty && observed.durations == [nil, nil, nil, "status not ok"])
        }
    }

    @Test("of whole requests: an answer that is a failure of the server counts as one, any other does not")
    func whole() async throws {
        try await LocalServer.with(Self.answers) { server async throws in
            let cache = HTTPCache(in: MemoryLevel(limit: .entries(8)), Self.making())
            let observed = Observed(cache)
            for path in ["/", "/", "/absent"] {
                _ = try await cache.respond(to: HTTPCacheRequest(server.url(path)))
                #expect(observed.events == Self.succeeds)
            }
            #expect(try await cache.respond(to: HTTPCacheRequest(server.url("/broken"))).status == 503)
            #expect(observed.events == Self.fails)
            #expect(cache.count("fetches") == 4 && cache.count("failed_fetches") == 1)
            #expect(observed.durations == [nil, nil, nil, "status not ok"])
        }
    }

    @Test("a request that its caller cancels is no failure")
    func cancelled() async throws {
        let gate = AsyncGate()
        try await LocalServer.with { _ in
            try? await gate.pass()
            return .silence
        } _: { server async throws in
            let fetcher = Self.making()
            let cache = HTTPCache(in: MemoryLevel(limit: .entries(8)), fetcher)
            let one = Task { try await fetcher.get(server.resource()) }
            let other = Task { try await cache.get(server.resource()) }
            await gate.arrivals(2)
            gate.open()
            for read in [one, other] {
                read.cancel()
                await #expect(throws: CancellationError.self) { try await read.value }
            }
            for level in [fetcher.label, cache.label] {
                let counters = level.nodes.flatMap(\.label.counters)
                #expect(counters.contains { $0.name == "fetches" && $0.value == 1 })
                #expect(counters.allSatisfy { $0.name != "failed_fetches" || $0.value == 0 })
            }
        }
    }
}
#endif
