internal import Logging

extension RedisConfiguration {
    /// Says once what is allowed, and should not be.
    func warn(_ logger: Logger?) {
        if tls?.dangerouslyAcceptsAnyCertificate == true {
            say(
                "the server's certificate is not verified: anyone on the network path can read and change everything",
                logger
            )
        }
        if sentinels?.password != nil || password != nil || credentials != nil {
            warn(of: [endpoint] + (sentinels?.endpoints ?? []), logger)
        }
    }

    /// Says once that a password goes to other hosts in plain text, where it does.
    ///
    /// - Parameters:
    ///   - endpoints: Servers or Sentinels that get one.
    ///   - logger: What it is said to.
    func warn(of endpoints: [RedisEndpoint], _ logger: Logger?) {
        guard tls == nil, endpoints.contains(where: \.isFar) else { return }
        say("a password is sent to another host in plain text: use rediss://", logger)
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
}

extension RedisEndpoint {
    /// Whether the way there leaves this machine, as far as the address tells.
    fileprivate var isFar: Bool {
        guard case .tcp(let host, _) = address else { return false }
        let isLoopback = host.hasPrefix("127.") && host.utf8.allSatisfy { "0123456789.".utf8.contains($0) }
        return host != "localhost" && host != "::1" && !isLoopback
    }
}
