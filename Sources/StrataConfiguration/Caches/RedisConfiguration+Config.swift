#if Configuration
public import Configuration
public import StrataRedis

extension RedisConfiguration {
    /// A configuration of the client from that of the service.
    ///
    /// ```swift
    /// let config = ConfigReader(provider: EnvironmentVariablesProvider())
    /// let redis = try RedisClient(RedisConfiguration(config: config.scoped(to: "strata.redis")))
    /// ```
    ///
    /// Reads the keys that `docs/configuration.md` lists under `redis`, at the reader itself. The server is required:
    /// `url`, `endpoints` or `sentinels.endpoints`. Passwords, and the URL, which may hold one, are read as secrets.
    ///
    /// - Parameter config: The section of the client.
    /// - Throws: ``ConfigurationError``.
    public init(config: ConfigReader) throws(ConfigurationError) {
        try self.init(config: config.snapshot())
    }

    /// A configuration of the client from a snapshot of that of the service.
    ///
    /// - Parameter config: The section of the client.
    /// - Throws: ``ConfigurationError``.
    public init(config: ConfigSnapshotReader) throws(ConfigurationError) {
        try self.init(SettingReader(config))
    }

    init(_ reader: SettingReader) throws(ConfigurationError) {
        var server = ServerSettings()
        try reader.read(ServerSettings.settings, into: &server)
        var configuration = try server.configuration(reader)
        try reader.read(RedisConfiguration.settings, into: &configuration)
        guard configuration.replicaLagLimit == nil || configuration.topology == .cluster else {
            throw reader.failure(.conflict, "replicaLagLimit", "only a cluster reads from replicas")
        }
        guard configuration.database == 0 || configuration.topology != .cluster else {
            throw reader.failure(.conflict, "database", "a cluster has only database 0")
        }
        if let name = configuration.clientName, !name.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) {
            throw reader.failure(.wrongForm, "clientName", "it holds a space or a control character")
        }
        self = configuration
    }
}
#endif
