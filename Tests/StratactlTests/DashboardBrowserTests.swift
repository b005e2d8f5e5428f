#if Dashboard
import Hummingbird
import HummingbirdTesting
import Strata
import StrataRedis
import StrataTesting
import Testing

@testable import stratactl

@Suite(
    "stratactl: dashboard in a browser",
    .enabled(if: WebDriver.isInstalled, "chromium and chromedriver are not installed"),
    .timeLimit(.minutes(5))
)
struct DashboardBrowserTests {
    private static let token = "the token of tests"

    /// Every field and button has a name for those who do not see it.
    private static let areNamed = """
        [...document.querySelectorAll("input:not([type=hidden]), button, a, svg[role=img]")].every(e =>
            e.labels?.length || e.textContent.trim() || e.getAttribute("aria-label"))
        """
    /// The page does not have to be moved sideways.
    private static let fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"

    private func logIn(_ browser: WebDriver, with token: String) async throws {
        try await browser.type(token, into: try await browser.find("#token"))
        try await browser.click(try await browser.find("main button"))
    }

    private func check(_ browser: WebDriver, _ page: String) async throws {
        #expect(try await browser.value(of: Self.areNamed) == "true", "\(page): an element without a name")
        try await browser.resize(width: 400, height: 800)
        try await browser.wait(until: Self.fits)
        try await browser.picture("\(page)-phone")
        try await browser.resize(width: 1280, height: 1000)
        try await browser.picture(page)
    }

    @Test("a login, live figures, a removal behind the token, and a login that has ended")
    func whole() async throws {
        try await Cache.withTellers("web-1/7") { cache, tellers in
            let site = DashboardSite(
                cache.redis,
                DashboardSessions(token: Self.token),
                DashboardSite.Settings(removes: true, interval: .milliseconds(200))
            )
            let level = cache.level(.text)
            try await level.set("v", for: Array("gone soon".utf8))
            let work = Task {
                while !Task.isCancelled {
                    _ = try await tellers[0].cache.get("hot")
                    try await level.set("v", for: Array("changed <b>".utf8))
                    try await CacheClock.system.pause(for: .milliseconds(20))
                }
            }
            defer { work.cancel() }
            try await Application(router: site.router)
                .test(.live) { client in
                    let port = try #require(client.port)
                    try await WebDriver.with { browser in
                        try await walk(browser, "http://localhost:\(port)")
                    }
                }
            #expect(try await level.get(Array("gone soon".utf8)) == nil)
        }
    }

    private func walk(_ browser: WebDriver, _ place: String) async throws {
        try await browser.open(place)
        try await browser.wait(until: "document.title === 'Log in · Strata'")
        try await check(browser, "login")
        try await logIn(browser, with: "another token than that")
        try await browser.wait(until: "document.body.textContent.includes('That is not the token.')")
        try await logIn(browser, with: Self.token)
        try await browser.wait(until: "document.title === 'Keyspaces · Strata'")
        try await check(browser, "keyspaces")

        try await browser.click(try await browser.find("main tbody a"))
        try await browser.wait(until: "document.getElementById('instances')?.textContent.includes('web-1')")
        try await browser.wait(until: "document.querySelectorAll('#charts polyline').length > 4")
        try await browser.wait(until: "document.getElementById('hottest').textContent.includes('hot')")
        try await browser.wait(until: "document.getElementById('events').textContent.includes('changed <b>')")
        try await check(browser, "keyspace")
        try await browser.goDark()
        try await browser.picture("keyspace-dark")
        // The button stops the list, and figures go on.
        try await browser.click(try await browser.find("#pause"))
        #expect(try await browser.value(of: "document.getElementById('pause').getAttribute('aria-pressed')") == "true")
        let count = try await browser.value(of: "document.getElementById('events').children.length")
        try await browser.wait(until: "document.querySelectorAll('#charts polyline').length > 4")
        #expect(try await browser.value(of: "document.getElementById('events').children.length") == count)

        try await browser.type("gone soon", into: try await browser.find("#key"))
        try await browser.click(try await browser.find("main form button"))
        try await browser.wait(until: "document.body.textContent.includes('gets the stored value')")
        try await check(browser, "why")
        try await browser.click(try await browser.find("a.danger"))
        try await browser.wait(until: "document.title === 'Remove a key · Strata'")
        try await check(browser, "remove")
        try await logIn(browser, with: Self.token)
        try await browser.wait(until: "document.body.textContent.includes('It is removed.')")

        try await browser.open("\(place)/doctor")
        try await browser.wait(until: "document.querySelectorAll('.findings li').length > 3")
        try await check(browser, "doctor")

        // The login ends in another window: the page that is open says so.
        try await browser.open("\(place)/keyspace?name=things")
        try await browser.wait(until: "document.querySelectorAll('#charts polyline').length > 4")
        _ = try await browser.value(
            of: """
                fetch("/logout", { method: "POST",
                    body: new URLSearchParams({ csrf: document.querySelector("[name=csrf]").value }) })
                """
        )
        try await browser.wait(until: "document.getElementById('state').textContent.includes('log in again')")
        try await browser.open("\(place)/doctor")
        try await browser.wait(until: "document.title === 'Log in · Strata'")
        let refused = try await browser.log().filter { $0.contains("Content Security Policy") }
        #expect(refused.isEmpty, "\(refused)")
    }
}
#endif
