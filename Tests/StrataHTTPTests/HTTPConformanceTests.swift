#if HTTP
import Strata
import StrataTesting
import Testing

@testable import StrataHTTP

private typealias Case = HTTPConformanceCase
private typealias Step = HTTPConformanceCase.Step

private let date = "Sun, 06 Nov 1994 08:49:37 GMT"
private let hour: HTTPFields = ["cache-control": "max-age=3600"]

private func fields(_ pairs: (String, String)...) -> HTTPFields {
    HTTPFields(pairs.map { (name: $0.0, value: $0.1) })
}

private func fresh(_ more: (String, String)..., body: String = "v", status: Int = 200) -> LocalServer.Answer {
    .response(
        status,
        HTTPFields(([("cache-control", "max-age=3600"), ("date", date)] + more).map { (name: $0.0, value: $0.1) }),
        body: status == 204 ? "" : body
    )
}

/// Fresh ones are stored and served; the same answer is asked for anew otherwise.
private func isReused(_ name: String, _ answer: LocalServer.Answer, rules: HTTPLifetime.Rules = .init()) -> Case {
    Case(name, rules: rules, .asks(says: answer), .stored())
}

private func isAskedAgain(_ name: String, _ answer: LocalServer.Answer, rules: HTTPLifetime.Rules = .init()) -> Case {
    Case(name, rules: rules, .asks(says: answer), .asks(says: .response(200, body: "new"), body: "new"))
}

@Suite("RFC 9111: what a cache of whole responses must do", .timeLimit(.minutes(3)))
struct HTTPConformanceTests {
    @Test(
        "§3 every status is stored by its explicit lifetime and served as what it is",
        arguments: [200, 203, 204, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504, 599]
    )
    func statuses(status: Int) async throws {
        let body = status == 204 ? "" : "v"
        try await Case(
            "\(status)",
            .asks(says: fresh(("location", "/x"), status: status), status: status, body: body),
            .stored(status: status, body: body)
        )
        .run()
        let past = Step.answer(fields(("expires", date), ("date", "Sun, 06 Nov 1994 09:49:37 GMT")), status)
        try await Case("stale \(status)", .asks(says: past), .asks(says: .response(200, body: "new"), body: "new"))
            .run()
    }

    @Test(
        "§4.2.2 heuristic freshness, where RFC 9110 §15.1 allows it",
        arguments: [200, 203, 204, 404, 405, 410, 414, 501]
    )
    func heuristic(status: Int) async throws {
        let since = fields(("last-modified", "Sat, 05 Nov 1994 08:49:37 GMT"), ("date", date))
        try await isReused("\(status)", Step.answer(since, status)).run()
    }

    @Test("§4.2.2 no heuristic freshness for others", arguments: [201, 202, 403, 502, 503, 504, 599])
    func notHeuristic(status: Int) async throws {
        let since = fields(("last-modified", "Sat, 05 Nov 1994 08:49:37 GMT"), ("date", date))
        try await isAskedAgain("\(status)", Step.answer(since, status)).run()
        let isPublic = fields(
            ("last-modified", "Sat, 05 Nov 1994 08:49:37 GMT"),
            ("date", date),
            ("cache-control", "public")
        )
        try await isReused("public \(status)", Step.answer(isPublic, status)).run()
    }

    @Test(
        "§5.2, §5.3 directives and dates",
        arguments: [
            isReused("§5.2.2.1 quoted", .response(200, ["cache-control": "max-age=\"3600\""])),
            isReused("§5.2.2.1 zeros before", .response(200, ["cache-control": "max-age=003600"])),
            isReused("§1.2.2 beyond 2³¹", .response(200, ["cache-control": "MaX-aGe=99999999999, x"])),
            isReused("§5.2.2.10 s-maxage", .response(200, ["cache-control": "max-age=0, s-maxage=60"])),
            isReused(
                "§5.2.2.3 must-understand",
                .response(200, ["cache-control": "max-age=60, no-store, must-understand"])
            ),
            isAskedAgain(
                "§5.2.2.3 not understood",
                .response(599, ["cache-control": "max-age=60, no-store, must-understand"])
            ),
            isAskedAgain("§5.2.2.5 no-store", .response(200, ["cache-control": "max-age=60, No-StOrE"])),
            isAskedAgain("§5.2.2.7 private", .response(200, ["cache-control": "private, max-age=60"])),
            isAskedAgain("§5.2.2.4 no-cache", .response(200, ["cache-control": "max-age=60, No-CaChE"])),
            isAskedAgain("§5.2.2.1 single quotes", .response(200, ["cache-control": "max-age='3600'"])),
            isAskedAgain("§5.2.2.1 in a string", .response(200, ["cache-control": "x=\"max-age=3600\", max-age=0"])),
            isAskedAgain(
                "§5.3 max-age beats Expires",
                .response(
                    200,
                    ["cache-control": "max-age=0", "expires": "Sun, 06 Nov 2050 08:49:37 GMT", "date": date]
                )
            ),
            isReused("§5.3 without a date", .response(200, ["expires": "Sun, 06 Nov 2050 08:49:37 GMT", "date": "x"])),
            isReused("§5.3 RFC 850", .response(200, ["expires": "Sunday, 06-Nov-50 08:49:37 GMT", "date": date])),
            isReused("§5.3 asctime", .response(200, ["expires": "Sun Nov  6 08:49:37 2050", "date": date])),
            isReused("§5.3 case", .response(200, ["expires": "SUN, 06 NOV 2050 08:49:37 gMT", "date": date])),
        ]
            + [
                "0", "Sun, 06 Nov 2050 08:49:37 UTC", "Sun, 06 Nov 2050 08:49:37 AEST", "Sun, 06 Nov 50 08:49:37 GMT",
                "Sun 06 Nov 2050 08:49:37 GMT", "Sun, 06  Nov  2050 08:49:37 GMT", "Sun, 06-Nov-2050 08:49:37 GMT",
                "Sun, 06 Nov 2050 08.49.37 GMT", "Sun, 06 Nov 2050 8:49:37 GMT", date,
            ]
            .map { isAskedAgain("§5.3 " + $0, .response(200, ["expires": $0, "date": date])) }
            + [
                isAskedAgain(
                    "§5.3 twice",
                    .response(
                        200,
                        ["expires": "Sun, 06 Nov 2050 08:49:37 GMT", "Expires": "Sun, 06 Nov 2050 08:49:38 GMT"]
                    )
                )
            ]
    )
    private func directives(_ one: Case) async throws { try await one.run() }

    @Test(
        "§5.1 Age: the first value counts, and what is no number does not",
        arguments: [
            (["abc"], true), (["-7200"], true), (["7200.0"], true), (["0, 7200"], true), (["0", "7200"], true),
            (["0, 0"], true), (["60", "60"], true), (["7200, 0"], false), (["7200", "0"], false),
            (["2147483647"], false), (["2147483649"], false), (["99999999999999999999"], false), (["7200;x=1"], false),
        ]
    )
    func ageParsed(ages: [String], isFresh: Bool) async throws {
        let answer = LocalServer.Answer.response(
            200,
            HTTPFields(
                [("cache-control", "max-age=3600")].map { (name: $0.0, value: $0.1) }
                    + ages.map { (name: "age", value: $0) }
            )
        )
        try await (isFresh ? isReused("\(ages)", answer) : isAskedAgain("\(ages)", answer)).run()
    }

    @Test("§5.1 Age is said of what was stored, from that of the server on; the date stays")
    func ageSaid() async throws {
        try await LocalServer.with { _ in
            .response(200, ["cache-control": "max-age=600", "age": "30", "date": date], body: "v")
        } _: { server async throws in
            let memory = MemoryLevel<HTTPResource, HTTPContent>(limit: .entries(4))
            let cache = HTTPCache(in: memory, HTTPFetcher())
            let request = HTTPCacheRequest(server.url())
            _ = try await cache.respond(to: request)
            let key = HTTPTarget(request).base
            var entry = try #require(try await memory.entry(for: key, ReadRequest()))
            entry.storedAt = entry.storedAt.advanced(by: .seconds(-100))
            try await memory.store(entry, for: key)
            let response = try await cache.respond(to: request)
            #expect(try #require(response.age) >= 130 && response.fields["date"] == date)
            #expect(response.source == .stored && server.requests.count == 1)
        }
    }

    @Test(
        "§3.1 what is not stored",
        arguments: [
            Case(
                "of the connection",
                .asks(
                    says: fresh(
                        ("connection", "a, B"),
                        ("a", "1"),
                        ("b", "2"),
                        ("c", "3"),
                        ("keep-alive", "x"),
                        ("te", "x"),
                        ("upgrade", "x"),
                        ("proxy-connection", "x")
                    ),
                    lacks: ["a", "connection"]
                ),
                .stored(
                    has: ["c": "3"],
                    lacks: ["a", "b", "connection", "keep-alive", "te", "upgrade", "proxy-connection"]
                )
            ),
            Case(
                "of the proxy",
                .asks(
                    says: fresh(
                        ("proxy-authenticate", "x"),
                        ("proxy-authentication-info", "x"),
                        ("proxy-authorization", "x"),
                        ("set-cookie", "a=b")
                    )
                ),
                .stored(
                    has: ["set-cookie": "a=b"],
                    lacks: ["proxy-authenticate", "proxy-authentication-info", "proxy-authorization"]
                )
            ),
            Case(
                "§5.2.2.4 named",
                .asks(
                    says: .response(
                        200,
                        ["cache-control": "no-cache=\"a, B\", max-age=60", "a": "1", "b": "2", "c": "3"]
                    ),
                    has: ["a": "1"]
                ),
                .stored(has: ["c": "3"], lacks: ["a", "b"])
            ),
            Case(
                "§5.2.2.7 named",
                .asks(
                    says: .response(200, ["cache-control": "private=\"set-cookie\", max-age=60", "set-cookie": "a=b"]),
                    has: ["set-cookie": "a=b"]
                ),
                .stored(lacks: ["set-cookie"])
            ),
        ]
    )
    private func notStored(_ one: Case) async throws { try await one.run() }

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
                "languages",
                .asks(["accept-language": "en, de"], says: fresh(("vary", "accept-language"))),
                .stored(["accept-language": "de , EN"]),
                .asks(["accept-language": "de, en;q=0.5"], says: fresh())
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

    @Test(
        "RFC 9110 §14 ranges",
        arguments: [
            Case(
                "of a complete one",
                .asks(says: fresh(("etag", "\"a\""), body: "0123456789")),
                .stored(
                    ["range": "bytes=0-1"],
                    status: 206,
                    body: "01",
                    has: ["content-range": "bytes 0-1/10", "content-length": "2"]
                ),
                .stored(["range": "bytes=7-"], status: 206, body: "789"),
                .stored(["range": "bytes=-1"], status: 206, body: "9"),
                .stored(["range": "bytes=8-99"], status: 206, body: "89"),
                .stored(["range": "bytes=10-"], status: 416, body: "", has: ["content-range": "bytes */10"]),
                .stored(["range": "bytes=0-0,2-3"], status: 200),
                .stored(["range": "lines=1-2"], status: 200),
                .stored(["range": "bytes=0-1", "if-range": "\"a\""], status: 206),
                .stored(["range": "bytes=0-1", "if-range": "\"b\""], status: 200)
            ),
            Case(
                "§3.3 parts",
                .asks(
                    ["range": "bytes=-6"],
                    says: fresh(("content-range", "bytes 4-9/10"), body: "456789", status: 206),
                    status: 206,
                    sent: ["range": "bytes=-6"]
                ),
                .stored(["range": "bytes=-6"], status: 206, body: "456789"),
                .stored(["range": "bytes=6-8"], status: 206, body: "678"),
                .stored(["range": "bytes=-1"], status: 206, body: "9", has: ["content-range": "bytes 9-9/10"]),
                .asks(
                    ["range": "bytes=3-8"],
                    says: .response(206, ["content-range": "x"], body: "345678"),
                    body: "345678"
                ),
                .asks(says: fresh(body: "0123456789"), status: 200),
                .stored(["range": "bytes=3-4"], body: "34")
            ),
            Case(
                "§3.4 parts are joined",
                .asks(
                    ["range": "bytes=0-3"],
                    says: fresh(("etag", "\"a\""), ("content-range", "bytes 0-3/10"), body: "0123", status: 206)
                ),
                .asks(
                    ["range": "bytes=6-"],
                    says: fresh(("etag", "\"b\""), ("content-range", "bytes 6-9/10"), body: "6789", status: 206)
                ),
                .asks(
                    ["range": "bytes=3-7"],
                    says: fresh(("etag", "\"b\""), ("content-range", "bytes 3-7/10"), body: "34567", status: 206),
                    body: "34567"
                ),
                .asks(
                    ["range": "bytes=0-2"],
                    says: fresh(("etag", "\"b\""), ("content-range", "bytes 0-2/10"), body: "012", status: 206)
                ),
                .stored(status: 200, body: "0123456789", lacks: ["content-range"])
            ),
        ]
    )
    private func ranges(_ one: Case) async throws { try await one.run() }

    @Test(
        "§5.2.1 directives of requests, §3.5 credentials",
        arguments: [
            Case(
                "asked anew",
                .asks(says: .response(200, ["cache-control": "max-age=3600", "age": "1800", "etag": "\"a\""])),
                .stored(["cache-control": "max-age=1900"]),
                .stored(["pragma": "x"]),
                .stored(["cache-control": "min-fresh=1700"]),
                .asks(
                    ["cache-control": "no-cache"],
                    says: .response(304, ["age": "1800"]),
                    sent: ["if-none-match": "\"a\""],
                    from: .validated
                ),
                .asks(["pragma": "no-cache"], says: .response(304, ["age": "1800"]), from: .validated),
                .asks(["cache-control": "max-age=600"], says: .response(304, ["age": "1800"]), from: .validated),
                .asks(["cache-control": "min-fresh=1900"], says: .response(304, ["age": "1800"]), from: .validated),
                .asks(["cache-control": "no-store"], says: .response(200), notSent: ["if-none-match"])
            ),
            Case(
                "§5.2.1.5 no-store is not stored",
                .asks(["cache-control": "no-store"], says: fresh()),
                .asks(says: fresh())
            ),
            Case(
                "§5.2.1.7",
                .asks(["cache-control": "only-if-cached"], says: fresh(), status: 504, from: .none),
                .asks(says: fresh()),
                .stored(["cache-control": "only-if-cached"], status: 200)
            ),
            Case(
                "§5.2.1.2",
                .asks(says: .response(200, ["cache-control": "max-age=60", "age": "100", "etag": "\"a\""])),
                .asks(["cache-control": "max-stale=30"], says: .response(304, ["age": "100"]), from: .validated),
                .asks(["cache-control": "max-stale=99999"], says: .close, from: .stale),
                .asks(["cache-control": "max-stale"], says: .close, from: .stale)
            ),
            isAskedAgain("none", .response(200)),
            Case(
                "§3.5 not stored",
                .asks(["authorization": "x"], says: fresh(), sent: ["authorization": "x"]),
                .asks(says: fresh())
            ),
        ]
            + ["public", "must-revalidate", "s-maxage=60"]
            .map {
                Case(
                    "§3.5 " + $0,
                    .asks(["authorization": "x"], says: .response(200, ["cache-control": "max-age=60, " + $0])),
                    .stored()
                )
            }
    )
    private func requests(_ one: Case) async throws { try await one.run() }

    @Test(
        "§4.2.4, RFC 5861 stale ones",
        arguments: [
            Case(
                "no answer",
                .asks(says: .response(200, ["cache-control": "max-age=0", "etag": "\"a\""], body: "v")),
                .asks(says: .close, body: "v", from: .stale),
                .asks(says: .response(503), status: 503),
                .asks(says: .close, body: "v", from: .stale)
            ),
            Case(
                "stale-if-error",
                .asks(says: .response(200, ["cache-control": "max-age=0, stale-if-error=60"], body: "v")),
                .asks(says: .response(500), status: 200, body: "v", from: .stale),
                .asks(says: .response(404), status: 404)
            ),
            Case(
                "of the request",
                .asks(says: .response(200, ["cache-control": "max-age=0", "etag": "\"a\""], body: "v")),
                .asks(["cache-control": "stale-if-error=60"], says: .response(502), body: "v", from: .stale),
                .asks(["cache-control": "stale-if-error=0"], says: .response(502), status: 502)
            ),
            Case(
                "§5.2.2.2 strict",
                .asks(
                    says: .response(
                        200,
                        ["cache-control": "max-age=0, must-revalidate, stale-if-error=9", "etag": "\"a\""]
                    )
                ),
                .asks(["cache-control": "max-stale, stale-if-error=60"], says: .response(503), status: 503)
            ),
        ]
    )
    private func stale(_ one: Case) async throws { try await one.run() }

    @Test(
        "§4.2.4 strict ones are not served when the server gives no answer",
        arguments: ["must-revalidate", "proxy-revalidate", "no-cache", "s-maxage=0"]
    )
    func strict(directive: String) async throws {
        let first = Locked(true)
        try await LocalServer.with { _ in
            let isFirst = first.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            return isFirst ? .response(200, ["cache-control": "max-age=0, \(directive)", "etag": "\"a\""]) : .close
        } _: { server async throws in
            let cache = HTTPCache(in: MemoryLevel(limit: .entries(4)), HTTPFetcher())
            _ = try await cache.respond(to: HTTPCacheRequest(server.url()))
            await #expect(throws: (any Error).self) { try await cache.respond(to: HTTPCacheRequest(server.url())) }
        }
    }

    @Test("RFC 5861 §3 stale-while-revalidate: served at once, asked about in the background, once for all callers")
    func staleWhileRevalidate() async throws {
        let gate = AsyncGate()
        try await LocalServer.with { request in
            guard request.fields["if-none-match"] != nil else {
                return .response(
                    200,
                    ["cache-control": "max-age=0, stale-while-revalidate=60", "etag": "\"a\""],
                    body: "one"
                )
            }
            try? await gate.pass()
            return .response(200, ["cache-control": "max-age=60", "etag": "\"b\""], body: "two")
        } _: { server async throws in
            let cache = HTTPCache(in: MemoryLevel(limit: .entries(4)), HTTPFetcher())
            _ = try await cache.respond(to: HTTPCacheRequest(server.url()))
            try await withThrowingTaskGroup(of: Void.self) { group async throws in
                group.addTask { await cache.run() }
                await cache.refreshes.wait { isRunning, _ in isRunning }
                for caller in 0..<3 {
                    let request = HTTPCacheRequest(server.url(), fields: ["caller": "\(caller)"])
                    let response = try await cache.respond(to: request)
                    #expect(response.source == .stale && response.body == Array("one".utf8))
                }
                await gate.arrivals()
                gate.open()
                await cache.refreshes.wait { _, pending in pending == 0 }
                let response = try await cache.respond(to: HTTPCacheRequest(server.url()))
                #expect(response.source == .stored && response.body == Array("two".utf8))
                #expect(server.requests.count == 2)
                group.cancelAll()
            }
        }
    }

    private static let targeted = HTTPLifetime.Rules(targetedFields: ["cdn-cache-control"])

    @Test(
        "RFC 9213 targeted fields, by option",
        arguments: [
            isReused(
                "beats",
                .response(
                    200,
                    [
                        "cdn-cache-control": "foobar, max-age=60", "cache-control": "no-store", "expires": date,
                        "date": date,
                    ]
                ),
                rules: targeted
            ),
            isAskedAgain(
                "shorter",
                .response(200, ["cdn-cache-control": "max-age=0", "cache-control": "max-age=60"]),
                rules: targeted
            ),
            isAskedAgain(
                "Expires does not count",
                .response(200, ["cdn-cache-control": "foo", "expires": "Sun, 06 Nov 2050 08:49:37 GMT", "date": date]),
                rules: targeted
            ),
            isAskedAgain("age", .response(200, ["cdn-cache-control": "max-age=60", "age": "99"]), rules: targeted),
            isAskedAgain("not asked for", .response(200, ["cdn-cache-control": "max-age=60"])),
        ]
            + ["private", "no-cache", "no-store"]
            .map {
                isAskedAgain(
                    $0,
                    .response(200, ["cdn-cache-control": $0, "cache-control": "max-age=60"]),
                    rules: targeted
                )
            }
            + ["max-age=60, &&&", "max-age=\"60\"", "Max-Age=60", "max-age= 60", ""]
            .map {
                isAskedAgain(
                    "void: " + $0,
                    .response(200, ["cdn-cache-control": $0, "cache-control": "no-store"]),
                    rules: targeted
                )
            }
    )
    private func targetedFields(_ one: Case) async throws { try await one.run() }

    @Test(
        "RFC 9110 §7.6.1 requests go on without the fields of their connection; redirects are not followed; queries count"
    )
    func forwarded() async throws {
        try await Case(
            "forwarded",
            .asks(
                ["connection": "x-hop", "x-hop": "1", "te": "trailers", "accept": "a", "host": "elsewhere"],
                "POST",
                "/p?q",
                says: .response(307, ["location": "/other"]),
                status: 307,
                has: ["location": "/other"],
                sent: ["accept": "a", "content-length": "1"],
                notSent: ["x-hop", "te"]
            ),
            .asks([:], "GET", "/?a=1", says: fresh(body: "1")),
            .asks([:], "GET", "/?a=2", says: fresh(body: "2")),
            .stored(["cookie": "c"], "GET", "/?a=1", body: "1")
        )
        .run()
    }
}
#endif
