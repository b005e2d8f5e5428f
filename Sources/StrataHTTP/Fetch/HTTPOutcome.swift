/// What asking a server has come to.
public enum HTTPOutcome: Sendable, Hashable {
    /// A new response.
    case content(HTTPContent)
    /// The one that was asked about is still the newest, with these fields and lifetime.
    case notModified(HTTPContent)
    /// The server says that there is none.
    case absent(HTTPLifetime)
}
