#if HTTP
import Strata
import StrataTesting
import Testing

@testable import StrataHTTP

private typealias Case = HTTPConformanceCase
private typealias Step = HTTPConformanceCase.Step

/// Conditions, validation, variants, and what makes a cache forget.
extension HTTPConformanceTests {
    @Test(
        "§4.3.2 callers' conditions are answered from what is stored",
        arguments: ["\"a\"", "W/\"a\"", "\"x\", \"a\"", "\"a\",\"x\"", "*", "\"x\" , W/\"a\" , \"y\""]
    )
    func ifNoneMatch(condition: String) async throws {
        for tag in ["\"a\"", "W/\"a\""] {
            try await Case(
                condition,
                .asks(says: fresh(("etag", tag), ("last-modified", date), ("content-type", "text/plain"))),
                .stored(
                    ["if-none-match": condition, "if-modified-since": "Sun, 06 Nov 1904 08:49:37 GMT"],
                    status: 304,
                    body: "",
                    has: ["etag": tag, "date": date, "cache-control": "max-age=3600"],
                    lacks: ["content-length", "content-type"]
                ),
                .stored(["if-none-match": "\"b\""], status: 200, body: "v")
            )
            .run()
        }
    }

    @Test(
        "§4.3 validation",
        arguments: [
            Case(
                "§4.3.2 by date",
                .asks(says: fresh(("last-modified", date))),
                .stored(["if-modified-since": date], status: 304),
                .stored(["if-modified-since": "Sunday, 06-Nov-94 08:49:38 GMT"], status: 304),
                .stored(["if-modified-since": "Sun, 06 Nov 1994 08:49:36 GMT"], status: 200),
                .stored(["if-modified-since": "soon"], status: 200)
            ),
            Case(
                "§4.3.1 own conditions in place of the caller's; its other fields go along",
                .asks(
                    ["abc": "1"],
                    says: .response(200, ["cache-control": "max-age=0", "etag": "\"a\"", "vary": "abc"], body: "v")
                ),
                .asks(
                    ["abc": "1", "if-none-match": "\"b\"", "range": "bytes=0-0"],
                    says: .response(304),
                    status: 206,
                    body: "v",
                    sent: ["if-none-match": "\"a\"", "abc": "1"],
                    notSent: ["range"],
                    from: .validated
                ),
                .asks(["abc": "1", "if-none-match": "\"a\""], says: .response(304), status: 304, from: .validated)
            ),
            Case(
                "§4.3.3 nothing stored: conditions go on, and the 304 comes back",
                .asks(
                    ["if-none-match": "\"a\""],
                    says: .response(304, ["etag": "\"a\""]),
                    status: 304,
                    sent: ["if-none-match": "\"a\""]
                ),
                .asks(says: fresh(body: "new"), body: "new"),
                .stored(body: "new")
            ),
            Case(
                "§3.2 freshening",
                .asks(
                    says: .response(
                        200,
                        ["cache-control": "max-age=0", "etag": "\"a\"", "a": "1", "b": "1", "age": "9"],
                        body: "v"
                    )
                ),
                .asks(
                    says: .response(
                        304,
                        ["cache-control": "max-age=60", "etag": "\"a\"", "b": "2", "connection": "c", "c": "3"]
                    ),
                    status: 200,
                    body: "v",
                    has: ["a": "1", "b": "2"],
                    lacks: ["c", "age"],
                    from: .validated
                ),
                .stored(body: "v", has: ["a": "1", "b": "2"])
            ),
            Case(
                "§4.3.4 a 304 of another one",
                .asks(says: .response(200, ["cache-control": "max-age=0", "etag": "\"a\""], body: "v")),
                .asks(says: .response(304, ["etag": "\"b\""]), status: 304, notSent: ["if-none-match"])
            ),
            Case(
                "§5.2.2.4 no-cache is stored and asked about",
                .asks(says: .response(200, ["cache-control": "no-cache, max-age=60", "etag": "\"a\""], body: "v")),
                .asks(says: .response(304), body: "v", from: .validated)
            ),
            Case(
                "§4.3.5 HEAD",
                .asks(says: fresh(("etag", "\"a\""), body: "vw")),
                .stored([:], "HEAD", status: 200, body: "", has: ["content-length": "2"]),
                .asks(["cache-control": "no-cache"], "HEAD", says: fresh(("etag", "\"b\""))),
                .asks(says: fresh())
            ),
            Case(
                "§4.3.5 HEAD with a login, of what may be kept for all",
                .asks(says: .response(200, ["cache-control": "public, max-age=60", "etag": "\"a\""], body: "vw")),
                .asks(
                    ["authorization": "x", "cache-control": "no-cache"],
                    "HEAD",
                    says: .response(200, ["cache-control": "public, max-age=60", "etag": "\"b\""])
                ),
                .asks(says: fresh())
            ),
            Case(
                "§4.3.5 HEAD with a login, of what is for its caller alone",
                .asks(says: fresh(("etag", "\"a\""), body: "vw")),
                .asks(["authorization": "x", "cache-control": "no-cache"], "HEAD", says: fresh(("etag", "\"b\""))),
                .stored([:], body: "vw")
            ),
        ]
    )
    private func validated(_ one: Case) async throws { try await one.run() }

    @Test(
        "§4.1 Vary",
        arguments: [
            Case(
                "one response for each",
                .asks(["foo": "1"], says: fresh(("vary", "Foo"), body: "one")),
                .asks(["foo": "2"], says: fresh(("vary", "Foo"), body: "two")),
                .stored(["FOO": "1", "other": "x"], body: "one"),
                .stored(["foo": "2"], body: "two"),
                .asks(says: fresh(("vary", "foo"), body: "none")),
                .stored(body: "none"),
                .asks(["foo": ""], says: fresh(("vary", "foo")))
            ),
            Case(
                "several fields",
                .asks(["a": "1", "c": "3"], says: fresh(("vary", "a, B"), ("vary", "c"))),
                .stored(["c": "3", "a": "1"]),
                .asks(["c": "3", "a": "1", "b": "2"], says: fresh(("vary", "a, b, c"))),
                .asks(["a": "1"], says: fresh(("vary", "a, b, c")))
            ),
            Case(
                "spaces and lines",
                .asks(["foo": "1,2"], says: fresh(("vary", "foo"))),
                .stored(["foo": " 1, 2 "]),
                .stored(["foo": "1", "Foo": "2"]),
                .asks(["foo": "2,1"], says: fresh())
            ),
            Case(
                "empty members",
                .asks(["foo": "a,"], says: fresh(("vary", "foo"), body: "one")),
                .asks(["foo": "a"], says: fresh(("vary", "foo"), body: "two")),
                .stored(["foo": "a , "], body: "one"),
                .stored(["foo": "a"], body: "two")
            ),
            Case(
                "RFC 9110 §7.6.1 fields of the connection",
                .asks(
                    ["foo": "a", "connection": "close, foo"],
                    says: fresh(("vary", "foo"), body: "none"),
                    notSent: ["foo"]
                ),
                .asks(["foo": "a"], says: fresh(("vary", "foo"), body: "a"), body: "a"),
                .stored(body: "none")
            ),
            Case(
                "languages",
                .asks(["accept-language": "en, de"], says: fresh(("vary", "accept-language"))),
                .stored(["accept-language": "de , EN"]),
                .asks(["accept-language": "de, en;q=0.5"], says: fresh())
            ),
            Case(
                "languages with spaces in them, which a server may read as it likes",
                .asks(["accept-language": "d e, en;q=0.5"], says: fresh(("vary", "accept-language"), body: "en")),
                .asks(["accept-language": "de, en;q=0.5"], says: fresh(("vary", "accept-language"), body: "de")),
                .stored(["accept-language": "en ; q = 0.5,DE"], body: "de"),
                .stored(["accept-language": "d e, en;q=0.5"], body: "en")
            ),
            Case(
                "other names later",
                .asks(["a": "1", "b": "1"], says: fresh(("vary", "a"), body: "a1")),
                .asks(["a": "2", "b": "2"], says: fresh(("vary", "b"), body: "b2")),
                .stored(["a": "1", "b": "1"], body: "a1"),
                .stored(["a": "3", "b": "2"], body: "b2")
            ),
            Case(
                "forgotten together",
                .asks(["a": "1"], says: fresh(("vary", "a"))),
                .asks(["a": "2"], says: fresh(("vary", "a"))),
                .asks([:], "DELETE", says: .response(204)),
                .asks(["a": "2"], says: fresh(("vary", "a"))),
                .asks(["a": "1"], says: fresh(("vary", "a")))
            ),
        ] + ["*", "*, *", ", *", "*, Foo", "Foo, *"].map { isAskedAgain($0, fresh(("vary", $0))) }
    )
    private func vary(_ one: Case) async throws { try await one.run() }

    @Test("§4.4 methods that may change something forget", arguments: ["POST", "PUT", "DELETE", "M-SEARCH", "PATCH"])
    func invalidation(method: String) async throws {
        try await Case(
            method,
            .asks(says: fresh()),
            .asks([:], "GET", "/l", says: fresh()),
            .asks([:], "GET", "/c?x", says: fresh()),
            .asks([:], "GET", "/other", says: fresh()),
            .asks([:], method, says: .response(500), status: 500),
            .stored(),
            .asks([:], "OPTIONS", says: .response(200)),
            .stored(),
            .asks([:], method, says: .response(201, ["location": "l", "content-location": "/c?x"]), status: 201),
            .asks(says: fresh()),
            .asks([:], "GET", "/l", says: fresh()),
            .asks([:], "GET", "/c?x", says: fresh()),
            .stored([:], "GET", "/other")
        )
        .run()
        try await Case(
            "another origin",
            .asks([:], "GET", "/l", says: fresh()),
            .asks([:], method, says: .response(200, ["location": "http://127.0.0.2/l"])),
            .stored([:], "GET", "/l")
        )
        .run()
    }

    @Test("§4.4 a value that is kept by its resource is forgotten as well; a POST may say what the URL has now")
    func invalidationOfValues() async throws {
        try await LocalServer.with { request in
            request.method == "POST"
                ? fresh(("content-location", request.path), body: request.body) : fresh(body: "old")
        } _: { server async throws in
            let cache = HTTPCache(in: MemoryLevel(limit: .entries(4)), HTTPFetcher())
            _ = try await cache.get(server.resource())
            _ = try await cache.respond(to: HTTPCacheRequest(method: "POST", server.url(), body: Array("new".utf8)))
            let response = try await cache.respond(to: HTTPCacheRequest(server.url()))
            #expect(response.body == Array("new".utf8) && response.source == .stored)
            _ = try await cache.get(server.resource())
            #expect(server.requests.count == 3)
        }
    }

    @Test("§4.4 a response that was on its way when its URL was forgotten is not kept", arguments: [false, true])
    func forgottenMeanwhile(isVarying: Bool) async throws {
        let gate = AsyncGate()
        try await LocalServer.with { request in
            if request.method == "GET", request.fields["wait"] != nil { try? await gate.pass() }
            return isVarying ? fresh(("vary", "a")) : fresh()
        } _: { server async throws in
            let cache = HTTPCache(in: MemoryLevel(limit: .entries(8)), HTTPFetcher())
            let request = HTTPCacheRequest(server.url(), fields: ["wait": "1"])
            async let late = cache.respond(to: request)
            await gate.arrivals()
            _ = try await cache.respond(to: HTTPCacheRequest(method: "PUT", server.url()))
            gate.open()
            #expect(try await late.source == .server)
            #expect(try await cache.respond(to: request).source == .server)
            #expect(try await cache.respond(to: request).source == .stored)
        }
    }
}
#endif
