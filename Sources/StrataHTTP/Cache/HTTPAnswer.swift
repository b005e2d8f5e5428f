/// The response to one request, made of a response that is complete (RFC 9111 §4, §4.3.2; RFC 9110 §14.2).
package enum HTTPAnswer {
    /// Whether a stored response can answer the request: one that has a part of the bytes answers for those alone.
    static func isPossible(_ content: HTTPContent, for request: HTTPCacheRequest) -> Bool {
        guard content.status == 206 else { return true }
        guard request.method == "GET", let part = HTTPPart(content.fields, body: content.body.count),
            let range = HTTPRange(request.fields), HTTPRange.stands(request.fields, for: content.fields),
            let bytes = bytes(range, of: part)
        else { return false }
        return part.bytes.lowerBound <= bytes.lowerBound && bytes.upperBound <= part.bytes.upperBound
    }

    /// - Parameters:
    ///   - request: What is asked, with its conditions and range.
    ///   - content: The response.
    ///   - age: What `Age` is to say; `nil` for nothing.
    ///   - source: Where the response comes from.
    /// - Returns: The response, a part of it, or what says that the caller has it or that there is no such part.
    static func response(
        to request: HTTPCacheRequest,
        with content: HTTPContent,
        age: Int?,
        from source: HTTPCacheResponse.Source
    ) -> HTTPCacheResponse {
        let fields = age.map { content.fields.with("age", String($0)) } ?? content.fields.without(["age"])
        var response = HTTPCacheResponse(status: content.status, fields: fields, body: content.body, source: source)
        if content.status == 200 || content.status == 206, HTTPConditions(request.fields).isSatisfied(by: fields) {
            response.status = 304
            response.fields = fields.without(ofBody)
            response.body = []
            return response
        }
        if request.method == "HEAD" {
            if content.status != 204, fields.values(of: "content-length").isEmpty {
                response.fields = fields.with("content-length", String(content.body.count))
            }
            response.body = []
        } else if request.method == "GET" {
            cut(&response, to: request)
        }
        return response
    }

    /// The fields of the response that says that the caller has this one already; `nil` if it has not.
    ///
    /// - Parameters:
    ///   - request: The fields of the request.
    ///   - response: The fields of a response with status 200.
    /// - Returns: The fields of a response with status 304, or `nil`.
    package static func notModified(_ request: HTTPFields, _ response: HTTPFields) -> HTTPFields? {
        HTTPConditions(request).isSatisfied(by: response) ? response.without(ofBody) : nil
    }

    /// What describes a body that is not sent (RFC 9110 §15.4.5).
    private static let ofBody: Set = [
        "content-length", "content-type", "content-encoding", "content-language", "content-range",
    ]

    private static func cut(_ response: inout HTTPCacheResponse, to request: HTTPCacheRequest) {
        guard let range = HTTPRange(request.fields), HTTPRange.stands(request.fields, for: response.fields) else {
            return
        }
        let part: HTTPPart
        switch response.status {
        case 200: part = HTTPPart(bytes: 0..<response.body.count, length: response.body.count)
        case 206:
            guard let own = HTTPPart(response.fields, body: response.body.count) else { return }
            part = own
        default: return
        }
        guard let wanted = bytes(range, of: part) else {
            guard response.status == 200 else { return }
            response.status = 416
            response.fields = response.fields.without(ofBody).with("content-range", "bytes */\(response.body.count)")
            response.body = []
            return
        }
        guard part.bytes.lowerBound <= wanted.lowerBound, wanted.upperBound <= part.bytes.upperBound else { return }
        let offset = part.bytes.lowerBound
        response.status = 206
        response.body = Array(response.body[(wanted.lowerBound - offset)..<(wanted.upperBound - offset)])
        response.fields = response.fields
            .with("content-range", HTTPPart(bytes: wanted, length: part.length).text)
            .with("content-length", String(wanted.count))
    }

    /// The bytes that a range means, of a representation whose length may not be known.
    private static func bytes(_ range: HTTPRange, of part: HTTPPart) -> Range<Int>? {
        if let length = part.length { return range.bytes(of: length) }
        guard case .from(let first, let last?) = range, last < .max else { return nil }
        return first..<(last + 1)
    }
}
