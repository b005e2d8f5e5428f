#if Configuration
public import Configuration
public import Logging
internal import Strata
public import StrataRedis

#if ServiceLifecycle
public import ServiceLifecycle
#endif

/// Follows the configuration of a service while it runs: applies changes that need no restart, and logs a line for the
/// others.
///
/// ```swift
/// let file = try await ReloadingFileProvider<JSONSnapshot>(filePath: "/etc/shop/config.json")
/// let config = ConfigReader(provider: file).scoped(to: "strata")
/// let caches = try RedisCaches(config: config, logger: logger)
/// let reload = CacheReload(of: caches, from: config, logger: logger)
/// let group = ServiceGroup(services: [file, caches, reload], gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// A configuration is taken as a whole: if one of its values makes no sense, the old configuration stays in force, and
/// the log names the key. `docs/configuration.md` says for each key whether a change takes effect.
public final class CacheReload: Sendable {
    private struct State: Sendable {
        /// What the log has a line of, so that it has one.
        var failure: String?
        var waiting: [String] = []
        /// The terms that were asked for last.
        var terms: RedisConfiguration
    }

    private let caches: RedisCaches
    private let config: ConfigReader
    private let logger: Logger?
    /// The values that the client was made with, by their keys; hashes, for there are secrets among them.
    private let made: [String: Int]
    /// The terms of which the configuration said something then.
    private let configured: Set<String>
    private let state: Locked<State>

    /// A service that follows the configuration from its present state.
    ///
    /// - Parameters:
    ///   - caches: The caches, and the client, that were made from it.
    ///   - config: The same reader.
    ///   - logger: Gets a line for each change, for each configuration that cannot be used, and for changes that wait
    ///     for a restart.
    public init(of caches: RedisCaches, from config: ConfigReader, logger: Logger? = nil) {
        self.caches = caches
        self.config = config
        self.logger = logger
        let reader = SettingReader(config.snapshot()).section("redis")
        made = Self.values(reader)
        configured = Set(RedisConfiguration.terms.map(\.key).filter { reader.has($0) })
        state = Locked(State(terms: caches.redis.configuration))
    }

    /// Follows until the task is cancelled or, in a `ServiceGroup`, until graceful shutdown begins.
    ///
    /// Returns without an error in both cases.
    public func run() async throws {
        do {
            #if ServiceLifecycle
            try await cancelWhenGracefulShutdown { try await self.follow() }
            #else
            try await follow()
            #endif
        } catch is CancellationError {}
    }

    private func follow() async throws {
        try await config.watchSnapshot { snapshots in
            for await snapshot in snapshots { apply(snapshot) }
        }
    }

    /// Takes what a snapshot says, or nothing of it.
    func apply(_ snapshot: ConfigSnapshotReader) {
        var plan = caches.plan
        let reader = SettingReader(snapshot, stages: plan.stages)
        let redis = reader.section("redis")
        let waiting: [String: [String]]
        do {
            try plan.read(reader)
            let terms = try terms(redis)
            try checkNextStart(redis)
            // All of it is looked at before any of it is taken.
            try checkCaches(plan)
            let former = state.withLock { $0.terms }
            try adjust(terms)
            do { waiting = try caches.apply(plan) } catch {
                // A cache that was made meanwhile.
                try? adjust(former)
                throw error
            }
        } catch {
            return note(failure: "\(error)")
        }
        note(failure: nil)
        let now = Self.values(redis)
        let changed = Set(made.keys).union(now.keys).filter { made[$0] != now[$0] }.map { "redis.\($0)" }
        note(waiting: (changed + waiting.flatMap { name, keys in keys.map { "caches.\(name).\($0)" } }).sorted())
    }

    // MARK: The client

    /// What calls may cost by the configuration.
    ///
    /// Where a key is missing, what the client was made with counts, unless the configuration had the key then.
    private func terms(_ reader: SettingReader) throws(ConfigurationError) -> RedisConfiguration {
        var terms = caches.redis.configuration
        let standard = RedisConfiguration(endpoint: terms.endpoint)
        for setting in RedisConfiguration.terms where configured.contains(setting.key) {
            setting.copy(standard, &terms)
        }
        try reader.read(RedisConfiguration.terms, into: &terms)
        return terms
    }

    /// What takes effect at the next start must not keep that from succeeding.
    ///
    /// Where the configuration names no server and did not when the client was made, code has named it, and will again.
    private func checkNextStart(_ reader: SettingReader) throws {
        if ServerSettings.places.contains(where: { made[$0] != nil || reader.has($0, isSecret: $0 == "url") }) {
            let next = try RedisConfiguration(reader)
            do { try next.validate() } catch {
                throw reader.failure(.conflict, "", "no client can be made with this: \(error)", cause: error)
            }
        } else {
            var next = caches.redis.configuration
            try reader.read(RedisConfiguration.settings.filter { !$0.isReloadable }, into: &next)
        }
    }

    /// The caches that there are must not keep the next start from succeeding, either.
    private func checkCaches(_ plan: CachePlan) throws {
        var names: [Keyspace: String] = [:]
        for name in caches.statuses.map(\.name) {
            let keyspace = try plan.settings(for: name).keyspace(of: name)
            guard let other = names.updateValue(name, forKey: keyspace) else { continue }
            throw CacheError(code: .invalidKeyspaces, message: "the caches \(other) and \(name) share a keyspace")
        }
    }

    private func adjust(_ terms: RedisConfiguration) throws {
        let former = state.withLock { $0.terms }
        guard former.redisBudget != terms.redisBudget || former.breaker != terms.breaker else { return }
        try caches.redis.adjust(redisBudget: terms.redisBudget, breaker: terms.breaker)
        state.withLock { $0.terms = terms }
        logger?.info("the budget or the breaker settings of calls to Redis have changed")
    }

    /// The values of all keys that the client is made with, as hashes.
    private static func values(_ reader: SettingReader) -> [String: Int] {
        var values: [String: Int] = [:]
        func note(_ key: String, _ isSecret: Bool) {
            let raw = try? reader.raw(key, as: [.text, .number, .integer, .flag, .list], isSecret: isSecret)
            if let raw = raw ?? nil { values[key] = raw.hashValue }
        }
        for setting in ServerSettings.settings { note(setting.key, setting.isSecret) }
        for setting in RedisConfiguration.settings where !setting.isReloadable { note(setting.key, setting.isSecret) }
        return values
    }

    // MARK: The log

    /// Notes that a configuration cannot be used, or that it can again; once.
    private func note(failure: String?) {
        let isNews = state.withLock { state in
            defer { state.failure = failure }
            return state.failure != failure
        }
        guard isNews, let logger else { return }
        if let failure {
            logger.error("the configuration cannot be used: the old one stays", metadata: ["error": "\(failure)"])
        } else {
            logger.info("the configuration can be used again")
        }
    }

    /// Notes what waits for a restart; once for the same keys.
    private func note(waiting: [String]) {
        let isNews = state.withLock { state in
            defer { state.waiting = waiting }
            return state.waiting != waiting
        }
        guard isNews, !waiting.isEmpty else { return }
        logger?
            .notice(
                "some changes to the configuration take effect at the next start",
                metadata: ["keys": "\(waiting.joined(separator: ", "))"]
            )
    }
}

#if ServiceLifecycle
extension CacheReload: Service {}
#endif
#endif
