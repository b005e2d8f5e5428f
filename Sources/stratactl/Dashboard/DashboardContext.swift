#if Dashboard
import HTTPTypes
import Hummingbird
import StrataRedis

/// What is known of a request to the dashboard.
struct DashboardContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The person's session; `nil` before the login.
    var session: DashboardSessions.Session?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
    }

    /// Forms are short.
    var maxUploadSize: Int { 64 << 10 }
}

/// Says to browsers what a page may do, and makes a page of every error.
struct DashboardShell: RouterMiddleware {
    typealias Context = DashboardContext

    /// Nothing comes from elsewhere, nothing goes elsewhere, and no page can be framed.
    static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        + "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

    func handle(
        _ request: Request,
        context: DashboardContext,
        next: @concurrent (Request, DashboardContext) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            response = try await next(request, context)
        } catch {
            response = Self.response(to: error)
        }
        response.headers[.contentSecurityPolicy] = Self.policy
        response.headers[.xContentTypeOptions] = "nosniff"
        // With "no-referrer" browsers send forms with `Origin: null`, as pages of others do.
        for (name, value) in [
            ("Referrer-Policy", "same-origin"), ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"), ("X-Frame-Options", "DENY"),
        ] {
            if let name = HTTPField.Name(name) { response.headers[name] = value }
        }
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        return response
    }

    private static func response(to error: any Error) -> Response {
        switch error {
        case let error as RedisError:
            DashboardPage.trouble("Redis cannot be asked", "\(error)", status: .serviceUnavailable)
        case let error as Failure:
            DashboardPage.trouble(
                error.status == .notFound ? "Not found" : "That does not work",
                error.message ?? "",
                status: error.status == .notFound ? .notFound : .badRequest
            )
        case let error as any HTTPResponseError:
            DashboardPage.trouble(
                error.status == .notFound ? "Not found" : "That does not work",
                "HTTP status \(error.status.code)",
                status: error.status
            )
        default: DashboardPage.trouble("That has failed", "", status: .internalServerError)
        }
    }
}

/// Requires a session, and takes no form that another site has sent.
struct DashboardDoor: RouterMiddleware {
    typealias Context = DashboardContext

    static let cookie = "strata_dashboard"
    let sessions: DashboardSessions

    func handle(
        _ request: Request,
        context: DashboardContext,
        next: @concurrent (Request, DashboardContext) async throws -> Response
    ) async throws -> Response {
        guard let session = request.cookies[Self.cookie].flatMap({ sessions.session($0.value) }) else {
            guard request.method == .get, request.headers[.accept]?.contains("text/event-stream") != true else {
                throw HTTPError(.unauthorized)
            }
            return .redirect(to: "/login", type: .normal)
        }
        var context = context
        context.session = session
        return try await next(request, context)
    }

    /// Ends a request that changes something and that a page of another origin has sent.
    ///
    /// Browsers say so in one or both of these fields.
    static func checkOrigin(of request: Request) throws {
        if let site = HTTPField.Name("Sec-Fetch-Site").flatMap({ request.headers[$0] }), site != "same-origin",
            site != "none"
        {
            throw HTTPError(.forbidden)
        }
        guard let origin = request.headers[.origin] else { return }
        guard let host = request.head.authority, origin == "http://\(host)" || origin == "https://\(host)" else {
            throw HTTPError(.forbidden)
        }
    }
}
#endif
