#if Dashboard
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Strata
import StrataRedis
import StrataTesting
import Testing

@testable import stratactl

@Suite("stratactl: dashboard", .timeLimit(.minutes(5)))
struct DashboardTests {
    private static let token = "the token of tests"

    /// A browser without a screen.
    private struct Browser {
        let client: any TestClientProtocol
        var cookie: String?

        func get(_ path: String) async throws -> TestResponse {
            try await client.execute(uri: path, method: .get, headers: fields)
        }

        func post(
            _ path: String,
            _ form: [String: String],
            _ more: HTTPTypes.HTTPFields = [:]
        ) async throws -> TestResponse {
            let text = form.map { "\($0.key)=\(DashboardPage.link($0.value))" }.joined(separator: "&")
            var fields = fields
            fields[.contentType] = "application/x-www-form-urlencoded"
            for field in more { fields[field.name] = field.value }
            return try await client.execute(uri: path, method: .post, headers: fields, body: ByteBuffer(string: text))
        }

        private var fields: HTTPTypes.HTTPFields { cookie.map { [.cookie: $0] } ?? [:] }

        mutating func logIn() async throws {
            let response = try await post("/login", ["token": DashboardTests.token])
            #expect(response.status == .seeOther && response.headers[.location] == "/")
            let set = try #require(response.headers[.setCookie])
            #expect(set.contains("HttpOnly") && set.contains("SameSite=Strict"))
            cookie = set.split(separator: ";").first.map(String.init)
        }

        /// What the forms of a page send along.
        func formToken() async throws -> String {
            let text = try await get("/doctor").text
            let rest = try #require(text.split(separator: "name=\"csrf\" value=\"").dropFirst().first)
            return String(rest.prefix { $0 != "\"" })
        }
    }

    private func with(removes: Bool = false, _ body: @escaping @Sendable (Cache, Browser) async throws -> Void)
        async throws
    {
        try await Cache.with { cache in
            try await serve(cache, removes: removes) { try await body(cache, $0) }
        }
    }

    private func serve(
        _ cache: Cache,
        removes: Bool = false,
        _ body: @escaping @Sendable (Browser) async throws -> Void
    ) async throws {
        let site = DashboardSite(
            cache.redis,
            DashboardSessions(token: Self.token),
            DashboardSite.Settings(removes: removes, interval: .milliseconds(200))
        )
        try await Application(router: site.router).test(.live) { try await body(Browser(client: $0)) }
    }

    @Test("nothing is shown without a login, and a wrong token opens nothing")
    func login() async throws {
        try await with(removes: true) { cache, browser in
            var browser = browser
            for path in [
                "/", "/keyspace?name=things", "/why?name=things&key=a", "/doctor", "/stream?name=things", "/remove",
            ] {
                let response = try await browser.get(path)
                #expect(response.status == .seeOther && response.headers[.location] == "/login", "\(path)")
                #expect(response.text.isEmpty)
            }
            for path in ["/remove", "/logout"] {
                #expect(
                    try await browser.post(path, ["csrf": "", "name": "things", "key": "a"]).status == .unauthorized
                )
            }
            #expect(try await browser.get("/login").status == .ok)
            let wrong = try await browser.post("/login", ["token": "the token of test"])
            #expect(wrong.status == .unauthorized && wrong.headers[.setCookie] == nil)
            #expect(wrong.text.contains("That is not the token."))
            browser.cookie = "\(DashboardDoor.cookie)=\(DashboardSessions.secret())"
            #expect(try await browser.get("/").status == .seeOther)
            try await browser.logIn()
            #expect(try await browser.get("/").status == .ok)
            let left = try await browser.post("/logout", ["csrf": try await browser.formToken()])
            #expect(left.headers[.location] == "/login")
            #expect(try await browser.get("/").status == .seeOther)
        }
    }

    @Test("after many wrong tokens no login is accepted for a minute")
    func guessing() throws {
        let clock = ManualClock()
        let sessions = clock.driving { DashboardSessions(token: Self.token) }
        for _ in 0..<DashboardSessions.mostFailures {
            guard case .wrong = sessions.logIn("guess") else {
                Issue.record("a guess was not wrong")
                return
            }
        }
        #expect(sessions.admits(Self.token) == nil)
        try clock.advance(by: .seconds(60))
        guard case .session(let session) = sessions.logIn(Self.token) else {
            Issue.record("no login is accepted any more")
            return
        }
        #expect(sessions.session(session.number) == session)
        try clock.advance(by: DashboardSessions.lifetime)
        #expect(sessions.session(session.number) == nil)
    }

    @Test("each response tells the browser what its page may do")
    func policies() async throws {
        try await with { _, browser in
            var browser = browser
            try await browser.logIn()
            for path in [
                "/", "/login", "/doctor", "/assets/dashboard.js", "/assets/dashboard.css", "/nothing",
                "/keyspace?name=no",
            ] {
                let response = try await browser.get(path)
                #expect(response.headers[.contentSecurityPolicy] == DashboardShell.policy, "\(path)")
                #expect(response.headers[.xContentTypeOptions] == "nosniff")
                #expect(response.headers[.cacheControl] != nil)
                // No script, style or handler that the policy would stop.
                #expect(!response.text.contains("<style") && !response.text.contains("style=\""))
                #expect(!response.text.contains("onclick") && !response.text.contains("<script>"))
            }
            #expect(try await browser.get("/nothing").status == .notFound)
        }
    }

    @Test("keyspaces, a key's explanation and the doctor are those of the commands, and names act on no page")
    func pages() async throws {
        try await with { cache, browser in
            var browser = browser
            let hostile = "<script>alert(1)</script>\u{1b}&+ \"'"
            try await cache.level(.text).set("v", for: Array(hostile.utf8), tags: ["<b>"])
            try await browser.logIn()
            let front = try await browser.get("/").text
            #expect(front.contains("<a href=\"/keyspace?name=things\">things</a></th><td>1</td>"), "\(front)")
            let page = try await browser.get("/keyspace?name=things").text
            #expect(page.contains("data-stream=\"/stream?name=things\""))
            #expect(try await browser.get("/keyspace?name=thigns").status == .notFound)
            #expect(try await browser.get("/keyspace").status == .badRequest)
            let escaped = InspectedKey(Array(hostile.utf8), in: cache.keyspace).escaped
            let why = try await browser.get("/why?name=things&key=\(DashboardPage.link(escaped))").text
            #expect(why.contains("gets the stored value: it is fresh"), "\(why)")
            #expect(why.contains("&lt;script&gt;alert(1)") && !why.contains("<script>") && !why.contains("\u{1b}"))
            #expect(!why.contains("<b>") && !why.contains("/remove"))
            #expect(try await browser.get("/why?name=things&key=%5C").status == .badRequest)
            #expect(try await browser.get("/doctor").text.contains("server: redis "))
            #expect(try await browser.get("/doctor?name=things").status == .ok)
        }
    }

    @Test("a key is removed behind a confirmation: with the session's own form, from its own origin, with the token")
    func removal() async throws {
        try await with(removes: true) { cache, browser in
            var browser = browser
            let level = cache.level(.text)
            let key = Array("a b".utf8)
            try await level.set("v", for: key)
            try await browser.logIn()
            #expect(
                try await browser.get("/why?name=things&key=a%20b").text.contains("/remove?name=things&amp;key=a%20b")
            )
            let page = try await browser.get("/remove?name=things&key=a+b").text
            #expect(page.contains("<code>a b</code>") && page.contains("Redis has a value for it."))
            let form = ["csrf": try await browser.formToken(), "name": "things", "key": "a b", "token": Self.token]
            let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
            for (form, fields, status) in [
                (form.merging(["csrf": DashboardSessions.secret()]) { $1 }, [:], .forbidden),
                (form.filter { $0.key != "csrf" }, [:], .badRequest),
                (form.merging(["token": "the token of others"]) { $1 }, [:], .forbidden),
                (form.filter { $0.key != "token" }, [:], .forbidden),
                (form, [.origin: "https://elsewhere.example"], .forbidden), (form, [.origin: "null"], .forbidden),
                (form, [site: "cross-site"], .forbidden), (form, [site: "same-site"], .forbidden),
            ] as [([String: String], HTTPTypes.HTTPFields, HTTPResponse.Status)] {
                #expect(try await browser.post("/remove", form, fields).status == status, "\(form) \(fields)")
                #expect(try await level.get(key) == "v")
            }
            #expect(
                try await browser.get("/remove?name=things&key=a+b&token=\(DashboardPage.link(Self.token))").status
                    == .ok
            )
            #expect(try await level.get(key) == "v")
            let removed = try await browser.post("/remove", form, [site: "same-origin"])
            #expect(removed.status == .ok && removed.text.contains("It is removed."))
            #expect(try await level.get(key) == nil)
        }
    }

    @Test("without the option nothing can be removed")
    func readOnly() async throws {
        try await with { cache, browser in
            var browser = browser
            try await cache.level(.text).set("v", for: [97])
            try await browser.logIn()
            #expect(try await browser.get("/remove?name=things&key=a").status == .notFound)
            let form = ["csrf": try await browser.formToken(), "name": "things", "key": "a", "token": Self.token]
            #expect(try await browser.post("/remove", form).status == .notFound)
            #expect(try await cache.level(.text).get([97]) == "v")
        }
    }

    @Test("without Redis the pages say so")
    func outage() async throws {
        try await with { cache, browser in
            var browser = browser
            try await browser.logIn()
            try await cache.server.stop()
            for path in ["/", "/keyspace?name=things", "/why?name=things&key=a", "/doctor"] {
                let response = try await browser.get(path)
                #expect(response.status == .serviceUnavailable, "\(path)")
                #expect(response.text.contains("Redis cannot be asked"))
            }
        }
    }

    @Test("the stream tells of samples, changes and the consistency, and ends when its session does")
    func stream() async throws {
        try await Cache.withTellers("web-1/7") { cache, tellers in
            let isAllowed = Locked(true)
            let stream = DashboardStream(
                redis: cache.redis,
                keyspace: cache.keyspace,
                interval: .milliseconds(200),
                verifies: true,
                isAllowed: { isAllowed.withLock { $0 } }
            )
            let text = Writer.Text()
            let work = Task {
                while !Task.isCancelled {
                    _ = try await tellers[0].cache.get("hot")
                    try await cache.level(.text).set("v", for: Array("changed <b>".utf8))
                    try await nextTurn()
                }
            }
            defer { work.cancel() }
            var writer = Writer(text: text) { seen in
                let events = ["sample", "change", "nines"].allSatisfy { seen.contains("event: \($0)\n") }
                guard events, seen.contains("\"event\":\"changed\""), seen.contains("web-1/7"),
                    seen.contains("\"hottest\":[\"hot\"")
                else {
                    return
                }
                isAllowed.withLock { $0 = false }
            }
            try await stream.write(to: &writer)
            let lines = text.value.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.allSatisfy { $0.isEmpty || $0.hasPrefix("event: ") || $0.hasPrefix("data: {") })
        }
    }

    @Test("it is not served to other machines unless that is asked for, nor with a short token")
    func arguments() async throws {
        let open = try await CommandRun.of(["dashboard", "--address", "0.0.0.0"])
        #expect(open.status == .exited(64) && open.errorText.contains("--expose"))
        let short = try await CommandRun.of(
            "umask 077; echo short >\"$HOME/t\"; exec \"$0\" dashboard --token-file \"$HOME/t\""
        )
        #expect(short.status == .exited(64) && short.errorText.contains("16 characters"), "\(short.errorText)")
    }
}

/// Takes what a stream says.
private struct Writer: ResponseBodyWriter {
    final class Text: Sendable {
        private let locked = Locked("")

        var value: String { locked.withLock { $0 } }

        func add(_ more: String) -> String {
            locked.withLock { text in
                text += more
                return text
            }
        }
    }

    let text: Text
    let seen: @Sendable (String) -> Void

    init(text: Text, _ seen: @escaping @Sendable (String) -> Void) {
        self.text = text
        self.seen = seen
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        seen(text.add(String(buffer: buffer)))
    }

    consuming func finish(_ trailingHeaders: HTTPTypes.HTTPFields?) async throws {}
}

extension TestResponse {
    fileprivate var text: String { String(buffer: body) }
}
#endif
