#if Hummingbird
internal import HTTPTypes
public import Hummingbird
internal import StrataHTTP

/// A responder of hummingbird whose responses a ``ResponseCache`` keeps: a handler, a group of routes, or a whole
/// router.
///
/// ```swift
/// let responder = CachedResponder(router.buildResponder(), by: pages)
/// let application = Application(responder: responder, services: [redis, pages])
/// ```
///
/// For some routes of a router, use ``Hummingbird/RouterMethods/cached(by:_:)``.
///
/// It is a responder and not a middleware because a handler may have to run after its request has been answered: in the
/// background, or for others that wait when the first caller has gone away. It then gets the request and the context of
/// that caller, so what the context holds must not end with the request.
public struct CachedResponder<Responder: HTTPResponder>: HTTPResponder where Responder.Context: RequestContext {
    /// The context of the responder inside.
    public typealias Context = Responder.Context

    private let responder: Responder
    private let cache: ResponseCache
    private let policy: ResponsePolicy

    /// A responder whose responses are kept.
    ///
    /// - Parameters:
    ///   - responder: Makes the responses.
    ///   - cache: Keeps them.
    ///   - policy: Which responses are kept, and how long those that do not say are fresh.
    public init(_ responder: Responder, by cache: ResponseCache, _ policy: ResponsePolicy = ResponsePolicy()) {
        self.responder = responder
        self.cache = cache
        self.policy = policy
    }

    /// The response: a stored one, or the responder's.
    ///
    /// - Throws: The error of the responder, unless a stale response may be served.
    public func respond(to request: Request, context: Context) async throws -> Response {
        guard let url = cache.url(of: request), isOfCache(request) else {
            return try await untagged(request, context)
        }
        let run = HandlerRun(responder, request, context, policy)
        var asked = HTTPCacheRequest(method: request.method.rawValue, url, fields: Self.fields(of: request))
        asked.handler = HTTPRequestHandler { try await run.send($0) }
        let response = try await cache.responses.respond(to: asked)
        // What the handler has made for this caller alone, as it is.
        if response.source == .server, let own = try run.own { return own.answering(request) }
        return Response(response).answering(request)
    }

    /// The responder's response, which is none of the cache's.
    private func untagged(_ request: Request, _ context: Context) async throws -> Response {
        do {
            var response = try await responder.respond(to: request, context: context)
            response.headers[.cacheTag] = nil
            return response
        } catch {
            throw error.untagged(request, context)
        }
    }

    private func isOfCache(_ request: Request) -> Bool {
        switch request.method {
        case .get, .head:
            let hasBody =
                request.headers[.transferEncoding] != nil || request.headers[.contentLength].map { $0 != "0" } ?? false
            guard !hasBody, request.headers[.upgrade] == nil else { return false }
            return policy.sharesAuthorized || request.headers[.authorization] == nil
        case .connect: return false
        default: return true
        }
    }

    /// What the cache goes by: callers have no say in what is kept.
    private static func fields(of request: Request) -> StrataHTTP.HTTPFields {
        StrataHTTP.HTTPFields(request.headers).without(["cache-control", "pragma"])
    }
}
#endif
