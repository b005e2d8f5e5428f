package import Strata

/// What a cache of responses asks: servers by HTTP, or handlers of this process.
package protocol HTTPOrigin: Sendable {
    /// How responses are judged that say little.
    var rules: HTTPLifetime.Rules { get }
    /// Whether the origin may ignore callers' conditions: the cache then answers them, and a caller may share the
    /// response to another's request with conditions.
    var leavesConditions: Bool { get }
    /// The most bytes of a body.
    var sizeLimit: Int { get }
    /// How long the answer to a request may take for which no caller waits; `nil` where the origin has a limit of its
    /// own.
    ///
    /// After that the request is cancelled, and has failed, whether it ends or not.
    var renewalLimit: Duration? { get }
    /// The origin's name and limits.
    var label: LevelLabel { get }

    /// The fields of a request that what answers it sees.
    func seen(_ fields: HTTPFields) -> HTTPFields

    /// Sends a request on as it is, and returns any answer: no status is an error.
    func send(_ request: HTTPCacheRequest) async throws -> HTTPReply

    /// Asks for a resource.
    ///
    /// - Parameters:
    ///   - resource: What to fetch.
    ///   - kept: What was fetched before, if anything, and is asked about.
    /// - Returns: The outcome.
    /// - Throws: What the origin throws.
    func fetch(_ resource: HTTPResource, revalidating kept: HTTPContent?) async throws -> HTTPOutcome
}

/// The origin of requests that bring their handlers; see ``HTTPCacheRequest/handler``.
package struct HTTPHandlers: HTTPOrigin {
    package let rules: HTTPLifetime.Rules
    package var leavesConditions: Bool { true }
    package var sizeLimit: Int { .max }
    /// As long as a handler may run that callers have left.
    package var renewalLimit: Duration? { .seconds(30) }

    package init(rules: HTTPLifetime.Rules) {
        self.rules = rules
    }

    package var label: LevelLabel { LevelLabel("handlers") }

    /// All: the request comes as it is.
    package func seen(_ fields: HTTPFields) -> HTTPFields { fields }

    package func send(_ request: HTTPCacheRequest) async throws -> HTTPReply {
        guard let handler = request.handler else { throw HTTPError(.invalidURL) }
        return try await handler.send(request)
    }

    /// No resource has a handler.
    package func fetch(_ resource: HTTPResource, revalidating kept: HTTPContent?) async throws -> HTTPOutcome {
        throw HTTPError(.invalidURL)
    }
}
