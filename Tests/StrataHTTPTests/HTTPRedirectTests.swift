#if HTTP
import AsyncHTTPClient
import Strata
import StrataTesting
import Testing

@testable import StrataHTTP

@Suite("What redirects lead to", .timeLimit(.minutes(5)))
struct HTTPRedirectTests {
    /// Where `/latest` leads to; `nil` for nowhere.
    private final class Target: Sendable {
        let place: Locked<String?>

        init(_ place: String?) { self.place = Locked(place) }
    }

    private static let recent = "Sat, 28 Nov 2026 10:00:00 GMT"
    private static let earlier = "Mon, 16 Nov 2026 10:00:00 GMT"

    private func text(_ outcome: HTTPOutcome) -> String? {
        guard case .content(let content) = outcome else { return nil }
        return String(decoding: content.body, as: UTF8.self)
    }

    /// `/latest` is `/a`, `/b`, or a page by itself; each is unchanged to whoever has something not older.
    private func withPages(
        _ target: Target,
        _ redirect: HTTPFields = [:],
        _ body: (LocalServer) async throws -> Void
    ) async throws {
        try await LocalServer.with { request in
            if request.path == "/latest", let place = target.place.withLock({ $0 }) {
                return .response(302, redirect.with("location", place))
            }
            let date = request.path == "/a" ? Self.recent : Self.earlier
            let fields: HTTPFields = ["cache-control": "max-age=60", "last-modified": date]
            if request.fields["if-modified-since"] != nil { return .response(304, fields) }
            return .response(200, fields, body: request.path)
        } _: { server async throws in
            try await body(server)
        }
    }

    @Test("are not told by another page's validators, wherever the redirect leads to later", arguments: ["/b", nil])
    func validators(later: String?) async throws {
        let target = Target("/a")
        try await withPages(target) { server in
            let fetcher = HTTPFetcher()
            guard case .content(let kept) = try await fetcher.fetch(server.resource("/latest")) else {
                return #expect(Bool(false), "no content")
            }
            #expect(kept.body == Array("/a".utf8) && kept.fields["last-modified"] == Self.recent)
            // Also when it has lain in a shared level.
            let codec = Codec<HTTPContent>.json
            let stored = try codec.decode(codec.encode(kept))
            #expect(stored == kept)
            target.place.withLock { $0 = later }
            let outcome = try await fetcher.fetch(server.resource("/latest"), revalidating: stored)
            #expect(text(outcome) == later ?? "/latest")
        }
    }

    @Test("are not what a page was that has become a redirect")
    func moved() async throws {
        let target = Target(nil)
        try await withPages(target) { server in
            let fetcher = HTTPFetcher()
            guard case .content(let kept) = try await fetcher.fetch(server.resource("/latest")) else {
                return #expect(Bool(false), "no content")
            }
            #expect(!kept.conditions.isEmpty)
            target.place.withLock { $0 = "/a" }
            #expect(text(try await fetcher.fetch(server.resource("/latest"), revalidating: kept)) == "/a")
        }
    }

    @Test("live no longer than the redirects say; one that says nothing bounds nothing")
    func lifetimes() async throws {
        for (said, isStorable, freshFor) in [
            ("", true, 60), ("max-age=5", true, 5), ("max-age=600", true, 60), ("no-cache", true, 0),
            ("no-store", false, 60), ("private", false, 60),
        ] {
            let redirect: HTTPFields = said.isEmpty ? [:] : ["cache-control": said]
            try await withPages(Target("/a"), redirect) { server in
                let began = MonotonicInstant.now
                guard case .content(let content) = try await HTTPFetcher().fetch(server.resource("/latest")) else {
                    return #expect(Bool(false), "no content")
                }
                // The whole seconds that it took to arrive are over.
                let least = max(0, freshFor - Int(began.duration(to: .now).components.seconds))
                #expect(content.lifetime.isStorable == isStorable, "\(said)")
                if isStorable { #expect((least...freshFor).contains(content.lifetime.freshFor), "\(said)") }
            }
        }
    }

    @Test("are not kept where whole requests are answered, whose client would follow them")
    func responses() async throws {
        let client = HTTPClient(configuration: .init(redirectConfiguration: .follow(max: 5, allowCycles: false)))
        try await withPages(Target("/a")) { server in
            let cache = HTTPCache(in: MemoryLevel(limit: .entries(4)), HTTPFetcher(client))
            for _ in 0..<2 {
                let response = try await cache.respond(to: HTTPCacheRequest(server.url("/latest")))
                #expect(response.source == .server && response.body == Array("/a".utf8))
            }
        }
        try await client.shutdown()
    }
}
#endif
