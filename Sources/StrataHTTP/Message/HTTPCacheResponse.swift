/// A whole response, as ``HTTPCache/respond(to:)`` returns it.
public struct HTTPCacheResponse: Sendable, Hashable {
    /// Where a response comes from.
    ///
    /// More may be added.
    public struct Source: Sendable, Hashable, CustomStringConvertible {
        /// The name of the source.
        public let description: String

        /// The server has just sent it.
        public static let server = Source(description: "server")
        /// It was stored, and is fresh.
        public static let stored = Source(description: "stored")
        /// It was stored, and the server has just confirmed that it is still the newest.
        public static let validated = Source(description: "validated")
        /// It was stored, and is stale: the caller or the server allows it, or the server cannot be reached.
        public static let stale = Source(description: "stale")
        /// Nothing is stored, and the caller accepts nothing else: a response with status 504.
        public static let none = Source(description: "none")
    }

    /// The status.
    public var status: Int
    /// The header fields, without those of the connection to the server.
    ///
    /// They include `Age` if the response was stored before.
    public var fields: HTTPFields
    /// The body; empty in a response to HEAD and in one with status 304.
    public var body: [UInt8]
    /// Where the response comes from.
    public var source: Source

    /// A response with the given parts.
    public init(status: Int, fields: HTTPFields = [:], body: [UInt8] = [], source: Source) {
        self.status = status
        self.fields = fields
        self.body = body
        self.source = source
    }

    /// How old the response is, in seconds, as `Age` says; `nil` when it came from the server and has no age.
    public var age: Int? { fields["age"].flatMap(CacheControl.number) }
}
