public import Strata

/// A cache that ``RedisCaches`` has made: memory above Redis, with a place for a source at the bottom.
///
/// It has all that a composition has: `get` with or without a source, `set`, `update`, tags, traces. `upper` is its
/// memory, `lower.level` the level in Redis.
public typealias NamedCache<Key: KeyRepresentable, Value: Sendable> = Composed<
    MemoryLevel<Key, Value>, FetchingLevel<Key, Value>
>

/// A named cache without its types, as the registry of all caches holds it.
struct CacheMember: Sendable {
    /// Its number in the registry: another cache may get its name.
    var number: UInt64 = 0
    let keyspace: Keyspace
    let key: String
    let value: String
    /// What it was made with; a later plan changes a part of that.
    let origin: CacheSettings
    let cache: any CacheLevel
    let adopt: @Sendable (CacheSettings) -> Void
    let ready: @Sendable (Duration) async throws -> Void
    let isTold: @Sendable () -> Bool
    /// Drops what memory has of a tenant; `nil` if keys name no tenant.
    let forget: (@Sendable (_ tenant: String) -> Void)?

    init<Key: KeyRepresentable, Value: Sendable>(_ cache: NamedCache<Key, Value>, _ settings: CacheSettings) {
        let level = cache.lower.level
        keyspace = level.keyspace
        key = "\(Key.self)"
        value = "\(Value.self)"
        origin = settings
        self.cache = cache
        adopt = { new in
            // What does not change costs nothing: each change is kept.
            if level.freshness != new.freshness { level.freshness = new.freshness }
            if cache.lower.options != new.leases { cache.lower.options = new.leases }
            if new.memory.isSameUnit(as: settings.memory) { cache.upper.resize(to: new.memory.total) }
        }
        ready = { try await level.ready(within: $0) }
        isTold = { level.isTold }
        let memory = cache.upper
        let forgetTenant: @Sendable (String) -> Void = { tenant in
            memory.removeAll { key in (key as? any TenantScoped)?.tenant == tenant }
        }
        forget = Key.self is any TenantScoped.Type ? forgetTenant : nil
    }
}

extension CacheMember {
    func status(_ name: String) -> CacheStatus {
        CacheStatus(name: name, keyspace: keyspace, key: key, value: value, isTold: isTold())
    }
}

/// The state of a named cache, for health checks and lists.
public struct CacheStatus: Sendable, Hashable {
    /// Its name.
    public let name: String
    /// Its keyspace.
    public let keyspace: Keyspace
    /// The type of its keys.
    public let key: String
    /// The type of its values.
    public let value: String
    /// Whether the cache hears of changes that others make; always true without ``Coherence/tracking``.
    ///
    /// A service works without that: memory then keeps what it reads for 3 seconds.
    public let isTold: Bool
}
