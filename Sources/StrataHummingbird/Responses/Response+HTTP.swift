#if Hummingbird
internal import HTTPTypes
internal import Hummingbird
internal import StrataHTTP

extension StrataHTTP.HTTPFields {
    /// The same fields.
    init(_ fields: HTTPTypes.HTTPFields) {
        self.init(fields.lazy.map { (name: $0.name.canonicalName, value: $0.value) })
    }
}

extension HTTPTypes.HTTPFields {
    /// The same fields, without those that are the cache's own.
    init(_ fields: StrataHTTP.HTTPFields) {
        self.init()
        for field in fields.all {
            guard let name = HTTPField.Name(field.name) else { continue }
            append(HTTPField(name: name, value: field.value))
        }
    }
}

extension Response {
    /// A response that was kept.
    init(_ response: HTTPCacheResponse) {
        let hasBody = response.status != 204 && response.status != 304
        self.init(
            status: HTTPResponse.Status(code: response.status),
            headers: HTTPTypes.HTTPFields(response.fields),
            body: response.body.isEmpty ? ResponseBody() : ResponseBody(byteBuffer: ByteBuffer(bytes: response.body))
        )
        if !hasBody { headers[.contentLength] = nil }
    }

    /// This response, or the one that says that the caller has it already (RFC 9110 §13).
    func answering(_ request: Request) -> Response {
        guard status == .ok, request.method == .get || request.method == .head,
            let fields = HTTPAnswer.notModified(
                StrataHTTP.HTTPFields(request.headers),
                StrataHTTP.HTTPFields(headers)
            )
        else { return self }
        return Response(HTTPCacheResponse(status: 304, fields: fields, source: .stored))
    }
}

extension Request {
    /// This request with the conditions of another one, and without a body where it may run twice.
    func asking(_ asked: HTTPCacheRequest) -> Request {
        guard asked.method == "GET" || asked.method == "HEAD" else { return self }
        var head = head
        for name in HTTPConditions.names {
            guard let name = HTTPField.Name(name) else { continue }
            head.headerFields[values: name] = asked.fields.values(of: name.canonicalName)
        }
        return Request(head: head, body: RequestBody(buffer: ByteBuffer()))
    }
}
#endif
