#if HTTP && Disk
import Foundation
import Strata
import StrataDisk
import StrataTesting
import Testing

@testable import StrataHTTP

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite("A cache of responses", .timeLimit(.minutes(5)))
struct HTTPCacheTests {
    private typealias Memory = MemoryLevel<HTTPResource, HTTPContent>

    private func text(_ content: HTTPContent?) -> String? { content.map { String(decoding: $0.body, as: UTF8.self) } }

    /// Answers with a script, one step a request, the last for ever.
    private func script(_ steps: LocalServer.Answer...) -> @Sendable (LocalServer.Request) async -> LocalServer.Answer {
        let counter = Counter()
        return { _ in steps[min(counter.next(), steps.count - 1)] }
    }

    private final class Counter: Sendable {
        private let count = Locked(0)

        func next() -> Int {
            count.withLock { count in
                defer { count += 1 }
                return count
            }
        }
    }

    /// Turns a stored response into one that became stale some seconds ago.
    private func age(_ memory: Memory, _ resource: HTTPResource, by seconds: Int) async throws {
        var entry = try #require(try await memory.entry(for: resource, ReadRequest()))
        entry.freshUntil = MonotonicInstant.now.advanced(by: .seconds(-seconds))
        try await memory.store(entry, for: resource)
    }

    @Test("a GET with a body goes to the server, and nothing of it is kept")
    func withBody() async throws {
        let answers = script(.response(200, ["cache-control": "max-age=60"], body: "v"))
        try await LocalServer.with(answers) { server async throws in
            let cache = HTTPCache(in: Memory(limit: .entries(10)), HTTPFetcher())
            for _ in 0..<2 {
                let response = try await cache.respond(to: HTTPCacheRequest(server.url(), body: Array("q=1".utf8)))
                #expect(response.source == .server)
            }
            #expect(try await cache.respond(to: HTTPCacheRequest(server.url())).source == .server)
            #expect(try await cache.respond(to: HTTPCacheRequest(server.url())).source == .stored)
            #expect(server.requests.count == 3)
        }
    }

    @Test("what is forgotten while it is on its way is not kept", arguments: [0, 1, 2, 3])
    func forgotten(way: Int) async throws {
        let gate = AsyncGate()
        let counter = Counter()
        try await LocalServer.with { request in
            guard request.method == "GET" else { return .response(204) }
            let number = counter.next()
            if number == 0 { try? await gate.pass() }
            return .response(200, ["cache-control": "max-age=60"], body: "\(number)")
        } _: { server async throws in
            let cache = HTTPCache(in: Memory(limit: .entries(10)), HTTPFetcher())
            let resource = server.resource()
            let get = Task { try await cache.get(resource) }
            await gate.arrivals()
            switch way {
            case 0: try await cache.remove(resource)
            case 1: try await cache.clear()
            case 2: _ = try await cache.respond(to: HTTPCacheRequest(method: "PUT", server.url()))
            default: try await cache.invalidate(tags: ["t"])
            }
            gate.open()
            #expect(text(try await get.value) == "0")
            #expect(text(try await cache.get(resource)) == "1")
            #expect(text(try await cache.get(resource)) == "1")
            #expect(cache.forgotten.count == 0)
        }
    }

    @Test("responses without a body take room, too")
    func cost() {
        let lifetime = HTTPLifetime(isStorable: true)
        let content = HTTPContent(status: 404, fields: ["a": "bc"], body: [1, 2], lifetime: lifetime)
        #expect(content.cost == 2 + 3 + 64 + 1_024)
        #expect(content.data == Data([1, 2]))
    }

    @Test("a 304 adds nothing to what is kept that must not be, and one of another response is not believed")
    func revalidatedFields() async throws {
        let answers = script(
            .response(200, ["cache-control": "max-age=0", "etag": "\"a\""], body: "v"),
            .response(304, ["cache-control": "private=\"set-cookie\", max-age=0", "set-cookie": "sid=1"]),
            .response(304, ["cache-control": "max-age=60", "etag": "\"b\""]),
            .response(200, ["cache-control": "max-age=60", "etag": "\"b\""], body: "w")
        )
        try await LocalServer.with(answers) { server async throws in
            let cache = HTTPCache(in: Memory(limit: .entries(10)), HTTPFetcher())
            let resource = server.resource()
            #expect(text(try await cache.get(resource)) == "v")
            let updated = try await cache.get(resource)
            #expect(text(updated) == "v" && updated?.fields["set-cookie"] == nil)
            #expect(updated?.fields["cache-control"] == "private=\"set-cookie\", max-age=0")
            #expect(text(try await cache.get(resource)) == "w")
            #expect(server.requests.count == 4)
        }
    }

    @Test("bytes that are no response's are none, whoever has written them")
    func hostileContent() throws {
        var hostile = (0..<6)
            .map { _ in
                HTTPContent(status: 200, fields: [:], body: [1], lifetime: HTTPLifetime(isStorable: true, freshFor: 5))
            }
        #expect(try JSONDecoder().decode(HTTPContent.self, from: JSONEncoder().encode(hostile[0])) == hostile[0])
        hostile[0].status = 1_000
        hostile[1].status = -1
        hostile[2].lifetime.age = .max
        hostile[3].lifetime.freshFor = -1
        hostile[4].lifetime.staleFor = .min
        hostile[5].lifetime.staleIfError = 1 << 40
        for content in hostile {
            let bytes = try JSONEncoder().encode(content)
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(HTTPContent.self, from: bytes) }
        }
    }

    @Test("parts are joined up to a limit")
    func joinedParts() {
        func part(_ bytes: Range<Int>) -> HTTPContent {
            HTTPContent(
                status: 206,
                fields: ["etag": "\"a\"", "content-range": "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/1000"],
                body: Array(repeating: 1, count: bytes.count),
                lifetime: HTTPLifetime(isStorable: true, freshFor: 5)
            )
        }
        #expect(part(100..<200).joined(with: part(0..<100), upTo: 200)?.body.count == 200)
        #expect(part(100..<200).joined(with: part(0..<100), upTo: 199) == nil)
    }

    @Test("a fresh response is served without asking")
    func fresh() async throws {
        let answers = script(.response(200, ["cache-control": "max-age=60"], body: "v"))
        try await LocalServer.with(answers) { server async throws in
            let cache = HTTPCache(in: Memory(limit: .entries(4)), HTTPFetcher())
            for _ in 0..<3 { #expect(try await text(cache.get(server.resource())) == "v") }
            #expect(server.requests.count == 1)
            #expect(cache.statistics.hits == 2 && cache.statistics.fetches == 1)
        }
    }

    @Test("options of a read mean what they mean over any source")
    func options() async throws {
        let answers = script(
            .response(200, ["cache-control": "max-age=60, stale-if-error=60"], body: "1"),
            .response(200, ["cache-control": "max-age=60, stale-if-error=60"], body: "2"),
            .response(200, ["cache-control": "max-age=60, stale-if-error=60"], body: "3")
        )
        try await LocalServer.with(answers) { server async throws in
            let memory = Memory(limit: .entries(4))
            let cache = HTTPCache(in: memory, HTTPFetcher())
            let resource = server.resource()
            #expect(try await cache.get(resource, .cached) == nil)
            #expect(try await HTTPFetcher().entry(for: resource, ReadRequest(options: .cached)) == nil)
            #expect(server.requests.isEmpty)
            #expect(try await text(cache.get(resource)) == "1")
            #expect(try await text(cache.get(resource, .cached)) == "1")
            #expect(try await text(cache.get(resource, ReadOptions(maximumAge: .seconds(60)))) == "1")
            #expect(server.requests.count == 1)
            #expect(try await text(cache.get(resource, .reload)) == "2")
            #expect(try await text(cache.get(resource, ReadOptions(maximumAge: .seconds(-1)))) == "3")
            #expect(try await text(cache.get(resource)) == "3")
            #expect(server.requests.count == 3)
            try await age(memory, resource, by: 1)
            #expect(try await cache.get(resource, .cached) == nil)
            #expect(try await text(cache.get(resource, .cached.with(staleness: .allowed))) == "3")
            #expect(try await text(cache.get(resource, .stale)) == "3")
            #expect(server.requests.count == 3)
        }
    }

    @Test("a stale one is asked about by its tag and date; not modified makes it fresh, with its old body")
    func revalidated() async throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        try await LocalServer.with(
            script(
                .response(200, ["cache-control": "max-age=60", "etag": "\"1\"", "last-modified": date], body: "v"),
                .response(304, ["cache-control": "max-age=90", "x-new": "1"])
            )
        ) { server async throws in
            let memory = Memory(limit: .entries(4))
            let cache = HTTPCache(in: memory, HTTPFetcher())
            let resource = server.resource()
            _ = try await cache.get(resource)
            try await age(memory, resource, by: 1)
            let again = try #require(try await cache.entry(for: resource, ReadRequest()))
            #expect(text(again.value) == "v" && again.isFresh(at: .now))
            #expect(again.value?.fields["x-new"] == "1" && again.value?.fields["etag"] == "\"1\"")
            // Less the whole seconds that the answer took to arrive; before it was 60.
            #expect((61...90).contains(again.value?.lifetime.freshFor ?? 0))
            #expect(server.requests.last?.fields["if-none-match"] == "\"1\"")
            #expect(server.requests.last?.fields["if-modified-since"] == date)
            _ = try await cache.get(resource)
            #expect(server.requests.count == 2 && cache.statistics.notModified == 1)
        }
    }

    @Test("a stale one that has changed is replaced; one that must not be stored any more is dropped")
    func changed() async throws {
        try await LocalServer.with(
            script(
                .response(200, ["cache-control": "max-age=60", "etag": "\"1\""], body: "one"),
                .response(200, ["cache-control": "max-age=60", "etag": "\"2\""], body: "two"),
                .response(200, ["cache-control": "no-store"], body: "three")
            )
        ) { server async throws in
            let memory = Memory(limit: .entries(4))
            let cache = HTTPCache(in: memory, HTTPFetcher())
            let resource = server.resource()
            _ = try await cache.get(resource)
            try await age(memory, resource, by: 1)
            #expect(try await text(cache.get(resource)) == "two")
            #expect(try await text(memory.get(resource)) == "two")
            try await age(memory, resource, by: 1)
            #expect(try await text(cache.get(resource)) == "three")
            #expect(try await memory.entry(for: resource, ReadRequest()) == nil)
        }
    }

    @Test("the name of a key shows no secret of a request, and tells requests apart")
    func secrets() {
        func name(_ fields: [String: String]) -> String {
            String(decoding: HTTPResource("https://a/b", fields: fields).keyBytes, as: UTF8.self)
        }
        for field in ["Authorization", "Cookie", "X-API-Key"] {
            #expect(!name([field: "s3cret"]).contains("s3cret"))
            #expect(name([field: "s3cret"]) == name([field: "s3cret"]))
            #expect(name([field: "s3cret"]) != name([field: "other"]))
            #expect(name([field: "s3cret"]) != name(["Other": "s3cret"]))
        }
        #expect(name(["Accept-Language": "de"]).contains("de"))
    }

    @Test("stale-if-error: within it a server that fails is no error, beyond it and for other statuses it is")
    func staleIfError() async throws {
        try await LocalServer.with(
            script(.response(200, ["cache-control": "max-age=60, stale-if-error=30"], body: "v"), .response(503))
        ) { server async throws in
            let memory = Memory(limit: .entries(4))
            let cache = HTTPCache(in: memory, HTTPFetcher())
            let resource = server.resource()
            _ = try await cache.get(resource)
            try await age(memory, resource, by: 10)
            let stale = try #require(try await cache.entry(for: resource, ReadRequest()))
            #expect(text(stale.value) == "v" && !stale.isFresh(at: .now) && stale.isUsable(at: .now))
            #expect(cache.statistics.servedStale == 1)
        }
        try await LocalServer.with(
            script(.response(200, ["cache-control": "max-age=60, stale-if-error=30"], body: "v"), .response(403))
        ) { server async throws in
            let memory = Memory(limit: .entries(4))
            let cache = HTTPCache(in: memory, HTTPFetcher())
            _ = try await cache.get(server.resource())
            try await age(memory, server.resource(), by: 10)
            await #expect(throws: HTTPError(.statusNotOK, status: 403)) { try await cache.get(server.resource()) }
        }
        try await LocalServer.with(
            script(.response(200, ["cache-control": "max-age=60, stale-if-error=5", "etag": "\"1\""]), .response(503))
        ) { server async throws in
            let memory = Memory(limit: .entries(4))
            let cache = HTTPCache(in: memory, HTTPFetcher())
            _ = try await cache.get(server.resource())
            try await age(memory, server.resource(), by: 10)
            await #expect(throws: HTTPError(.statusNotOK, status: 503)) { try await cache.get(server.resource()) }
        }
    }

    @Test("stale-while-revalidate: served at once and revalidated in the background, while the cache runs")
    func staleWhileRevalidate() async throws {
        let answers = script(
            .response(200, ["cache-control": "max-age=60, stale-while-revalidate=30"], body: "one"),
            .response(200, ["cache-control": "max-age=60"], body: "two")
        )
        try await LocalServer.with(answers) { server async throws in
            let memory = Memory(limit: .entries(4))
            let cache = HTTPCache(in: memory, HTTPFetcher())
            let resource = server.resource()
            _ = try await cache.get(resource)
            try await age(memory, resource, by: 10)
            // The cache does not run: the get asks by itself.
            #expect(try await text(cache.get(resource)) == "two")
        }
        let stored = script(
            .response(200, ["cache-control": "max-age=60, stale-while-revalidate=30"], body: "one"),
            .response(200, ["cache-control": "max-age=60"], body: "two")
        )
        let isHeld = AsyncGate()
        let count = Counter()
        try await LocalServer.with { request in
            if count.next() > 0 { try? await isHeld.pass() }
            return await stored(request)
        } _: { server async throws in
            let memory = Memory(limit: .entries(4))
            let cache = HTTPCache(in: memory, HTTPFetcher())
            let resource = server.resource()
            _ = try await cache.get(resource)
            try await age(memory, resource, by: 10)
            try await withThrowingTaskGroup(of: Void.self) { group async throws in
                group.addTask { await cache.run() }
                // The server answers no request, so every value now comes from the cache.
                await cache.refreshes.wait { isRunning, _ in isRunning }
                for _ in 0..<3 { #expect(try await text(cache.get(resource)) == "one") }
                await isHeld.arrivals()
                isHeld.open()
                await cache.refreshes.wait { _, pending in pending == 0 }
                #expect(try await text(cache.get(resource)) == "two")
                #expect(server.requests.count == 2 && cache.statistics.servedStale == 3)
                group.cancelAll()
            }
            await cache.refreshes.wait { isRunning, _ in !isRunning }
        }
    }

    @Test("a level that fails is a miss, and a get never fails for it")
    func failingStorage() async throws {
        struct Failure: Error {}
        let broken = ClosureLevel<HTTPResource, HTTPContent> { _ in
            throw Failure()
        } set: { _, _ in
            throw Failure()
        }
        let answers = script(.response(200, ["cache-control": "max-age=60"], body: "v"))
        try await LocalServer.with(answers) { server async throws in
            let cache = HTTPCache(in: broken, HTTPFetcher())
            #expect(try await text(cache.get(server.resource())) == "v")
            #expect(cache.statistics.failures == 2)
        }
    }

    @Test("A172 memory over pooled (disk over HTTP): many callers, one transfer, one write; it outlives a restart")
    func readyMade() async throws {
        let path = "/tmp/strata-http-\(UInt64.random(in: 0 ... .max)).sqlite"
        let gate = AsyncGate()
        try await LocalServer.with { _ in
            try? await gate.pass()
            return .response(200, ["cache-control": "max-age=60"], body: "v")
        } _: { server async throws in
            let store = DiskStore(path: path)
            let disk = DiskLevel<HTTPResource, HTTPContent>(store, namespace: "http")
            let memory = Memory(limit: .entries(4))
            let cache = memory.compose(HTTPCache(in: disk, HTTPFetcher()).pooled())
            try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<20 { group.addTask { text(try await cache.get(server.resource())) } }
                await gate.arrivals()
                gate.open()
                for try await body in group { #expect(body == "v") }
            }
            #expect(server.requests.count == 1)
            #expect(try await disk.usage().entries == 1)
            await store.close()
            let again = HTTPCache(in: DiskLevel(DiskStore(path: path), namespace: "http"), HTTPFetcher())
            #expect(try await text(again.get(server.resource())) == "v")
            #expect(server.requests.count == 1)
            await again.storage.store.close()
        }
        for ending in ["", "-wal", "-shm", ".lock"] { _ = unsafe remove(path + ending) }
    }
}
#endif
