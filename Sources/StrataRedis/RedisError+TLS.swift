extension RedisError {
    /// Why no encrypted connection could be made.
    ///
    /// More may be added.
    public struct TLSReason: Hashable, Sendable, CustomStringConvertible {
        /// The name of the reason.
        public let description: String

        /// The certificate of the server, or one of its chain, has expired.
        public static let expired = TLSReason(description: "expired")
        /// The certificate of the server, or one of its chain, is not valid yet; or the clock of this machine is slow.
        public static let notYetValid = TLSReason(description: "not yet valid")
        /// The certificate of the server is for other hosts.
        public static let wrongHost = TLSReason(description: "wrong host")
        /// The certificate of the server is self-signed, or signed by an authority that is not trusted here.
        public static let unknownAuthority = TLSReason(description: "unknown authority")
        /// The certificate of the server is not to be trusted for another reason, which the message names.
        public static let untrusted = TLSReason(description: "untrusted")
        /// The server speaks no safe version of TLS, or none that the options allow.
        public static let versionTooOld = TLSReason(description: "version too old")
        /// The server has answered in plain text, or not at all.
        public static let serverSpeaksPlain = TLSReason(description: "server speaks plain text")
        /// The server speaks TLS, and the client was told to speak plain text.
        public static let serverSpeaksTLS = TLSReason(description: "server speaks TLS")
        /// The server wants a certificate of the client, which has none.
        public static let certificateRequired = TLSReason(description: "client certificate required")
        /// The server does not accept the certificate of the client.
        public static let certificateRefused = TLSReason(description: "client certificate refused")
        /// Anything else, which the message names.
        public static let handshake = TLSReason(description: "handshake failed")
    }

    /// A failure of TLS.
    static func tls(_ reason: TLSReason, _ message: String, endpoint: String? = nil) -> RedisError {
        var error = RedisError(code: .tls, message: message, endpoint: endpoint)
        error.tlsReason = reason
        return error
    }

    /// Whether the same attempt would fail again: what was configured, here or there, has to be changed first.
    var isOfConfiguration: Bool {
        code == .authentication || code == .wrongServer || code == .invalidConfiguration
            || code == .tls && tlsReason != .handshake
    }
}
