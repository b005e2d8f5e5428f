#if HTTP
import StrataTesting
import Testing

@testable import StrataHTTP

@Suite("The lifetime of a response")
struct HTTPLifetimeTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    private func lifetime(
        _ fields: HTTPFields,
        status: Int = 200,
        authorized: Bool = false,
        delay: Int = 0,
        _ rules: HTTPLifetime.Rules = HTTPLifetime.Rules()
    ) -> HTTPLifetime {
        HTTPLifetime(status: status, fields: fields, isAuthorized: authorized, delay: delay, rules: rules)
    }

    @Test("s-maxage beats max-age, which beats Expires, which beats the heuristic")
    func precedence() {
        let all: HTTPFields = [
            "Cache-Control": "max-age=20, S-MAXAGE=10", "Expires": "Sun, 06 Nov 1994 08:50:07 GMT", "Date": Self.date,
            "Last-Modified": "Sun, 06 Nov 1994 08:32:57 GMT",
        ]
        #expect(lifetime(all).freshFor == 10)
        #expect(lifetime(all, HTTPLifetime.Rules(storesPrivate: true)).freshFor == 20)
        let expiring: HTTPFields = [
            "Expires": "Sun, 06 Nov 1994 08:50:07 GMT", "Date": Self.date,
            "Last-Modified": "Sun, 06 Nov 1994 08:32:57 GMT",
        ]
        #expect(lifetime(expiring).freshFor == 30)
        let modified: HTTPFields = ["Date": Self.date, "Last-Modified": "Sun, 06 Nov 1994 08:32:57 GMT"]
        #expect(lifetime(modified).freshFor == 100)
        #expect(lifetime(modified, status: 202) == HTTPLifetime(isStorable: false))
        #expect(lifetime(["Date": Self.date, "Last-Modified": "Sun, 06 Nov 1904 08:32:57 GMT"]).freshFor == 86_400)
        #expect(lifetime(modified, HTTPLifetime.Rules(heuristicShare: 0)).freshFor == 0)
        #expect(lifetime([:]).freshFor == 0)
    }

    @Test("age and the time that the response took are taken off")
    func age() {
        #expect(lifetime(["cache-control": "max-age=60", "age": "20"]).freshFor == 40)
        #expect(lifetime(["cache-control": "max-age=60", "age": "20"], delay: 15).freshFor == 25)
        let old = lifetime(["cache-control": "max-age=60", "age": "90"], delay: 2)
        #expect(old == HTTPLifetime(isStorable: true, age: 92, staleFor: 32))
        #expect(lifetime(["cache-control": "max-age=60", "age": "junk"]).freshFor == 60)
    }

    @Test(
        "what must not be stored in a cache that users share is not",
        arguments: [
            ["cache-control": "no-store, max-age=60"], ["cache-control": "private, max-age=60"],
            ["cache-control": "private=\"\", max-age=60"], ["cache-control": "max-age=60", "vary": "accept, *"],
            // Marks that make one character with the comma before them.
            ["cache-control": "no-store,\u{301}x, max-age=60"], ["cache-control": "max-age=60", "vary": "*,\u{301}x"],
        ] as [HTTPFields]
    )
    func notStored(fields: HTTPFields) {
        #expect(!lifetime(fields).isStorable)
    }

    @Test("RFC 9110 §15.1: some statuses are stored by themselves, others when the response says how long")
    func statuses() {
        for status in [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501] {
            #expect(lifetime([:], status: status).isStorable)
        }
        #expect(lifetime([:], status: 206).isStorable)
        #expect(!lifetime([:], status: 206, HTTPLifetime.Rules(storesRanges: false)).isStorable)
        for status in [201, 202, 302, 307, 400, 403, 500, 503] {
            #expect(!lifetime([:], status: status).isStorable)
            #expect(lifetime(["cache-control": "max-age=1"], status: status).isStorable)
            #expect(!lifetime(["cache-control": "max-age=1, must-understand"], status: status).isStorable)
        }
        for status in [100, 304] { #expect(!lifetime(["cache-control": "max-age=1"], status: status).isStorable) }
    }

    @Test("a response to a request with credentials is stored only if it says so")
    func authorization() {
        #expect(!lifetime(["cache-control": "max-age=60"], authorized: true).isStorable)
        for allowance in ["public", "s-maxage=60", "must-revalidate"] {
            #expect(lifetime(["cache-control": "max-age=60, \(allowance)"], authorized: true).isStorable)
        }
        let own = HTTPLifetime.Rules(storesPrivate: true)
        #expect(lifetime(["cache-control": "private, max-age=60"], authorized: true, own).freshFor == 60)
    }

    @Test("no-cache: stored, and asked about each time; strict responses are never served stale")
    func strict() {
        #expect(lifetime(["cache-control": "no-cache, max-age=60"]) == HTTPLifetime(isStorable: true, isStrict: true))
        let windows = "stale-while-revalidate=5, stale-if-error=\"7\""
        #expect(
            lifetime(["cache-control": "max-age=60, \(windows)"])
                == HTTPLifetime(isStorable: true, freshFor: 60, staleWhileRevalidate: 5, staleIfError: 7)
        )
        for strict in ["must-revalidate", "proxy-revalidate", "s-maxage=60", "no-cache"] {
            let found = lifetime(["cache-control": "max-age=60, \(strict), \(windows)"])
            #expect(found.staleWhileRevalidate == 0 && found.staleIfError == 0 && found.isStrict)
        }
    }

    @Test("of several the smallest; what is no number, and what is no date, is stale; huge ones are held")
    func invalid() {
        #expect(lifetime(["cache-control": "max-age=60", "Cache-Control": "max-age=10"]).freshFor == 10)
        for value in ["max-age=abc", "max-age=-1", "max-age", "max-age=", "max-age=1.5", "max-age = 5x"] {
            #expect(lifetime(["cache-control": value]).freshFor == 0)
        }
        #expect(lifetime(["cache-control": "max-age=99999999999999999999999999"]).freshFor == 1 << 31)
        #expect(lifetime(["expires": "0", "date": Self.date]).freshFor == 0)
        #expect(lifetime(["expires": Self.date]).freshFor == 0)
        #expect(lifetime(["cache-control": "x=\"a, max-age=5\\\", no-store\", max-age=7"]).freshFor == 7)
    }

    @Test("dates in their three forms, and none that does not exist")
    func dates() {
        for text in [Self.date, "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            #expect(HTTPDate.seconds(text) == 784_111_777)
        }
        #expect(HTTPDate.seconds("Thu, 01 Jan 1970 00:00:00 GMT") == 0)
        #expect(HTTPDate.seconds("Thu, 29 Feb 2024 00:00:00 GMT") == 1_709_164_800)
        #expect(HTTPDate.seconds("Fri, 31 Dec 9999 23:59:60 GMT") == 253_402_300_800)
        for text in [
            "", "0", "soon", "Thu, 29 Feb 2023 00:00:00 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nix 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 PST",
            "Sun, 06 Nov 1994 8:49 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT",
            "Sun, 06  Nov 1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 06 Nov 1994 08.49.37 GMT",
            "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994",
            "Sun, 06 Nov 1994 08:49:37", "Sun Nov  6 08:49:37 1994 GMT", ",", String(repeating: "a ", count: 1_000),
        ] {
            #expect(HTTPDate.seconds(text) == nil, "\(text)")
        }
    }

    @Test("RFC 9110 §5.6.7 dates are written in the first form, and read back")
    func dateText() {
        #expect(HTTPDate.text(784_111_777) == Self.date)
        #expect(HTTPDate.text(0) == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(HTTPDate.text(1_709_164_800) == "Thu, 29 Feb 2024 00:00:00 GMT")
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<1_000 {
            let seconds = Int.random(in: -2_000_000_000...200_000_000_000, using: &random)
            #expect(HTTPDate.seconds(HTTPDate.text(seconds)) == seconds, "seed \(seed)")
        }
    }

    @Test("RFC 9110 §14 ranges and parts that are none, or whose numbers are beyond all bytes")
    func ranges() {
        for text in ["bytes=", "bytes=-", "bytes=5-2", "bytes=a-", "bytes", "bytes=1-2,4-5", "bytes=+1-2"] {
            #expect(HTTPRange(["range": text]) == nil, "\(text)")
        }
        #expect(HTTPRange(["range": "bytes=0-999999999999999999"])?.bytes(of: 3) == 0..<3)
        #expect(HTTPRange(["range": "bytes=0-99999999999999999999"]) == nil)
        #expect(HTTPRange(["range": "bytes=-999"])?.bytes(of: 3) == 0..<3)
        #expect(HTTPRange(["range": "bytes=-0"])?.bytes(of: 3) == nil)
        #expect(HTTPPart(["content-range": "bytes 0-2/3"], body: 3)?.bytes == 0..<3)
        for text in [
            "bytes 0-2/2", "bytes 0-3/9", "bytes 2-0/9", "bytes */9", "x 0-2/3", "bytes 0-9223372036854775807/*",
        ] {
            #expect(HTTPPart(["content-range": text], body: 3) == nil, "\(text)")
        }
    }

    @Test("any bytes in the fields give some lifetime, and never a trap")
    func noise() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let words = [
            "max-age", "=", "\"", "\\", ",", " ", "s-maxage", "9", "no-cache", "\u{0}", "é", Self.date, "*", "-", ":",
        ]
        for _ in 0..<2_000 {
            func text() -> String {
                (0..<Int.random(in: 0...8, using: &random)).map { _ in words.randomElement(using: &random) ?? "" }
                    .joined()
            }
            let found = lifetime([
                "cache-control": text(), "expires": text(), "date": text(), "age": text(), "last-modified": text(),
                "vary": text(),
            ])
            #expect(found.freshFor >= 0 && found.staleIfError >= 0 && found.staleWhileRevalidate >= 0, "seed \(seed)")
        }
    }

    @Test("when to ask again: seconds, or a date after that of the response")
    func retryAfter() {
        #expect(RetryAfter.seconds(["retry-after": "120"]) == 120)
        #expect(RetryAfter.seconds(["retry-after": "Sun, 06 Nov 1994 08:49:57 GMT", "date": Self.date]) == 20)
        #expect(RetryAfter.seconds(["retry-after": Self.date, "date": "Sun, 06 Nov 1994 08:49:57 GMT"]) == 0)
        #expect(RetryAfter.seconds(["retry-after": "soon"]) == nil)
        #expect(RetryAfter.seconds([:]) == nil)
    }

    @Test("fields of a revalidation take the place of the old ones, but for those that describe the body")
    func updated() {
        let old: HTTPFields = ["ETag": "\"1\"", "Age": "5", "Content-Length": "9", "X": "a", "x": "b"]
        let new: HTTPFields = ["etag": "\"2\"", "content-length": "0", "x": "c", "date": Self.date]
        let found = old.updated(by: new)
        #expect(found["etag"] == "\"2\"" && found["content-length"] == "9" && found["age"] == nil)
        #expect(found.values(of: "X") == ["c"] && found["date"] == Self.date)
    }

    @Test("keys: fields are part of them, fragments are not, and nothing collides")
    func keys() {
        let url = "http://a/b?c"
        #expect(HTTPResource(url + "#d") == HTTPResource(url))
        #expect(HTTPResource(url + "#\u{301}") == HTTPResource(url))
        #expect(HTTPResource(url, fields: ["A": "b", "c": "d"]) == HTTPResource(url, fields: ["C": "d", "a": "b"]))
        let keys = [
            HTTPResource(url), HTTPResource(url, fields: ["a": ""]), HTTPResource(url, fields: ["a": "b"]),
            HTTPResource(url + ":a", fields: [:]), HTTPResource(url + ":a:b"), HTTPResource(url, fields: ["a:b": ""]),
        ]
        #expect(Set(keys.map(\.keyBytes)).count == keys.count)
        #expect(HTTPResource("http://user:pw@Example.com:80/x@y").host == "example.com:80")
        // One text, and not one resource.
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        #expect(composed == decomposed)
        for (one, other) in [
            (HTTPResource("http://a/\(composed)"), HTTPResource("http://a/\(decomposed)")),
            (HTTPResource("http://a?\(composed)"), HTTPResource("http://a?\(decomposed)")),
            (HTTPResource(url, fields: ["x": composed]), HTTPResource(url, fields: ["x": decomposed])),
            (HTTPResource(url, fields: ["accept": composed]), HTTPResource(url, fields: ["accept": decomposed])),
        ] {
            #expect(one != other && one.keyBytes != other.keyBytes)
            #expect(Set([one, other]).count == 2)
        }
        #expect(HTTPResource("http://a/\(composed)") == HTTPResource("http://a/caf%C3%A9"))
        #expect(HTTPResource("http://\(composed).example/x").url == "http://\(composed).example/x")
        #expect(HTTPResource("http://a/b?secret=1").description == "http://a/b")
    }
}
#endif
