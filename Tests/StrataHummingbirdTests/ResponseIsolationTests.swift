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

@Suite("What is one URL's, or one caller's, stays so", .timeLimit(.minutes(1)))
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
            #expect(url(apart, host, "/42") == nil, "\(host)")
        }
    }

    @Test("what a 304 says to its caller alone reaches nobody else, and what it says of caching goes before the policy")
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
}
#endif
