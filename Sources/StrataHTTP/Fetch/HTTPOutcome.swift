/// The outcome of a request to a server.
public enum HTTPOutcome: Sendable, Hashable {
    /// A new response.
    case content(HTTPContent)
    /// The earlier response is still the newest, with these fields and lifetime.
    case notModified(HTTPContent)
    /// The server says that there is no such resource.
    case absent(HTTPLifetime)
}
