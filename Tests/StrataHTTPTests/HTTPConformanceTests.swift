#if HTTP
import Strata
import StrataTesting
import Testing

@testable import StrataHTTP

private typealias Case = HTTPConformanceCase
private typealias Step = HTTPConformanceCase.Step

@Suite("RFC 9111: what a cache of whole responses must do", .timeLimit(.minutes(5)))
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

    @Test("a cookie reaches others only where the server says that the response is good for a while")
    func cookies() async throws {
        let old = "Mon, 16 Nov 2020 10:00:00 GMT"
        for (says, isFresh, hasCookie) in [
            (["last-modified": old] as HTTPFields, true, false), (["cache-control": "max-age=60"], true, true),
            (["cache-control": "public, max-age=60"], true, true),
            (["cache-control": "max-age=0", "etag": "\"a\""], false, false),
            (["cache-control": "no-cache", "etag": "\"a\""], false, false),
        ] {
            try await LocalServer.with { request in
                if request.fields["if-none-match"] != nil { return .response(304, says) }
                return .response(200, says.with("set-cookie", "sid=A"), body: "v")
            } _: { server async throws in
                let cache = HTTPCache(in: MemoryLevel(limit: .entries(4)), HTTPFetcher())
                let first = try await cache.respond(to: HTTPCacheRequest(server.url()))
                #expect(first.fields["set-cookie"] == "sid=A", "\(says)")
                let second = try await cache.respond(to: HTTPCacheRequest(server.url()))
                #expect(second.source == (isFresh ? .stored : .validated) && second.body == Array("v".utf8), "\(says)")
                #expect((second.fields["set-cookie"] != nil) == hasCookie, "\(says)")
            }
        }
    }

    @Test("neither user nor password nor query of a resource is shown")
    func description() {
        for (url, shown) in [
            ("https://user:pw@host/p?q=1", "https://host/p"), ("https://a@b:pw@host:8080/p@q", "https://host:8080/p@q"),
            ("https://host/p@q", "https://host/p@q"), ("host/p?q", "host/p"), ("https://u@host?q", "https://host"),
        ] { #expect(HTTPResource(url).description == shown) }
    }
}
#endif
