#if Configuration
internal import Strata
internal import StrataRedis

/// A key that a configuration of Strata may have.
///
/// ```swift
/// for key in ConfigurationKey.all { print(key.path, key.form, key.standard ?? "") }
/// ```
///
/// `docs/configuration.md` has the same list with an explanation of each.
public struct ConfigurationKey: Sendable, Hashable {
    /// The key with its sections, such as `redis.breaker.window`; `<name>` stands for the name of a cache.
    public let path: String
    /// How its value is written: `duration`, `size`, `text`, or the words that it takes.
    public let form: String
    /// The value when it is missing; `nil` for none.
    public let standard: String?
    /// Whether its value is a secret, which no report of accesses shows.
    public let isSecret: Bool
    /// Whether a change takes effect while a service runs.
    public let isReloadable: Bool

    private init<Target>(_ section: String, _ setting: Setting<Target>, _ standard: Target) {
        path = section + setting.key
        form = setting.form.name
        self.standard = setting.isSecret ? nil : setting.text(standard)
        isSecret = setting.isSecret
        isReloadable = setting.isReloadable
    }

    /// All keys, in the order of their sections: `redis`, `defaults`, `caches.<name>`, `retry`.
    ///
    /// The keys of a cache appear under both `defaults` and `caches.<name>`: a key that is missing in the second is
    /// taken from the first.
    public static let all: [ConfigurationKey] = {
        let standard = RedisConfiguration(endpoint: .tcp(host: "localhost"))
        let server = ServerSettings()
        return ServerSettings.settings.map { ConfigurationKey("redis.", $0, server) }
            + RedisConfiguration.settings.map { ConfigurationKey("redis.", $0, standard) }
            + CacheSettings.settings.map { ConfigurationKey("defaults.", $0, CacheSettings()) }
            + CacheSettings.settings.map { ConfigurationKey("caches.<name>.", $0, CacheSettings()) }
            + RetryPolicy.settings.map { ConfigurationKey("retry.", $0, RetryPolicy()) }
    }()
}
#endif
