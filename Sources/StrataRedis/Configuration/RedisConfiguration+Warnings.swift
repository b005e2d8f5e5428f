internal import Logging

extension RedisConfiguration {
    /// Says once what is allowed, and should not be.
    func warn(_ logger: Logger?) {
        if tls?.dangerouslyAcceptsAnyCertificate == true {
            say(
                "the certificate of the server is not verified: whoever is on the way can read and change everything",
                logger
            )
        }
        if tls == nil, password != nil || credentials != nil || sentinels?.password != nil, isFar {
            say("a password is sent to another host in plain text: use rediss://", logger)
        }
    }

    private func say(_ warning: String, _ logger: Logger?) {
        guard warnings?.isNews(warning) ?? true else { return }
        logger?.warning("\(warning)", metadata: ["redis.endpoint": "\(place)"])
    }

    /// The same for a client whose nodes are warned of each thing once.
    func sharingWarnings() -> RedisConfiguration {
        var configuration = self
        configuration.warnings = SharedWarnings()
        return configuration
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
