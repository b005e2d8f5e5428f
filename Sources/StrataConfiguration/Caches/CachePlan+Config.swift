#if Configuration
public import Configuration
public import Logging
public import Strata
public import StrataRedis

extension CachePlan {
    /// Reads the settings of caches from a configuration: those of all from the section `defaults`, those of one from
    /// `caches.<name>`.
    ///
    /// For a cache the section of its name counts first, then its `override(_:_:)`, then the section `defaults`, then
    /// the property `defaults` of the plan. Settings that the plan has read before no longer count.
    ///
    /// - Parameters:
    ///   - config: The section with `defaults` and `caches`.
    ///   - compressions: The compressions that the key `compression` may name.
    /// - Throws: ``ConfigurationError`` for the section `defaults`. The section of a cache is read when the cache is
    ///   made, and throws then.
    public mutating func read(
        _ config: ConfigReader,
        compressions: [String: ByteStage] = [:]
    ) throws(ConfigurationError) {
        try read(SettingReader(config.snapshot(), stages: compressions))
    }

    mutating func read(_ reader: SettingReader) throws(ConfigurationError) {
        let section = reader.section("defaults")
        var probe = defaults
        try section.read(CacheSettings.settings, into: &probe)
        stages = reader.stages
        first = { _, settings in try section.read(CacheSettings.settings, into: &settings) }
        last = { name, settings in
            try reader.section("caches", name).read(CacheSettings.settings, into: &settings)
        }
    }
}

extension RedisCaches {
    /// The client and the named caches of a service by its configuration: the keys of `docs/configuration.md`, at the
    /// reader itself.
    ///
    /// ```swift
    /// let config = ConfigReader(provider: EnvironmentVariablesProvider()).scoped(to: "strata")
    /// let caches = try RedisCaches(config: config)
    /// let products = try caches.cache("products", Int.self, Product.self)
    /// ```
    ///
    /// - Parameters:
    ///   - config: The section with `redis`, `defaults` and `caches`.
    ///   - plan: The settings of the code, which the configuration overrides.
    ///   - compressions: The compressions that the key `compression` may name: `["zstd": .zstd()]`.
    ///   - logger: As for the client and the caches.
    /// - Throws: ``ConfigurationError``; ``/StrataRedis/RedisError/Code/invalidConfiguration`` for errors that only the
    ///   client can find, such as a certificate that cannot be read.
    public convenience init(
        config: ConfigReader,
        plan: CachePlan = CachePlan(),
        compressions: [String: ByteStage] = [:],
        logger: Logger? = nil
    ) throws {
        let reader = SettingReader(config.snapshot(), stages: compressions)
        var plan = plan
        try plan.read(reader)
        let redis = try RedisClient(RedisConfiguration(reader.section("redis")), logger: logger)
        self.init(redis, plan, logger: logger)
    }
}
#endif
