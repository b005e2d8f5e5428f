internal import Logging

extension RedisConfiguration {
    /// Says once what is allowed, and should not be.
    func warn(_ logger: Logger?) {
        let place: Logger.Metadata = ["redis.endpoint": "\(place)"]
        if tls?.dangerouslyAcceptsAnyCertificate == true {
            logger?
                .warning(
                    "the certificate of the server is not verified: whoever is on the way can read and change everything",
                    metadata: place
                )
        }
        if tls == nil, password != nil || credentials != nil, isFar {
            logger?.warning("a password is sent to another host in plain text: use rediss://", metadata: place)
        }
    }

    /// Whether the way to a server or a Sentinel leaves this machine, as far as the addresses tell.
    private var isFar: Bool {
        ([endpoint] + (sentinels?.endpoints ?? []))
            .contains { endpoint in
                guard case .tcp(let host, _) = endpoint.address else { return false }
                return host != "localhost" && host != "::1" && !host.hasPrefix("127.")
            }
    }
}
