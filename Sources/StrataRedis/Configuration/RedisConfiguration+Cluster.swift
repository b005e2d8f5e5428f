extension RedisConfiguration {
    /// A configuration for a cluster, everything else at its default.
    ///
    /// - Parameter endpoints: Some of its nodes, at least one; the others are found by asking them.
    /// - Throws: ``RedisError/Code/invalidConfiguration`` for no endpoint.
    public init(cluster endpoints: [RedisEndpoint]) throws {
        guard let first = endpoints.first else {
            throw RedisError(code: .invalidConfiguration, message: "a cluster has no endpoint")
        }
        self.init(endpoint: first)
        topology = .cluster
        furtherEndpoints = Array(endpoints.dropFirst())
    }

    /// All addresses.
    var seeds: [RedisEndpoint] { [endpoint] + furtherEndpoints }

    /// The same for one node of a cluster.
    func node(at endpoint: RedisEndpoint) -> RedisConfiguration {
        var configuration = self
        configuration.endpoint = endpoint
        configuration.furtherEndpoints = []
        configuration.isNode = true
        return configuration
    }

    /// The same for a replica of a cluster, which is read.
    func replica(at endpoint: RedisEndpoint) -> RedisConfiguration {
        var configuration = node(at: endpoint)
        configuration.isReplica = true
        configuration.connections = 1
        return configuration
    }

    /// Whether a client goes to several nodes, by the slots of keys.
    var isRouted: Bool { topology == .cluster && !isNode }

    func validateCluster() throws {
        guard database == 0 else { throw RedisURL.invalid("a cluster has only database 0") }
        guard replicaLagLimit.map({ $0 >= .milliseconds(100) }) ?? true else {
            throw RedisURL.invalid("replicaLagLimit is below 100 ms")
        }
        guard sentinels == nil else { throw RedisURL.invalid("there are Sentinels, but the topology is cluster") }
        for seed in seeds {
            if case .unix = seed.address { throw RedisURL.invalid("a cluster cannot be reached through a Unix socket") }
            try seed.validate()
            if !isNode { try tls?.validate(for: seed) }
        }
    }
}
