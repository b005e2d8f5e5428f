#if HTTP
import Strata
import StrataTesting
import Testing

@testable import StrataHTTP

/// A few requests to one cache, and what comes of each.
struct HTTPConformanceCase: Sendable, CustomTestStringConvertible {
    struct Step: Sendable {
        var request: HTTPCacheRequest
        var says: LocalServer.Answer
        var source: HTTPCacheResponse.Source
        var status: Int?
        var body: String?
        var has: HTTPFields
        var lacks: [String]
        var sent: HTTPFields
        var notSent: [String]
    }

    /// The paragraph, and what it asks for.
    var name: String
    var steps: [Step]
    var rules = HTTPLifetime.Rules()

    init(_ name: String, rules: HTTPLifetime.Rules = HTTPLifetime.Rules(), _ steps: Step...) {
        self.name = name
        self.steps = steps
        self.rules = rules
    }

    var testDescription: String { name }

    /// The requests are sent to a server that says what the step wants, and is not to be asked where a step is answered
    /// from what is stored.
    func run() async throws {
        let says = Locked(LocalServer.Answer.close)
        try await LocalServer.with { _ in
            says.withLock { $0 }
        } _: { server async throws in
            let fetcher = HTTPFetcher(options: HTTPFetchOptions(rules: rules))
            let cache = HTTPCache(in: MemoryLevel(limit: .entries(64)), fetcher)
            for (number, step) in steps.enumerated() {
                let place = Comment(rawValue: "\(name), request \(number + 1)")
                says.withLock { $0 = step.says }
                let before = server.requests.count
                var request = step.request
                request.url = server.url(request.url)
                let response = try await cache.respond(to: request)
                #expect(response.source == step.source, place)
                let isAsked = step.source != .stored && step.source != .none
                if step.source != .stale { #expect((server.requests.count > before) == isAsked, place) }
                if let status = step.status { #expect(response.status == status, place) }
                if let body = step.body { #expect(String(decoding: response.body, as: UTF8.self) == body, place) }
                for field in step.has.all { #expect(response.fields[field.name] == field.value, place) }
                for name in step.lacks { #expect(response.fields.values(of: name).isEmpty, place) }
                for field in step.sent.all {
                    #expect(server.requests.last?.fields[field.name] == field.value, place)
                }
                for name in step.notSent { #expect(server.requests.last?.fields[name] == nil, place) }
                #expect(cache.forgotten.count == 0, place)
            }
            #expect(cache.statistics.failures == 0)
        }
    }
}

extension HTTPConformanceCase.Step {
    /// A request that the server is asked.
    static func asks(
        _ fields: HTTPFields = [:],
        _ method: String = "GET",
        _ path: String = "/",
        says: LocalServer.Answer,
        status: Int? = nil,
        body: String? = nil,
        has: HTTPFields = [:],
        lacks: [String] = [],
        sent: HTTPFields = [:],
        notSent: [String] = [],
        from source: HTTPCacheResponse.Source = .server
    ) -> Self {
        let request = HTTPCacheRequest(method: method, path, fields: fields, body: method == "POST" ? [65] : [])
        return Self(
            request: request,
            says: says,
            source: source,
            status: status,
            body: body,
            has: has,
            lacks: lacks,
            sent: sent,
            notSent: notSent
        )
    }

    /// A request that is answered from what is stored.
    static func stored(
        _ fields: HTTPFields = [:],
        _ method: String = "GET",
        _ path: String = "/",
        status: Int? = nil,
        body: String? = nil,
        has: HTTPFields = [:],
        lacks: [String] = []
    ) -> Self {
        .asks(
            fields,
            method,
            path,
            says: .response(599),
            status: status,
            body: body,
            has: has,
            lacks: lacks,
            from: .stored
        )
    }

    /// What the server says; a status without a body has none.
    static func answer(_ fields: HTTPFields, _ status: Int = 200, body: String = "v") -> LocalServer.Answer {
        .response(status, fields, body: status == 204 ? "" : body)
    }
}
#endif
