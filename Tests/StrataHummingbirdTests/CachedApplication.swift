#if Hummingbird
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Strata
import StrataHTTP
import StrataTesting

@testable import StrataHummingbird

/// A handler that a test looks into.
final class Handler: Sendable {
    private let counted = Locked(0)
    private let answer: @Sendable (Request, Int) async throws -> Response

    /// - Parameter answer: Makes the response of the n-th run, from 1.
    init(_ answer: @escaping @Sendable (Request, Int) async throws -> Response) {
        self.answer = answer
    }

    /// A handler with fields, whose body is the number of its run.
    convenience init(_ fields: HTTPTypes.HTTPFields) {
        self.init { _, number in
            Response(status: .ok, headers: fields, body: ResponseBody(byteBuffer: ByteBuffer(string: "\(number)")))
        }
    }

    var runs: Int { counted.withLock { $0 } }

    func run(_ request: Request) async throws -> Response {
        let number = counted.withLock { value in
            value += 1
            return value
        }
        return try await answer(request, number)
    }

    /// An application with one route for all methods.
    func application(
        _ cache: ResponseCache,
        _ policy: ResponsePolicy = ResponsePolicy(),
        serving: Bool = false
    ) -> some ApplicationProtocol {
        let router = Router()
        let routes = router.cached(by: cache, policy)
        for method: HTTPRequest.Method in [.get, .head, .post, .put, .delete] {
            for path: RouterPath in ["", "**"] {
                routes.on(path, method: method) { [self] request, _ in try await run(request) }
            }
        }
        return Application(router: router, services: serving ? [cache] : [])
    }
}

extension ResponseCache {
    static func inMemory(site: String? = nil) -> ResponseCache {
        ResponseCache(in: MemoryLevel(limit: .entries(64)), site: site, collapseLimit: .seconds(300))
    }
}

extension TestResponse {
    var text: String { String(buffer: body) }
}

extension TestClientProtocol {
    func get(_ path: String = "/", _ fields: HTTPTypes.HTTPFields = [:]) async throws -> TestResponse {
        try await execute(uri: path, method: .get, headers: fields)
    }
}
#endif
