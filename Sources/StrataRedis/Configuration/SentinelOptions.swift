internal import Strata

/// The Sentinels that know which server is the primary, and how to ask them.
///
/// At every connect the client asks several of them at once. The answer with the newest configuration wins. The server
/// that they name has to call itself a primary, otherwise it is not used.
///
/// ```swift
/// let sentinels = SentinelOptions(
///     endpoints: ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map { .tcp(host: $0, port: 26_379) },
///     primary: "mymaster"
/// )
/// let redis = try RedisClient(RedisConfiguration(sentinels: sentinels))
/// ```
public struct SentinelOptions: Sendable, Hashable {
    /// The port on which Sentinels listen by default.
    public static let defaultPort: UInt16 = 26_379
    /// Most Sentinels that may be given.
    static let mostEndpoints = 64

    /// Where the Sentinels listen; 1 to 64.
    public var endpoints: [RedisEndpoint]
    /// The name under which they know the primary, `mymaster` in most examples.
    ///
    /// Empty only with ``RedisTopology/auto``, where Sentinels that watch one primary need no name.
    public var primary: String
    /// The ACL user at the Sentinels; `nil` means their default user.
    ///
    /// ``RedisConfiguration/username`` is for the servers alone.
    public var username: String?
    /// The password at the Sentinels; `nil` means that none is sent.
    public var password: Secret?
    /// How long a Sentinel may take from connecting to its answer; 250 ms by default.
    public var timeout: Duration = .milliseconds(250)

    /// Options for Sentinels without a password.
    ///
    /// - Parameters:
    ///   - endpoints: Where they listen.
    ///   - primary: The name under which they know the primary.
    public init(endpoints: [RedisEndpoint], primary: String) {
        self.endpoints = endpoints
        self.primary = primary
    }

    func validate(needsName: Bool) throws(RedisError) {
        func require(_ condition: Bool, _ message: String) throws(RedisError) {
            guard condition else { throw RedisError(code: .invalidConfiguration, message: message) }
        }
        try require(!endpoints.isEmpty, "there is no Sentinel")
        try require(endpoints.count <= Self.mostEndpoints, "there are more than \(Self.mostEndpoints) Sentinels")
        try require(!needsName || !primary.isEmpty, "the name of the Sentinels' primary is missing")
        try require(primary.utf8.count <= 1024, "the name of the Sentinels' primary is too long")
        try require(username == nil || password != nil, "there is a user name for the Sentinels, but no password")
        try require(timeout > .zero, "the time for a Sentinel's answer is not above zero")
        for endpoint in endpoints { try endpoint.validate() }
    }
}

extension SentinelOptions: CustomStringConvertible, CustomReflectable {
    /// The name of the primary and the first of the Sentinels, safe to log: neither user name nor password.
    public var description: String {
        let shown = endpoints.prefix(3).map(\.description).joined(separator: ",")
        let name = PrintableText.escape(Array(primary.utf8.prefix(100)))
        return "\(name)@\(shown)\(endpoints.count > 3 ? ",…" : "")"
    }

    /// A mirror without user name and password.
    public var customMirror: Mirror { Mirror(self, children: ["endpoints": endpoints, "primary": primary]) }
}
