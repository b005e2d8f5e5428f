#if Hummingbird
public import HTTPTypes
public import Hummingbird

extension RouterMethods {
    /// Routes whose responses are kept.
    ///
    /// ```swift
    /// router.group("products").cached(by: pages, ResponsePolicy(freshFor: .seconds(60)))
    ///     .get(":id") { _, context in try await page(of: context.parameters.require("id")) }
    ///     .put(":id") { request, context in try await save(request, context) }  // forgets the response to GET
    /// ```
    ///
    /// Middleware that was added before runs for every request; middleware that is added to these routes runs only when
    /// a handler runs.
    ///
    /// - Parameters:
    ///   - cache: Keeps the responses.
    ///   - policy: Which responses are kept, and how long those that do not say are fresh.
    /// - Returns: The routes; add handlers to them as to a router.
    public func cached(by cache: ResponseCache, _ policy: ResponsePolicy = ResponsePolicy()) -> CachedRoutes<Context> {
        CachedRoutes(parent: self, cache, policy)
    }
}

/// Routes of a router or a group whose responses a ``ResponseCache`` keeps; see
/// ``Hummingbird/RouterMethods/cached(by:_:)``.
public struct CachedRoutes<Context: RequestContext>: RouterMethods {
    /// Added one after the other while routes are declared.
    private final class Middlewares {
        var list: [any MiddlewareProtocol<Request, Response, Context>] = []
    }

    private let parent: any RouterMethods<Context>
    private let cache: ResponseCache
    private let policy: ResponsePolicy
    private let middlewares = Middlewares()

    init(parent: any RouterMethods<Context>, _ cache: ResponseCache, _ policy: ResponsePolicy) {
        self.parent = parent
        self.cache = cache
        self.policy = policy
    }

    /// Adds a route whose responses are kept.
    @discardableResult
    public func on<Responder: HTTPResponder>(
        _ path: RouterPath,
        method: HTTPRequest.Method,
        responder: Responder
    ) -> CachedRoutes<Context> where Responder.Context == Context {
        let inner = middlewares.list.reversed()
            .reduce(AnyResponder(responder)) { next, middleware in AnyResponder(middleware, before: next) }
        parent.on(path, method: method, responder: CachedResponder(inner, by: cache, policy))
        return self
    }

    /// Adds middleware that runs when a handler runs, for the routes that are added after it.
    @discardableResult
    public func add(middleware: any MiddlewareProtocol<Request, Response, Context>) -> CachedRoutes<Context> {
        middlewares.list.append(middleware)
        return self
    }
}

/// A responder whose type is erased, with the middleware before it.
private struct AnyResponder<Context: RequestContext>: HTTPResponder {
    private let body: @Sendable (Request, Context) async throws -> Response

    init(_ responder: some HTTPResponder<Context>) {
        body = { try await responder.respond(to: $0, context: $1) }
    }

    init(_ middleware: any MiddlewareProtocol<Request, Response, Context>, before next: AnyResponder<Context>) {
        body = { request, context in
            try await middleware.handle(request, context: context) { try await next.respond(to: $0, context: $1) }
        }
    }

    func respond(to request: Request, context: Context) async throws -> Response {
        try await body(request, context)
    }
}
#endif
