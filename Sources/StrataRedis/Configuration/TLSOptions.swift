/// How a connection is encrypted, and how the server proves who it is.
///
/// By default: TLS 1.2 or later; the certificate of the server has to name the host of the endpoint (a name, or one of
/// the certificate's addresses), and an authority that the system trusts has to have signed it. The client sends the
/// name (SNI), and resumes sessions when it connects again.
///
/// ```swift
/// var configuration = try RedisConfiguration(url: "rediss://cache.example.com:6380")
/// configuration.tls?.authorities = "/etc/redis/ca.pem"
/// ```
///
/// Files are in PEM. The first connection reads them, and each new one reads them again if they have changed: you can
/// replace a certificate without a restart. If the new files cannot be used, the old ones stay in force and a warning
/// is logged. An open connection keeps the certificate it was made with.
///
/// | setting | default | why |
/// |---|---|---|
/// | authorities | the system's | a Redis of your own often has an authority of its own |
/// | certificate, key | none | many servers ask clients for one (`tls-auth-clients`) |
/// | serverName | the endpoint's host | a tunnel, or an address in place of the name |
/// | requiresTLS13 | false | 1.2 is the oldest version that is safe |
/// | dangerouslyAcceptsAnyCertificate | false | who is on the way could read and change everything |
public struct TLSOptions: Sendable, Hashable {
    /// The file with the trusted authorities; `nil` means those of the system.
    public var authorities: String?
    /// The file with the client's certificate, its chain behind it.
    ///
    /// Needs a ``key``.
    public var certificate: String?
    /// The file with the key of ``certificate``, without a password.
    public var key: String?
    /// The name that the server's certificate has to bear, in place of the host of the endpoint.
    public var serverName: String?
    /// Whether to refuse TLS 1.2.
    public var requiresTLS13 = false
    /// Whether any host may pass for the server: its certificate is not looked at.
    ///
    /// Any host on the way can then read and change passwords and values. A warning is logged. Never set it outside a
    /// test; name the server's authority in ``authorities`` instead, which may be the certificate itself.
    public var dangerouslyAcceptsAnyCertificate = false

    /// Options with their defaults.
    public init() {}
}

extension TLSOptions {
    /// Looks for what would fail every connection.
    ///
    /// The authorities of the system are not read: that takes milliseconds.
    func validate(for endpoint: RedisEndpoint) throws(RedisError) {
        func refusal(_ message: String) -> RedisError { RedisError(code: .invalidConfiguration, message: message) }
        if case .unix = endpoint.address { throw refusal("a Unix socket is not encrypted: leave tls nil") }
        guard (certificate == nil) == (key == nil) else {
            throw refusal("the client's certificate and its key are both needed")
        }
        for text in [authorities, certificate, key, serverName] {
            guard let text else { continue }
            guard !text.isEmpty, !text.utf8.contains(0) else {
                throw refusal("a file or a name for TLS is empty, or holds a NUL")
            }
        }
        #if TLS
        _ = try context(withSystem: false)
        #else
        throw Self.leftOut
        #endif
    }

    /// The package was built without the trait `TLS`.
    static var leftOut: RedisError {
        let message = "TLS is left out of this build: enable the trait TLS of strata"
        return RedisError(code: .invalidConfiguration, message: message)
    }

    #if TLS
    var files: TLSContext.Files {
        TLSContext.Files(authorities: authorities, certificate: certificate, key: key)
    }

    func context(withSystem: Bool = true) throws(RedisError) -> TLSContext {
        try TLSContext(
            files,
            verifies: !dangerouslyAcceptsAnyCertificate,
            newest: requiresTLS13,
            withSystem: withSystem
        )
    }
    #endif
}
