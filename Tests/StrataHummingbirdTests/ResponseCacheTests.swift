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

@Suite("Responses of handlers that are kept", .timeLimit(.minutes(5)))
struct ResponseCacheTests {
    private static let minute: HTTPTypes.HTTPFields = [.cacheControl: "max-age=60"]

    @Test("a fresh response is served with its age, and conditions, HEAD and ranges are answered from it")
    func fresh() async throws {
        let handler = Handler([.cacheControl: "max-age=60", .contentType: "text/plain"])
        try await handler.application(.inMemory())
            .test(.router) { client async throws in
                let first = try await client.get()
                let tag = try #require(first.headers[.eTag])
                #expect(first.text == "1" && first.headers[.age] == nil && tag.hasPrefix("\"") && tag.count == 34)
                let second = try await client.get()
                #expect(second.text == "1" && second.headers[.eTag] == tag)
                #expect(try (0..<60).contains(#require(second.headers[.age].flatMap { Int($0) })))
                #expect(second.headers[.contentType] == "text/plain" && second.headers[.cacheControl] == "max-age=60")
                let same = try await client.get("/", [.ifNoneMatch: "\"x\", \(tag)"])
                #expect(same.status == .notModified && same.text.isEmpty && same.headers[.eTag] == tag)
                #expect(same.headers[.contentLength] == nil && same.headers[.contentType] == nil)
                let head = try await client.execute(uri: "/", method: .head)
                #expect(head.status == .ok && head.text.isEmpty && head.headers[.contentLength] == "1")
                #expect(try await client.get("/", [.range: "bytes=0-0"]).status == .partialContent)
                #expect(try await client.get("/?other").text == "2")
                #expect(handler.runs == 2)
            }
    }

    @Test("the first caller's conditions are answered, too, and keep no other from the response")
    func conditional() async throws {
        let handler = Handler([.cacheControl: "max-age=60", .eTag: "\"own\""])
        try await handler.application(.inMemory())
            .test(.router) { client async throws in
                let first = try await client.get("/", [.ifNoneMatch: "\"own\""])
                #expect(first.status == .notModified && first.text.isEmpty && first.headers[.eTag] == "\"own\"")
                #expect(try await client.get().text == "1")
            }
        // A handler that answers conditions itself has its word.
        let clever = Handler { request, _ in
            request.headers[.ifNoneMatch] == "\"own\""
                ? Response(status: .notModified, headers: [.eTag: "\"own\""])
                : Response(status: .ok, headers: [.eTag: "\"own\"", .cacheControl: "max-age=60"])
        }
        let responses = ResponseCache.inMemory(site: "http://site")
        let target = HTTPTarget(HTTPCacheRequest("http://site/"))
        try await clever.application(responses)
            .test(.router) { client async throws in
                #expect(try await client.get("/", [.ifNoneMatch: "\"own\""]).status == .notModified)
                // Others would have been answered with the whole response, and may wait for it the next time.
                #expect(!responses.responses.isUncollapsed(target.base, target))
                #expect(try await client.get().status == .ok)
                #expect(try await client.get("/", [.ifNoneMatch: "\"own\""]).status == .notModified)
                #expect(clever.runs == 2)
                #expect(try await responses.level.get(target.base) != nil)
            }
    }

    @Test("a response that says its lifetime by Expires alone is kept")
    func byExpires() async throws {
        let handler = Handler { _, number in
            let fields: HTTPTypes.HTTPFields = [.expires: HTTPDate.text(HTTPReply.now() + 3600)]
            return Response(
                status: .ok,
                headers: fields,
                body: ResponseBody(byteBuffer: ByteBuffer(string: "\(number)"))
            )
        }
        try await handler.application(.inMemory())
            .test(.router) { client async throws in
                for _ in 0..<3 { #expect(try await client.get().text == "1") }
            }
    }

    @Test("a handler that throws a cancellation of its own has failed: something stale is served")
    func cancelledInside() async throws {
        let handler = Handler { _, number in
            let fields: HTTPTypes.HTTPFields = [.cacheControl: "max-age=0, stale-if-error=600"]
            switch number {
            case 1:
                return Response(status: .ok, headers: fields, body: ResponseBody(byteBuffer: ByteBuffer(string: "1")))
            case 2: throw CancellationError()
            default: return Response(status: .ok, headers: fields, body: ResponseBody { _ in })
            }
        }
        try await handler.application(.inMemory())
            .test(.router) { client async throws in
                for _ in 0..<3 { #expect(try await client.get().text == "1") }
                #expect(handler.runs == 3)
            }
    }

    @Test("a caller's Cache-Control makes no handler run")
    func callersWish() async throws {
        let handler = Handler(Self.minute)
        try await handler.application(.inMemory())
            .test(.router) { client async throws in
                for wish in ["no-cache", "no-store", "max-age=0", "only-if-cached"] {
                    #expect(try await client.get("/", [.cacheControl: wish]).text == "1")
                }
            }
    }

    @Test("what a handler does not say, the policy does: for success and absence, and not for callers with cookies")
    func byPolicy() async throws {
        let policy = ResponsePolicy(freshFor: .milliseconds(59_001), absentFor: .seconds(60))
        let handler = Handler { request, number in
            switch request.uri.path {
            case "/absent": throw HTTPError(.notFound)
            case "/broken": return Response(status: .badGateway)
            case "/said": return Response(status: .ok, headers: [.cacheControl: "no-cache"])
            default: return Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(string: "\(number)")))
            }
        }
        let cache = ResponseCache.inMemory()
        try await handler.application(cache, policy)
            .test(.router) { client async throws in
                for _ in 0..<2 {
                    let response = try await client.get()
                    #expect(response.text == "1" && response.headers[.cacheControl] == nil)
                    #expect(response.headers.count { $0.name.canonicalName.contains("policy") } == 0)
                }
                let kept = try await cache.level.entry(
                    for: HTTPResource(exchangeAt: "http://localhost/"),
                    ReadRequest()
                )
                #expect(kept?.value?.lifetime.freshFor == 60)
                for _ in 0..<2 { #expect(try await client.get("/absent").status == .notFound) }
                #expect(handler.runs == 2)
                for _ in 0..<2 { #expect(try await client.get("/broken").status == .badGateway) }
                for _ in 0..<2 { #expect(try await client.get("/said").status == .ok) }
                #expect(handler.runs == 6)
                for _ in 0..<2 { _ = try await client.get("/cookie", [.cookie: "session=1"]) }
                #expect(handler.runs == 8)
            }
        let silent = Handler([:])
        try await silent.application(.inMemory())
            .test(.router) { client async throws in
                for number in 1...3 { #expect(try await client.get().text == "\(number)") }
            }
    }

    @Test(
        "what is for one caller is never served to another",
        arguments: [
            [.cacheControl: "private, max-age=60"], [.cacheControl: "no-store"], [.cacheControl: "no-cache"],
            [.cacheControl: "max-age=60", .setCookie: "session=1"], [.cacheControl: "max-age=60", .vary: "*"],
            [.cacheControl: "max-age=60", .contentType: "text/event-stream"],
        ] as [HTTPTypes.HTTPFields]
    )
    func personal(fields: HTTPTypes.HTTPFields) async throws {
        let handler = Handler(fields)
        try await handler.application(.inMemory(), ResponsePolicy(freshFor: .seconds(60)))
            .test(.router) { client async throws in
                for number in 1...3 {
                    let response = try await client.get()
                    #expect(response.text == "\(number)" && response.headers[.age] == nil)
                    #expect(fields.allSatisfy { response.headers[$0.name] == $0.value })
                }
            }
    }

    @Test("a request with Authorization goes past the cache, unless the policy and the response allow to share it")
    func authorized() async throws {
        let handler = Handler([.cacheControl: "public, max-age=60"])
        let cache = ResponseCache.inMemory()
        try await handler.application(cache)
            .test(.router) { client async throws in
                #expect(try await client.get().text == "1")
                #expect(try await client.get("/", [.authorization: "Bearer a"]).text == "2")
                #expect(try await client.get("/", [.authorization: "Bearer b"]).text == "3")
                #expect(try await client.get().text == "1")
            }
        try await handler.application(cache, ResponsePolicy(sharesAuthorized: true))
            .test(.router) { client async throws in
                #expect(try await client.get("/", [.authorization: "Bearer a"]).text == "1")
            }
        let silent = Handler(Self.minute)
        try await silent.application(.inMemory(), ResponsePolicy(sharesAuthorized: true))
            .test(.router) { client async throws in
                for number in 1...2 { #expect(try await client.get("/", [.authorization: "a"]).text == "\(number)") }
            }
    }

    @Test("a response is kept for each value of the fields by which it varies")
    func varying() async throws {
        let handler = Handler { request, _ in
            let text = request.headers[.acceptLanguage] ?? "-"
            return Response(
                status: .ok,
                headers: [.cacheControl: "max-age=60", .vary: "Accept-Language"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: text))
            )
        }
        try await handler.application(.inMemory())
            .test(.router) { client async throws in
                for _ in 0..<2 {
                    for language in ["de", "en"] {
                        #expect(try await client.get("/", [.acceptLanguage: language]).text == language)
                    }
                    #expect(try await client.get().text == "-")
                }
                #expect(handler.runs == 3)
            }
    }

    @Test("an unsafe method that succeeds forgets the URL and what it names, one that fails does not")
    func unsafe() async throws {
        let handler = Handler { request, number in
            if request.method != .get {
                let status = HTTPResponse.Status(code: Int(request.headers[.from] ?? "") ?? 204)
                return Response(status: status, headers: [.contentLocation: "/other"])
            }
            return Response(
                status: .ok,
                headers: Self.minute,
                body: ResponseBody(byteBuffer: ByteBuffer(string: "\(number)"))
            )
        }
        try await handler.application(.inMemory())
            .test(.router) { client async throws in
                #expect(try await client.get("/a").text == "1")
                #expect(try await client.get("/other").text == "2")
                _ = try await client.execute(
                    uri: "/a",
                    method: .put,
                    headers: [.from: "409"],
                    body: ByteBuffer(string: "new")
                )
                #expect(try await client.get("/a").text == "1")
                _ = try await client.execute(uri: "/a", method: .delete)
                #expect(try await client.get("/a").text == "5")
                #expect(try await client.get("/other").text == "6")
            }
    }

    @Test("an unsafe method gets its body, and one that throws may have changed something")
    func unsafeBody() async throws {
        let handler = Handler { request, number in
            if request.method == .get {
                let body = ResponseBody(byteBuffer: ByteBuffer(string: "\(number)"))
                return Response(status: .ok, headers: Self.minute, body: body)
            }
            let body = try await request.body.collect(upTo: 1_000)
            if body.readableBytes == 0 { throw CancellationError() }
            return Response(status: .ok, headers: Self.minute, body: ResponseBody(byteBuffer: body))
        }
        try await handler.application(.inMemory())
            .test(.router) { client async throws in
                #expect(try await client.get().text == "1")
                #expect(try await client.execute(uri: "/", method: .post, body: ByteBuffer(string: "in")).text == "in")
                #expect(try await client.get().text == "3")
                #expect(try await client.execute(uri: "/", method: .post).status == .internalServerError)
                #expect(try await client.get().text == "5")
            }
    }

    @Test("a tag forgets what bears it, and callers do not see tags", arguments: [false, true])
    func tagged(varies: Bool) async throws {
        let name = HTTPField.Name.cacheTag
        let handler = Handler { request, number in
            var fields = Self.minute
            fields[name] = "all, path:\(request.uri.path)"
            if varies { fields[.vary] = "Accept" }
            return Response(
                status: .ok,
                headers: fields,
                body: ResponseBody(byteBuffer: ByteBuffer(string: "\(number)"))
            )
        }
        let cache = ResponseCache.inMemory(site: "https://shop.example/")
        try await handler.application(cache)
            .test(.router) { client async throws in
                let first = try await client.get("/a")
                #expect(first.text == "1" && first.headers[name] == nil)
                #expect(try await client.get("/b").text == "2")
                try await cache.invalidate(tag: "path:/a")
                #expect(try await client.get("/a").text == "3")
                let second = try await client.get("/b")
                #expect(second.text == "2" && second.headers[name] == nil)
                try await cache.invalidate(tags: ["all"])
                #expect(try await client.get("/a").text == "4")
                #expect(try await client.get("/b").text == "5")
                try await cache.remove("/a")
                #expect(try await client.get("/a").text == "6")
                try await cache.remove("https://shop.example/b")
                #expect(try await client.get("/b").text == "7")
                try await cache.clear()
                #expect(try await client.get("/a").text == "8")
            }
    }

    @Test("the responses of hosts are apart, unless the cache has a site")
    func hosts() {
        let apart = ResponseCache.inMemory()
        let together = ResponseCache.inMemory(site: "https://shop.example")
        func url(_ cache: ResponseCache, _ host: String?, _ path: String? = "/a?b") -> String? {
            cache.url(
                of: Request(
                    head: HTTPRequest(method: .get, scheme: nil, authority: host, path: path),
                    body: RequestBody(buffer: ByteBuffer())
                )
            )
        }
        #expect(url(apart, "One.example") == "http://one.example/a?b" && url(apart, nil) == "http://localhost/a?b")
        #expect(url(together, "one.example") == "https://shop.example/a?b")
        #expect(url(apart, "one.example", "*") == nil && url(apart, "one.example", nil) == nil)
        #expect(url(apart, "[::1]:8080") == "http://[::1]:8080/a?b")
    }

    @Test("an error is its caller's, with its status, and something stale is served where that is allowed")
    func failing() async throws {
        let handler = Handler { request, number in
            if request.uri.path == "/told" { throw HTTPError(.conflict) }
            guard number == 1 else { throw CacheError(code: .timeout, message: "the database is away") }
            return Response(
                status: .ok,
                headers: [.cacheControl: "max-age=0, stale-if-error=60"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: "old"))
            )
        }
        try await handler.application(.inMemory())
            .test(.router) { client async throws in
                #expect(try await client.get().text == "old")
                #expect(try await client.get().text == "old")
                #expect(try await client.get("/other").status == .internalServerError)
                #expect(try await client.get("/told").status == .conflict)
            }
    }

    @Test("middleware before the cached routes runs always, middleware of theirs where a handler runs")
    func middleware() async throws {
        struct Counting: RouterMiddleware {
            let count: Handler
            func handle(
                _ request: Request,
                context: BasicRequestContext,
                next: @concurrent (Request, BasicRequestContext) async throws -> Response
            ) async throws -> Response {
                _ = try await count.run(request)
                return try await next(request, context)
            }
        }
        let (outer, inner, last, handler) = (Handler([:]), Handler([:]), Handler([:]), Handler(Self.minute))
        let router = Router()
        router.group().add(middleware: Counting(count: outer)).cached(by: .inMemory())
            .add(middleware: Counting(count: inner))
            .get("a") { request, _ in try await handler.run(request) }
            .add(middleware: Counting(count: last))
            .get("b") { request, _ in try await handler.run(request) }
        try await Application(router: router)
            .test(.router) { client async throws in
                for _ in 0..<3 { #expect(try await client.get("/a").text == "1") }
                #expect(try await client.get("/b").text == "2")
                #expect(outer.runs == 4 && inner.runs == 2 && last.runs == 1 && handler.runs == 2)
            }
    }

    @Test("over the wire lengths are right, and a whole router can be kept")
    func wire() async throws {
        let handler = Handler(Self.minute)
        let router = Router()
        router.get("a") { request, _ in try await handler.run(request) }
        let application = Application(responder: CachedResponder(router.buildResponder(), by: .inMemory()))
        try await application.test(.live) { client async throws in
            let first = try await client.get("/a")
            #expect(first.text == "1" && first.headers[.contentLength] == "1")
            let same = try await client.get("/a", [.ifNoneMatch: try #require(first.headers[.eTag])])
            #expect(same.status == .notModified && same.headers[.contentLength] == nil)
            let head = try await client.execute(uri: "/a", method: .head)
            #expect(head.status == .ok && head.headers[.contentLength] == "1" && head.text.isEmpty)
            #expect(try await client.get("/a").headers[.age] != nil)
            #expect(try await client.get("/missing").status == .notFound)
            #expect(handler.runs == 1)
        }
    }
}
#endif
