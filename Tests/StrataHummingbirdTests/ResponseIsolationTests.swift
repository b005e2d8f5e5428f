#if Hummingbird
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Strata
import StrataTesting
import Testing

@testable import StrataHTTP
@testable import StrataHummingbird

@Suite("What is one URL's, or one caller's, stays so", .timeLimit(.minutes(5)))
struct ResponseIsolationTests {
    @Test("a response is not kept as another URL's: a path with a fragment and a host that is none go past the cache")
    func poison() {
        let apart = ResponseCache.inMemory()
        let together = ResponseCache.inMemory(site: "https://shop.example")
        func url(_ cache: ResponseCache, _ host: String, _ path: String) -> String? {
            let head = HTTPRequest(method: .get, scheme: nil, authority: host, path: path)
            return cache.url(of: Request(head: head, body: RequestBody(buffer: ByteBuffer())))
        }
        for cache in [apart, together] {
            for path in ["/products/42#x", "/#", "/products/42#/reviews", "/" + String(repeating: "x", count: 2_048)] {
                #expect(url(cache, "shop.example", path) == nil, "\(path)")
            }
        }
        for host in ["shop.example/products", "shop.example/a#", "shop.example?", "a@shop.example", "", "a b"] {
            for cache in [apart, together] { #expect(url(cache, host, "/42") == nil, "\(host)") }
        }
    }

    @Test("nor is it by HTTP/2, where the scheme is the caller's, too")
    func scheme() {
        let cache = ResponseCache.inMemory()
        func url(_ scheme: String?) -> String? {
            let head = HTTPRequest(method: .get, scheme: scheme, authority: "shop.example", path: "/any")
            return cache.url(of: Request(head: head, body: RequestBody(buffer: ByteBuffer())))
        }
        let page = "https://shop.example/products/42"
        for scheme in [page + "#", page + "?", "ftp", "", "http:", "https#"] {
            #expect(url(scheme) == nil, "\(scheme)")
        }
        #expect(url(nil) == "http://shop.example/any" && url("HTTP") == url(nil))
        #expect(url("https") == "https://shop.example/any")
    }

    @Test("what a 304 says to its caller alone reaches no other, and what it says of caching goes before the policy")
    func notModified() async throws {
        let conditions = Locked<[String?]>([])
        let handler = Handler { request, number in
            conditions.withLock { $0.append(request.headers[.ifNoneMatch]) }
            let body = ResponseBody(byteBuffer: ByteBuffer(string: "\(number)"))
            guard request.headers[.ifNoneMatch] != nil else {
                return Response(status: .ok, headers: [.eTag: "\"a\""], body: body)
            }
            return switch number {
            case 2: Response(status: .notModified, headers: [.eTag: "\"a\"", .setCookie: "sid=1"])
            case 4: Response(status: .notModified, headers: [.eTag: "\"a\"", .cacheControl: "private, max-age=60"])
            default: Response(status: .notModified, headers: [.eTag: "\"a\""])
            }
        }
        let policy = ResponsePolicy(freshFor: .zero, staleIfError: .seconds(600))
        try await handler.application(.inMemory(), policy)
            .test(.router) { client async throws in
                #expect(try await client.get().text == "1")
                let own = try await client.get()
                #expect(own.text == "1" && own.headers[.setCookie] == "sid=1")
                let others = try await client.get()
                #expect(others.text == "1" && others.headers[.setCookie] == nil)
                #expect(try await client.get().text == "1")
                // It is private now, and kept no more.
                #expect(try await client.get().text == "5")
                #expect(conditions.withLock { $0 } == [nil, "\"a\"", "\"a\"", "\"a\"", nil])
            }
    }

    @Test("a HEAD never puts what answers it in the place of what answers a GET")
    func head() async throws {
        let handler = Handler { request, number in
            let fields: HTTPTypes.HTTPFields = [
                .cacheControl: "max-age=0, stale-while-revalidate=600", .contentLength: "1",
            ]
            guard request.method == .get else { return Response(status: .ok, headers: fields) }
            return Response(
                status: .ok,
                headers: fields,
                body: ResponseBody(byteBuffer: ByteBuffer(string: "\(number)"))
            )
        }
        let cache = ResponseCache.inMemory()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await cache.run() }
            await cache.responses.refreshes.wait { isRunning, _ in isRunning }
            try await handler.application(cache)
                .test(.router) { client async throws in
                    #expect(try await client.get().text == "1")
                    for _ in 0..<3 {
                        let head = try await client.execute(uri: "/", method: .head)
                        #expect(head.status == .ok && head.body.readableBytes == 0)
                    }
                    await cache.responses.refreshes.wait { _, pending in pending == 0 }
                    #expect(try await client.get().text == "1")
                    await cache.responses.refreshes.wait { _, pending in pending == 0 }
                    #expect(try await client.get().text == "5")
                }
            group.cancelAll()
        }
    }

    @Test("who waits for a caller with cookies, and gets nothing by that, waits for one without")
    func cookieLeader() async throws {
        let (first, second) = (AsyncGate(), AsyncGate())
        let handler = Handler { _, number in
            try await (number == 1 ? first : second).pass()
            return Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(string: "\(number)")))
        }
        let cache = ResponseCache.inMemory()
        try await handler.application(cache, ResponsePolicy(freshFor: .seconds(60)))
            .test(.router) { client async throws in
                async let own = client.get("/", [.cookie: "session=1"]).text
                await first.arrivals()
                let texts = try await withThrowingTaskGroup(of: String.self) { group in
                    for _ in 0..<8 { group.addTask { try await client.get().text } }
                    while cache.responses.exchanges.waiting < 9 { try await nextTurn() }
                    first.open()
                    await second.arrivals()
                    while cache.responses.exchanges.waiting < 8 { try await nextTurn() }
                    second.open()
                    return try await group.reduce(into: [String]()) { $0.append($1) }
                }
                #expect(try await own == "1")
                #expect(texts == Array(repeating: "2", count: 8) && handler.runs == 2)
            }
    }

    @Test("a response for a caller with cookies leaves the one that is kept for all where it is")
    func withCookies() async throws {
        let handler = Handler { _, number in
            guard number < 4 else { throw CacheError(code: .timeout, message: "the database is away") }
            let body = ResponseBody(byteBuffer: ByteBuffer(string: "\(number)"))
            return Response(status: .ok, headers: number == 3 ? [.setCookie: "sid=1"] : [:], body: body)
        }
        let policy = ResponsePolicy(freshFor: .zero, staleIfError: .seconds(600))
        try await handler.application(.inMemory(), policy)
            .test(.router) { client async throws in
                #expect(try await client.get().text == "1")
                #expect(try await client.get("/", [.cookie: "session=1"]).text == "2")
                #expect(try await client.get().text == "3")
                #expect(try await client.get().text == "1", "stale, since the handler fails")
            }
    }

    @Test(
        "a HEAD for a caller with cookies leaves the page that is kept for all; so does one whose handler makes no body"
    )
    func headWithCookies() async throws {
        let handler = Handler { request, number in
            guard number < 4 else { throw CacheError(code: .timeout, message: "the database is away") }
            let body = ByteBuffer(string: request.headers[.cookie] == nil ? "\(number)" : "a page for ann")
            return Response(status: .ok, body: number == 3 ? ResponseBody() : ResponseBody(byteBuffer: body))
        }
        let policy = ResponsePolicy(freshFor: .zero, staleIfError: .seconds(600))
        try await handler.application(.inMemory(), policy)
            .test(.router) { client async throws in
                #expect(try await client.get().text == "1")
                _ = try await client.execute(uri: "/", method: .head, headers: [.cookie: "session=1"])
                _ = try await client.execute(uri: "/", method: .head)
                #expect(handler.runs == 3)
                #expect(try await client.get().text == "1", "stale, since the handler fails")
            }
    }

    @Test("callers do not see tags either where the cache is passed by, or where a handler throws")
    func tagsPassedBy() async throws {
        let name = HTTPField.Name.cacheTag
        let handler = Handler { request, _ in
            if request.uri.path == "/broken" { throw HTTPError(.conflict, headers: [name: "product:42"]) }
            if request.uri.path == "/own" { throw TaggedError() }
            return Response(status: .ok, headers: [name: "product:42", .cacheControl: "max-age=60"])
        }
        try await handler.application(.inMemory())
            .test(.router) { client async throws in
                for fields: HTTPTypes.HTTPFields in [[.authorization: "Bearer x"], [.upgrade: "websocket"], [:]] {
                    let response = try await client.get("/", fields)
                    #expect(response.status == .ok && response.headers[name] == nil)
                    let failure = try await client.get("/broken", fields)
                    #expect(failure.status == .conflict && failure.headers[name] == nil)
                    let own = try await client.get("/own", fields)
                    #expect(own.status == .gone && own.headers[name] == nil)
                }
            }
    }

    private struct TaggedError: HTTPResponseError {
        var status: HTTPResponse.Status { .gone }

        func response(from request: Request, context: some RequestContext) throws -> Response {
            Response(status: status, headers: [.cacheTag: "product:42"])
        }
    }
}
#endif
