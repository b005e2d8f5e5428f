internal import Strata

/// Why a resource could not be fetched.
///
/// Errors of the connection itself are those of async-http-client.
public struct HTTPError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of failure it was.
    ///
    /// More may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        /// The status is not one of success.
        public static let statusNotOK = Code(description: "status not ok")
        /// The body is shorter than its declared length, or the bytes are no response.
        public static let invalidResponse = Code(description: "invalid response")
        /// The body is larger than the fetcher's limit.
        public static let tooLarge = Code(description: "too large")
        /// There were too many redirects, or they form a circle.
        public static let redirectLoop = Code(description: "redirect loop")
        /// The response did not arrive in time.
        public static let timeout = Code(description: "timed out")
        /// The URL is malformed, or not one of HTTP.
        public static let invalidURL = Code(description: "invalid URL")
    }

    /// What kind of failure it was.
    public var code: Code
    /// The status, where there was one.
    public var status: Int?
    /// After which time the server wants to be asked again, if it says so.
    public var retryAfter: Duration?

    /// An error with the given parts.
    public init(_ code: Code, status: Int? = nil, retryAfter: Duration? = nil) {
        self.code = code
        self.status = status
        self.retryAfter = retryAfter
    }

    /// The code, and the status where there was one.
    public var description: String { "http: \(code)" + (status.map { " (\($0))" } ?? "") }
}

extension HTTPError: CodedError {
    /// The name of ``code``.
    package var codeName: String { "\(code)" }
}
