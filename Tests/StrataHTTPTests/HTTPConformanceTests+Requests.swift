#if HTTP
import Strata
import StrataTesting
import Testing

@testable import StrataHTTP

private typealias Case = HTTPConformanceCase
private typealias Step = HTTPConformanceCase.Step

/// Ranges, what callers ask for, stale responses, targeted fields, and what goes on to the server.
extension HTTPConformanceTests {
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
                "§13.1.5 by the date of a second that was over",
                .asks(says: fresh(("last-modified", "Sun, 06 Nov 1994 08:49:36 GMT"), body: "0123456789")),
                .stored(["range": "bytes=0-1", "if-range": "Sun, 06 Nov 1994 08:49:36 GMT"], status: 206)
            ),
            Case(
                "§13.1.5 by the date of the second in which it was sent",
                .asks(says: fresh(("last-modified", date), body: "0123456789")),
                .stored(["range": "bytes=0-1", "if-range": date], status: 200)
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
                "a stale part is replaced",
                .asks(
                    ["range": "bytes=0-3"],
                    says: .response(
                        206,
                        ["cache-control": "max-age=0, stale-if-error=60", "content-range": "bytes 0-3/10"],
                        body: "0123"
                    ),
                    status: 206
                ),
                .asks(
                    ["range": "bytes=0-3"],
                    says: fresh(("content-range", "bytes 0-3/10"), body: "abcd", status: 206),
                    status: 206
                ),
                .stored(["range": "bytes=0-3"], status: 206, body: "abcd")
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
            Case(
                "§3.5 what is confirmed to one stays for all",
                .asks(says: .response(200, ["cache-control": "max-age=3600", "etag": "\"a\""])),
                .asks(
                    ["authorization": "x", "cache-control": "no-cache"],
                    says: .response(304, ["etag": "\"a\""]),
                    from: .validated
                ),
                .stored()
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
                .asks(says: .close, body: "v", from: .stale),
                .asks(says: .response(503, ["expires": "0"]), status: 503),
                .asks(says: .response(500, ["cache-control": "max-age=0"]), status: 500),
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
