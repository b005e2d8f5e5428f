#if Hummingbird
/// Which responses of a group of routes are kept, and how long those are fresh whose handler does not say.
///
/// | setting | default | unit | why |
/// |---|---|---|---|
/// | `freshFor` | none | time | what is kept for others is the handler's decision, or yours |
/// | `staleWhileRevalidate`, `staleIfError` | 0 | time after freshness | serving old responses is a decision, too |
/// | `absentFor` | none | time | the same for 404 and 410 |
/// | `bodyLimit` | 1 MiB | bytes | what is kept is held in memory and in Redis |
/// | `sharesAuthorized` | `false` | | what one user may see is not for the next |
///
/// The times apply to a response without `Cache-Control` and `Expires`, to a request without `Cookie`, and to this
/// cache alone: browsers are told nothing. They are rounded up to whole seconds.
public struct ResponsePolicy: Sendable, Hashable {
    /// How long a response is fresh whose handler says nothing; with `nil` none of those is kept.
    ///
    /// For the statuses 200, 203, 301 and 308.
    public var freshFor: Duration?
    /// How long after that such a response is served at once, while one instance makes a new one.
    public var staleWhileRevalidate: Duration
    /// How long after that such a response is served when the handler fails.
    public var staleIfError: Duration
    /// How long 404 and 410 are kept if the handler says nothing; `nil` for not at all.
    public var absentFor: Duration?
    /// The largest body that is kept, in bytes; larger ones are streamed to the caller.
    public var bodyLimit: Int
    /// Whether responses to requests with `Authorization` are kept if they allow it by `public`, `s-maxage` or
    /// `must-revalidate` (RFC 9111 §3.5).
    ///
    /// Otherwise such a request bypasses the cache.
    public var sharesAuthorized: Bool

    /// A policy, each setting with its default.
    public init(
        freshFor: Duration? = nil,
        staleWhileRevalidate: Duration = .zero,
        staleIfError: Duration = .zero,
        absentFor: Duration? = nil,
        bodyLimit: Int = 1 << 20,
        sharesAuthorized: Bool = false
    ) {
        self.freshFor = freshFor
        self.staleWhileRevalidate = staleWhileRevalidate
        self.staleIfError = staleIfError
        self.absentFor = absentFor
        self.bodyLimit = bodyLimit
        self.sharesAuthorized = sharesAuthorized
    }

    /// What is said for a handler that says nothing, as a field of this cache's own; `nil` for nothing.
    func control(ofStatus status: Int) -> String? {
        let time: Duration? =
            switch status {
            case 200, 203, 301, 308: freshFor
            case 404, 410: absentFor
            default: nil
            }
        guard let time else { return nil }
        let windows = [("stale-while-revalidate", staleWhileRevalidate), ("stale-if-error", staleIfError)]
        return (["max-age=\(Self.seconds(time))"] + windows.map { "\($0.0)=\(Self.seconds($0.1))" })
            .joined(separator: ", ")
    }

    private static func seconds(_ time: Duration) -> Int64 {
        let parts = max(time, .zero).components
        return min(parts.seconds, 1 << 31) + (parts.attoseconds > 0 ? 1 : 0)
    }
}
#endif
