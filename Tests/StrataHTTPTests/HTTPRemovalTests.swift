#if HTTP
import Strata
import StrataTesting
import Testing

@testable import StrataHTTP

/// A level that cannot remove some keys, or not for a caller that is cancelled, as a file cannot.
private struct Refusing: ForwardingLevel {
    struct Failure: Error {}

    let base = MemoryLevel<HTTPResource, HTTPContent>(limit: .entries(16))
    var refused: @Sendable (HTTPResource) -> Bool = { _ in false }

    func entry(for key: HTTPResource, _ request: ReadRequest) async throws -> Entry<HTTPContent>? {
        try await base.entry(for: key, request)
    }

    func remove(_ key: HTTPResource) async throws {
        try Task.checkCancellation()
        if refused(key) { throw Failure() }
        try await base.remove(key)
    }
}

@Suite("Responses that are to be forgotten", .timeLimit(.minutes(5)))
struct HTTPRemovalTests {
    private static let minute: HTTPFields = ["cache-control": "max-age=60"]

    private func text(_ response: HTTPCacheResponse) -> String { String(decoding: response.body, as: UTF8.self) }

    @Test("responses are kept for a century at most: what has no end would get the policy's")
    func keptFor() {
        let memory = MemoryLevel<HTTPResource, HTTPContent>(limit: .entries(1))
        #expect(HTTPCache(in: memory, HTTPFetcher(), keptFor: .seconds(Int64.max)).keptFor == EntryLifetime.longest)
        #expect(HTTPCache(in: memory, HTTPFetcher(), keptFor: .seconds(-1)).keptFor == .zero)
    }

    @Test("a removal of which one half fails does the other: both are tried")
    func halves() async throws {
        try await LocalServer.with { request in
            .response(200, Self.minute, body: request.path)
        } _: { server async throws in
            let page = server.resource("/page")
            let cache = HTTPCache(in: Refusing { $0 == page }, HTTPFetcher())
            let request = HTTPCacheRequest(server.url("/page"))
            for _ in 0..<2 { _ = try await cache.respond(to: request) }
            #expect(server.requests.count == 1)
            await #expect(throws: Refusing.Failure.self) { try await cache.remove(page) }
            _ = try await cache.respond(to: request)
            #expect(server.requests.count == 2)
        }
    }

    @Test("a change whose caller is cancelled may have been made: what is kept is forgotten")
    func cancelled() async throws {
        let gate = AsyncGate()
        try await LocalServer.with { request in
            if request.method == "PUT" { try? await gate.pass() }
            return .response(200, Self.minute, body: request.method)
        } _: { server async throws in
            let cache = HTTPCache(in: Refusing(), HTTPFetcher())
            let get = HTTPCacheRequest(server.url())
            for _ in 0..<2 { #expect(text(try await cache.respond(to: get)) == "GET") }
            let put = Task { try await cache.respond(to: HTTPCacheRequest(method: "PUT", server.url())) }
            await gate.arrivals()
            put.cancel()
            await #expect(throws: CancellationError.self) { _ = try await put.value }
            gate.open()
            _ = try await cache.respond(to: get)
            #expect(server.requests.count { $0.method == "GET" } == 2)
        }
    }

    @Test("a URL that is very long is answered, but its response is not kept, shared or noted")
    func longURL() async throws {
        try await LocalServer.with { _ in
            .response(414, ["cache-control": "no-store"])
        } _: { server async throws in
            let memory = MemoryLevel<HTTPResource, HTTPContent>(limit: .entries(16))
            let cache = HTTPCache(in: memory, HTTPFetcher())
            let request = HTTPCacheRequest(server.url("/?" + String(repeating: "x", count: 5_000)))
            for _ in 0..<2 { #expect(try await cache.respond(to: request).status == 414) }
            let target = HTTPTarget(request)
            #expect(server.requests.count == 2 && !cache.isUncollapsed(target.base, target))
        }
        try await LocalServer.with { _ in
            .response(200, Self.minute)
        } _: { server async throws in
            let memory = MemoryLevel<HTTPResource, HTTPContent>(limit: .entries(16))
            let cache = HTTPCache(in: memory, HTTPFetcher())
            let request = HTTPCacheRequest(server.url("/?" + String(repeating: "x", count: 5_000)))
            for _ in 0..<2 { #expect(try await cache.respond(to: request).status == 200) }
            #expect(server.requests.count == 2 && memory.statistics.entries == 0)
            let above = MemoryLevel<HTTPResource, HTTPContent>(limit: .entries(16))
            let values = above.compose(cache)
            for _ in 0..<2 { #expect(try await values.get(HTTPResource(request.url)) != nil) }
            #expect(server.requests.count == 4 && memory.statistics.entries == 0 && above.statistics.entries == 0)
        }
    }

    @Test("each request to the server is a fetch, whatever comes of it")
    func counted() async throws {
        let answers: [LocalServer.Answer] = [
            .response(200, ["cache-control": "max-age=0, stale-if-error=60", "etag": "\"1\""]), .response(304),
            .response(503), .close,
        ]
        let asked = Locked(0)
        try await LocalServer.with { _ in
            answers[
                asked.withLock { asked in
                    defer { asked += 1 }
                    return min(asked, answers.count - 1)
                }
            ]
        } _: { server async throws in
            let cache = HTTPCache(in: MemoryLevel(limit: .entries(16)), HTTPFetcher())
            for _ in 0..<4 { _ = try? await cache.respond(to: HTTPCacheRequest(server.url())) }
            // A client asks once more where a connection that was kept open ends.
            #expect(cache.statistics.fetches == 4 && cache.statistics.notModified == 1)
            #expect(cache.statistics.failedFetches == 2)
        }
    }

    @Test("a body that was compressed on its way may be shorter than what was declared")
    func compressed() async throws {
        let gzip: [UInt8] = [31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 139, 142, 5, 0, 41, 187, 76, 13, 2, 0, 0, 0]
        try await LocalServer.with { _ in
            .bytes(200, ["content-encoding": "gzip"], gzip)
        } _: { server async throws in
            let content = try await HTTPFetcher().get(server.resource())
            #expect(content?.body == Array("[]".utf8))
        }
    }
}
#endif
