#if Hummingbird
internal import HTTPTypes
internal import Hummingbird
internal import Strata
internal import StrataHTTP

/// One caller's handler as the cache sees it: a server that is asked, and says what may be kept.
final class HandlerRun<Responder: HTTPResponder>: Sendable where Responder.Context: RequestContext {
    /// What is for the caller alone.
    private enum Own: Sendable {
        case response(Response)
        case failure(any Error)
    }

    private let responder: Responder
    private let request: Request
    private let context: Responder.Context
    private let policy: ResponsePolicy
    private let made = Locked<Own?>(nil)

    init(_ responder: Responder, _ request: Request, _ context: Responder.Context, _ policy: ResponsePolicy) {
        self.responder = responder
        self.request = request
        self.context = context
        self.policy = policy
    }

    /// What the handler has made last and the cache has not: the response with its body; `nil` if the cache has all of
    /// it.
    ///
    /// - Throws: What the handler has thrown.
    var own: Response? {
        get throws {
            switch made.withLock({ $0 }) {
            case .response(let response): response
            case .failure(let error): throw error
            case nil: nil
            }
        }
    }

    /// Runs the handler.
    ///
    /// - Throws: `CancellationError`; where the method may have changed something, what the handler throws.
    func send(_ asked: HTTPCacheRequest) async throws -> HTTPReply {
        made.withLock { $0 = nil }
        var response: Response
        do {
            response = try await responder.respond(to: request.asking(asked), context: context)
        } catch {
            // A handler may throw it by itself, and has failed then.
            if error is CancellationError, Task.isCancelled { throw error }
            guard let told = error as? any HTTPResponseError,
                let answer = try? told.response(from: request, context: context)
            else {
                guard request.method == .get || request.method == .head else { throw error }
                return unstored(HTTPReply(status: 500, fields: [:]), .failure(error))
            }
            let reply = try await reply(to: asked, answer)
            if reply.isUnstored { made.withLock { $0 = .failure(error.untagged(request, context)) } }
            return reply
        }
        return try await reply(to: asked, response)
    }

    private func reply(to asked: HTTPCacheRequest, _ answer: Response) async throws -> HTTPReply {
        var response = answer
        var reply = HTTPReply(status: response.status.code, fields: StrataHTTP.HTTPFields(response.headers))
        if response.headers[.cacheTag] != nil {
            reply.tags = HTTPList.members(response.headers[values: .cacheTag])
            response.headers[.cacheTag] = nil
            reply.fields = StrataHTTP.HTTPFields(response.headers)
        }
        reply.callersFields = ["set-cookie"]
        // A handler that makes no body for HEAD says nothing of the length of what GET gets.
        if asked.method == "HEAD", response.body.contentLength == 0 {
            reply.fields = reply.fields.without(["content-length"])
        }
        // Speaks of the response that is kept.
        if response.status == .notModified, asked.method == "GET" {
            // What it says of caching takes the place of the policy's word, which was kept.
            if !Self.saysNothing(reply.fields) { reply.fields = reply.fields.with(ResponseCache.policyField, "") }
            return reply
        }
        if Self.saysNothing(reply.fields), let control = policy.control(ofStatus: reply.status) {
            if request.headers[.cookie] == nil {
                reply.fields = reply.fields.with(ResponseCache.policyField, control)
            } else {
                reply.isForCaller = true
            }
        }
        if !reply.fields.values(of: "set-cookie").isEmpty { reply.isForCaller = true }
        guard asked.method == "GET", isKept(reply) else { return unstored(reply, .response(response)) }
        switch try await CollectedBody.of(response, upTo: policy.bodyLimit) {
        case .whole(let bytes):
            reply.body = bytes
            if reply.status == 200, reply.fields.values(of: "etag").isEmpty {
                reply.fields = reply.fields.with("etag", HTTPEntityTag.strong(of: reply))
            }
            return reply
        case .other(let body):
            // Setting it would drop the length that the handler has declared.
            let other = Response(status: response.status, headers: response.headers, body: body)
            return unstored(reply, .response(other))
        }
    }

    private func unstored(_ reply: HTTPReply, _ own: Own) -> HTTPReply {
        made.withLock { $0 = own }
        var reply = reply
        reply.isUnstored = true
        return reply
    }

    /// Whether a handler says nothing of caching, and leaves it to the policy.
    private static func saysNothing(_ fields: StrataHTTP.HTTPFields) -> Bool {
        ["cache-control", "expires", "pragma"].allSatisfy { fields.values(of: $0).isEmpty }
    }

    /// Whether the response is worth keeping, and may be: what has to be asked about each time is not.
    private func isKept(_ reply: HTTPReply) -> Bool {
        guard reply.fields.values(of: "set-cookie").isEmpty,
            reply.fields["content-type"]?.lowercased().hasPrefix("text/event-stream") != true
        else { return false }
        let lifetime = HTTPLifetime(
            status: reply.status,
            fields: reply.fields,
            isAuthorized: request.headers[.authorization] != nil,
            arrival: reply.arrival,
            rules: ResponseCache.rules
        )
        let window = max(lifetime.staleWhileRevalidate, lifetime.staleIfError)
        return lifetime.isStorable && (lifetime.freshFor > 0 || window > 0)
    }
}
#endif
