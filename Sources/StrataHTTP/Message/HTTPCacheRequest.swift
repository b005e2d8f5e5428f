/// A whole request, as ``HTTPCache/respond(to:)`` takes it.
public struct HTTPCacheRequest: Sendable, Hashable {
    /// The method, in the case in which it is sent.
    public var method: String
    /// The URL, `http` or `https`; a fragment is left out.
    public var url: String {
        didSet { url = Self.withoutFragment(url) }
    }
    /// The header fields.
    ///
    /// Fields of the connection to the caller are not sent on, nor are `Host`, `Content-Length` and `Expect`, which
    /// follow from the URL and the body.
    public var fields: HTTPFields
    /// The body; empty for none.
    public var body: [UInt8]
    /// What answers it, where the cache's origin is ``HTTPHandlers``.
    package var handler: HTTPRequestHandler?

    /// A request with the given parts.
    public init(method: String = "GET", _ url: String, fields: HTTPFields = [:], body: [UInt8] = []) {
        self.method = method
        self.url = Self.withoutFragment(url)
        self.fields = fields
        self.body = body
    }

    var isAuthorized: Bool { !fields.values(of: "authorization").isEmpty }

    /// The request for the whole, without conditions.
    var whole: HTTPCacheRequest {
        var request = self
        request.method = "GET"
        request.fields = fields.without(HTTPConditions.names)
        return request
    }

    /// The request that asks whether a stored response still holds; as it is when there is nothing to ask by.
    func asking(_ conditions: [(name: String, value: String)]) -> HTTPCacheRequest {
        guard !conditions.isEmpty else { return self }
        return conditions.reduce(into: whole) { $0.fields = $0.fields.with($1.name, $1.value) }
    }

    private static func withoutFragment(_ url: String) -> String { String(url.unicodeScalars.prefix { $0 != "#" }) }
}
