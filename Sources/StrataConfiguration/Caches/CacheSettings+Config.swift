#if Configuration
public import Configuration
public import Strata
public import StrataRedis

extension FreshnessPolicy {
    /// A policy from the configuration of a service: the keys that `docs/configuration.md` lists under `freshness`.
    ///
    /// - Parameters:
    ///   - config: The section of the policy.
    ///   - standard: The values of missing keys.
    /// - Throws: ``ConfigurationError``.
    public init(
        config: ConfigReader,
        default standard: FreshnessPolicy = FreshnessPolicy()
    ) throws(ConfigurationError) {
        self = standard
        try SettingReader(config.snapshot()).read(Self.settings, into: &self)
    }
}

extension LeaseOptions {
    /// Options from the configuration of a service: the keys that `docs/configuration.md` lists under `leases`.
    ///
    /// - Parameters:
    ///   - config: The section of the options.
    ///   - standard: The values of missing keys.
    /// - Throws: ``ConfigurationError``.
    public init(config: ConfigReader, default standard: LeaseOptions = LeaseOptions()) throws(ConfigurationError) {
        self = standard
        try SettingReader(config.snapshot()).read(Self.settings, into: &self)
    }
}

extension RetryPolicy {
    /// A policy from the configuration of a service: the keys that `docs/configuration.md` lists under `retry`.
    ///
    /// - Parameters:
    ///   - config: The section of the policy.
    ///   - standard: The values of missing keys.
    /// - Throws: ``ConfigurationError``.
    public init(config: ConfigReader, default standard: RetryPolicy = RetryPolicy()) throws(ConfigurationError) {
        self = standard
        try SettingReader(config.snapshot()).read(Self.settings, into: &self)
    }
}

extension CacheSettings {
    /// Settings of a cache from the configuration of a service: the keys that `docs/configuration.md` lists under
    /// `defaults`.
    ///
    /// - Parameters:
    ///   - config: The section of the cache.
    ///   - standard: The values of missing keys.
    ///   - compressions: The compressions that the key `compression` may name.
    /// - Throws: ``ConfigurationError``.
    public init(
        config: ConfigReader,
        default standard: CacheSettings = CacheSettings(),
        compressions: [String: ByteStage] = [:]
    ) throws(ConfigurationError) {
        self = standard
        try SettingReader(config.snapshot(), stages: compressions).read(Self.settings, into: &self)
    }
}
#endif
