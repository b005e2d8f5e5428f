extension RedisServer {
    /// How a private server speaks TLS, on a port of its own beside the plain one.
    public struct TLS: Sendable {
        /// Whether clients have to show a certificate.
        public enum ClientCertificates: String, Sendable, Hashable {
            /// The server asks for none.
            case ignored = "no"
            /// A client may show one, which has to be valid.
            case optional
            /// A client that shows none is refused.
            case required = "yes"
        }

        /// The server's certificate and key.
        public var certificate: TestCertificate
        /// The file with the authorities of the clients' certificates.
        public var authorities: String
        /// Whether clients have to show a certificate; by default the server asks for none.
        public var clientCertificates: ClientCertificates
        /// The versions that the server speaks, by its names, such as `"TLSv1.2"`; `nil` for its own choice.
        public var versions: String?

        /// Creates the settings.
        ///
        /// - Parameters:
        ///   - certificate: The server's certificate and key.
        ///   - authorities: The file with the authorities of the clients' certificates.
        ///   - clientCertificates: Whether clients have to show one.
        ///   - versions: The versions that the server speaks.
        public init(
            _ certificate: TestCertificate,
            authorities: String,
            clientCertificates: ClientCertificates = .ignored,
            versions: String? = nil
        ) {
            self.certificate = certificate
            self.authorities = authorities
            self.clientCertificates = clientCertificates
            self.versions = versions
        }

        func directives(port: UInt16) -> [Directive] {
            var directives = [
                Directive("tls-port", String(port)), .init("tls-cert-file", certificate.certificate),
                .init("tls-key-file", certificate.key), .init("tls-ca-cert-file", authorities),
                .init("tls-auth-clients", clientCertificates.rawValue),
            ]
            if let versions { directives.append(.init("tls-protocols", versions)) }
            return directives
        }
    }

    /// Where clients that speak TLS connect; `nil` when the server speaks none.
    public var tlsEndpoint: TestEndpoint? { tlsPort.map { .loopback(port: $0) } }

    /// The `rediss://` URL of a server that speaks TLS, by the name `localhost`; `nil` when it speaks none.
    public var tlsURL: String? { tlsPort.map { "rediss://localhost:\($0)" } }
}
