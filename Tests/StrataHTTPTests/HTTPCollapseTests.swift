#if HTTP
import Strata
import StrataTesting
import Testing

@testable import StrataHTTP

private typealias Cache = HTTPCache<MemoryLevel<HTTPResource, HTTPContent>>

private final class Counter: Sendable {
    private let value = Locked(0)

    /// How often it was called before.
    func next() -> Int {
        value.withLock { value in
            defer { value += 1 }
            return value
        }
    }
}

extension HTTPCache {
    /// Whether requests do not wait for this one where it is all that is kept of its URL.
    fileprivate func isUncollapsed(_ target: HTTPTarget) -> Bool { isUncollapsed(target.base, target) }
}

/// Of GETs that miss the same response at once, one goes on to the server.
@Suite("HTTPCache collapses requests (RFC 9111 §4)", .timeLimit(.minutes(5)))
struct HTTPCollapseTests {
    private static func cache(collapseLimit: Duration = .seconds(300)) -> Cache {
        HTTPCache(
            in: MemoryLevel(limit: .entries(64)),
            HTTPFetcher(options: HTTPFetchOptions(perHost: 64)),
            collapseLimit: collapseLimit
        )
    }

    /// The server holds its first answers until all callers wait for them, or are at the server themselves.
    ///
    /// - Returns: What the callers have got, in the order of their requests; `nil` for an error.
    private func together(
        _ cache: Cache,
        _ server: LocalServer,
        _ gate: AsyncGate,
        _ requests: [HTTPCacheRequest],
        atServer: Int = 1
    ) async throws -> [HTTPCacheResponse?] {
        try await withThrowingTaskGroup(of: (Int, HTTPCacheResponse?).self) { group async throws in
            for (number, request) in requests.enumerated() {
                group.addTask { (number, try? await cache.respond(to: request)) }
            }
            await gate.arrivals(atServer)
            while cache.exchanges.waiting < requests.count - atServer + cache.exchanges.count { try await nextTurn() }
            gate.open()
            var responses: [HTTPCacheResponse?] = Array(repeating: nil, count: requests.count)
            for try await (number, response) in group { responses[number] = response }
            return responses
        }
    }

    @Test("§4 of twenty that miss at once one goes on, and all get its response")
    func one() async throws {
        let gate = AsyncGate()
        try await LocalServer.with { _ in
            try? await gate.pass()
            return fresh(body: "v")
        } _: { server async throws in
            let cache = Self.cache()
            let requests = (0..<20).map { HTTPCacheRequest(server.url(), fields: ["caller": "\($0)"]) }
            let responses = try await together(cache, server, gate, requests)
            #expect(responses.allSatisfy { $0?.body == Array("v".utf8) })
            #expect(responses.count { $0?.source == .server } == 1 && responses.count { $0?.source == .stored } == 19)
            #expect(server.requests.count == 1 && cache.statistics.collapsed == 19)
            #expect(cache.statistics.hits == 19 && cache.statistics.misses == 1 && cache.statistics.failedFetches == 0)
            #expect(cache.exchanges.count == 0 && cache.forgotten.count == 0)
        }
    }

    @Test("§4.3 of those that find the same stale response one asks about it")
    func validated() async throws {
        let gate = AsyncGate()
        try await LocalServer.with { request in
            guard request.fields["if-none-match"] != nil else {
                return .response(200, ["cache-control": "max-age=0", "etag": "\"a\""], body: "v")
            }
            try? await gate.pass()
            return .response(304, ["cache-control": "max-age=60", "etag": "\"a\""])
        } _: { server async throws in
            let cache = Self.cache()
            _ = try await cache.respond(to: HTTPCacheRequest(server.url()))
            // Nothing was worth waiting for, which is remembered until something is.
            cache.uncollapsed.end(Uncollapsed(key: HTTPResource(exchangeAt: server.url()), hasCookies: false))
            // The conditions of a caller are answered from what is kept, so they do not part them.
            let requests = [HTTPFields(), ["if-none-match": "\"a\""], ["if-none-match": "\"b\""]]
                .map { HTTPCacheRequest(server.url(), fields: $0) }
            let responses = try await together(cache, server, gate, requests)
            #expect(responses.map { $0?.status } == [200, 304, 200])
            #expect(server.requests.count == 2 && cache.statistics.collapsed == 2)
        }
    }

    @Test("§4.1 those that turn out to ask for different responses ask for each once")
    func varying() async throws {
        let gate = AsyncGate()
        try await LocalServer.with { request in
            try? await gate.pass()
            return fresh(("vary", "accept"), body: request.fields["accept"] ?? "")
        } _: { server async throws in
            let cache = Self.cache()
            let requests = (0..<8)
                .map { HTTPCacheRequest(server.url(), fields: ["accept": $0 < 4 ? "a" : "b"]) }
            let responses = try await together(cache, server, gate, requests)
            #expect(
                responses.map { $0.map { String(decoding: $0.body, as: UTF8.self) } } == [
                    "a", "a", "a", "a", "b", "b", "b", "b",
                ]
            )
            #expect(server.requests.contains { $0.fields["accept"] == "a" })
            #expect(server.requests.contains { $0.fields["accept"] == "b" } && server.requests.count <= 5)
        }
    }

    @Test(
        "§3 what may not be stored is not shared: each asks, and the next do not wait",
        arguments: ["no-store", "private", "max-age=0", "no-cache"]
    )
    func unstorable(directive: String) async throws {
        let gate = AsyncGate()
        let count = Counter()
        try await LocalServer.with { _ in
            let number = count.next()
            try? await gate.pass()
            return .response(200, ["cache-control": directive], body: "\(number)")
        } _: { server async throws in
            let cache = Self.cache()
            let requests = Array(repeating: HTTPCacheRequest(server.url()), count: 4)
            let responses = try await together(cache, server, gate, requests)
            #expect(Set(responses.map { $0?.body }).count == 4 && !responses.contains(nil))
            #expect(server.requests.count == 4 && cache.statistics.collapsed == 0)
            #expect(cache.isUncollapsed(HTTPTarget(HTTPCacheRequest(server.url()))))
        }
    }

    @Test("a response that may be reused ends the time in which no request waits")
    func reusableAgain() async throws {
        let count = Counter()
        try await LocalServer.with { _ in
            count.next() == 0 ? .response(503) : fresh()
        } _: { server async throws in
            let cache = Self.cache()
            let target = HTTPTarget(HTTPCacheRequest(server.url()))
            #expect(try await cache.respond(to: target.request).status == 503)
            #expect(cache.isUncollapsed(target))
            #expect(cache.statistics.misses == 1 && cache.statistics.failedFetches == 1)
            #expect(try await cache.respond(to: target.request).status == 200)
            #expect(!cache.isUncollapsed(target))
        }
    }

    @Test(
        "only GETs that ask for the same are collapsed",
        arguments: [
            HTTPCacheRequest(method: "POST", "/", body: [1]), HTTPCacheRequest(method: "HEAD", "/"),
            HTTPCacheRequest("/", fields: ["authorization": "x"]),
            HTTPCacheRequest("/", fields: ["range": "bytes=0-1"]),
            HTTPCacheRequest("/", fields: ["cache-control": "no-cache"]),
            HTTPCacheRequest("/", fields: ["cache-control": "no-store"]),
            HTTPCacheRequest("/", fields: ["if-none-match": "\"a\""]), HTTPCacheRequest(method: "GET", "/", body: [1]),
        ]
    )
    func alone(request: HTTPCacheRequest) async throws {
        let gate = AsyncGate()
        try await LocalServer.with { _ in
            try? await gate.pass()
            return fresh()
        } _: { server async throws in
            let cache = Self.cache()
            var request = request
            request.url = server.url()
            let responses = try await together(cache, server, gate, [request, request, request], atServer: 3)
            #expect(responses.allSatisfy { $0?.status == 200 } && server.requests.count == 3)
        }
    }

    @Test("without a limit no request waits, and one that has waited that long asks, too", arguments: [0, 1])
    func limited(milliseconds: Int) async throws {
        let gate = AsyncGate()
        try await LocalServer.with { _ in
            try? await gate.pass()
            return fresh()
        } _: { server async throws in
            let cache = Self.cache(collapseLimit: .milliseconds(milliseconds))
            try await withThrowingTaskGroup(of: Int.self) { group async throws in
                group.addTask { try await cache.respond(to: HTTPCacheRequest(server.url())).status }
                await gate.arrivals(1)
                group.addTask { try await cache.respond(to: HTTPCacheRequest(server.url())).status }
                await gate.arrivals(2)
                gate.open()
                for try await status in group { #expect(status == 200) }
            }
            #expect(server.requests.count == 2 && cache.statistics.collapsed == 0)
        }
    }

    @Test("the one who asks for all may leave, and its error is its own")
    func leaving() async throws {
        let gate = AsyncGate()
        try await LocalServer.with { _ in
            try? await gate.pass()
            return fresh(body: "v")
        } _: { server async throws in
            let cache = Self.cache()
            let first = Task { try await cache.respond(to: HTTPCacheRequest(server.url())) }
            await gate.arrivals(1)
            let second = Task { try await cache.respond(to: HTTPCacheRequest(server.url())) }
            while cache.exchanges.waiting < 2 { try await nextTurn() }
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            gate.open()
            #expect(try await second.value.body == Array("v".utf8))
            #expect(server.requests.count == 1)
        }
        let broken = AsyncGate()
        let count = Counter()
        try await LocalServer.with { _ in
            guard count.next() == 0 else { return fresh(body: "v") }
            try? await broken.pass()
            return .short(declared: 9, sent: 1)
        } _: { server async throws in
            let cache = Self.cache()
            let first = Task { try await cache.respond(to: HTTPCacheRequest(server.url())) }
            await broken.arrivals(1)
            let second = Task { try await cache.respond(to: HTTPCacheRequest(server.url())) }
            while cache.exchanges.waiting < 2 { try await nextTurn() }
            broken.open()
            await #expect(throws: HTTPError(.invalidResponse)) { try await first.value }
            #expect(try await second.value.body == Array("v".utf8))
        }
    }

    @Test("§4.4 a response that was forgotten on its way answers no request that has waited for it")
    func forgotten() async throws {
        let gate = AsyncGate()
        let count = Counter()
        try await LocalServer.with { request in
            guard request.method == "GET" else { return .response(200) }
            if count.next() == 0 {
                try? await gate.pass()
                return fresh(body: "old")
            }
            return fresh(body: "new")
        } _: { server async throws in
            let cache = Self.cache()
            let first = Task { try await cache.respond(to: HTTPCacheRequest(server.url())) }
            await gate.arrivals(1)
            _ = try await cache.respond(to: HTTPCacheRequest(method: "PUT", server.url(), body: [1]))
            let second = Task { try await cache.respond(to: HTTPCacheRequest(server.url())) }
            while cache.exchanges.waiting < 2 { try await nextTurn() }
            gate.open()
            #expect(try await first.value.body == Array("old".utf8))
            #expect(try await second.value.body == Array("new".utf8))
        }
    }
}
#endif
