/// What one request is answered by, where each request brings its own: a handler with its context.
package final class HTTPRequestHandler: Sendable, Hashable {
    let send: @Sendable (HTTPCacheRequest) async throws -> HTTPReply

    package init(_ send: @escaping @Sendable (HTTPCacheRequest) async throws -> HTTPReply) {
        self.send = send
    }

    package static func == (one: HTTPRequestHandler, other: HTTPRequestHandler) -> Bool { one === other }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
