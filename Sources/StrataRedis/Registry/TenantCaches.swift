public import Strata

/// One tenant's part of a named cache.
public typealias TenantCache<Key: KeyRepresentable, Value: Sendable> = TenantLevel<
    NamedCache<TenantKey<Key>, Value>, Key
>

/// The named caches of one tenant: a customer, a shop, or any other party that must not see the others' data.
///
/// ```swift
/// let acme = caches.tenant("acme")
/// let carts = try acme.cache("carts", Int.self, Cart.self)
/// let cart = try await carts.get(7) { try await database.cart(7, of: "acme") }
/// try await acme.drop(clearing: true)
/// ```
///
/// This is a value type: a tenant costs nothing until it has entries. All tenants of a name share its memory limit, its
/// keyspace and its link, so any number of them may come and go.
public struct TenantCaches: Sendable {
    /// The tenant.
    public let name: String
    private let caches: RedisCaches

    init(_ caches: RedisCaches, _ name: String) {
        self.caches = caches
        self.name = name
    }

    /// The tenant's part of the cache of a name, whose keys are ``/Strata/TenantKey``.
    ///
    /// - Parameters:
    ///   - name: The name of the cache, which all tenants share.
    ///   - key: The type of the tenant's keys.
    ///   - value: The type of the values.
    /// - Returns: The tenant's part.
    /// - Throws: As ``RedisCaches``: also ``/Strata/CacheError/Code/otherTypes`` for a cache whose keys name no tenant.
    public func cache<Key: KeyRepresentable, Value: Codable & Sendable>(
        _ name: String,
        _ key: Key.Type = Key.self,
        _ value: Value.Type = Value.self
    ) throws -> TenantCache<Key, Value> {
        try caches.cache(name, TenantKey<Key>.self, Value.self).tenant(self.name)
    }

    /// The tenant's part of the cache of a name, with a codec of its own.
    ///
    /// - Parameters:
    ///   - name: The name of the cache, which all tenants share.
    ///   - key: The type of the tenant's keys.
    ///   - codec: How values become bytes.
    /// - Returns: The tenant's part.
    /// - Throws: As the other form.
    public func cache<Key: KeyRepresentable, Value: Sendable>(
        _ name: String,
        _ key: Key.Type = Key.self,
        codec: Codec<Value>
    ) throws -> TenantCache<Key, Value> {
        try caches.cache(name, TenantKey<Key>.self, codec: codec).tenant(self.name)
    }

    /// Voids all entries of the tenant, in Redis and in the memory of every instance.
    ///
    /// One round trip for each cache whose keys name tenants, and sixteen in a cluster, for any number of entries. The
    /// bytes leave Redis when they expire, or by a sweep.
    ///
    /// - Parameter mode: What becomes of it while Redis is away; `nil`, the default, for what each cache's settings
    ///   say.
    /// - Returns: Whether it was carried out.
    /// - Throws: The error of the first cache that failed, after all were tried; with ``/Strata/RemovalMode/deferred``
    ///   no error of an outage, unless a level has no room to keep it. `CancellationError`.
    @discardableResult
    public func clear(_ mode: RemovalMode? = nil) async throws -> RemovalOutcome {
        try await caches.tenanted.invalidate(tags: [TenantTags(name).all], mode)
    }

    /// Invalidates the tenant's entries that bear one of these tags, in all caches whose keys name tenants.
    ///
    /// One round trip for each of these caches and each thousand tags, and sixteen in a cluster. Other tenants' entries
    /// with the same tags stay.
    ///
    /// - Parameters:
    ///   - tags: The tags, as the tenant has set them.
    ///   - mode: As for ``clear(_:)``.
    /// - Returns: Whether it was carried out.
    /// - Throws: As ``clear(_:)``; ``/Strata/CacheError/Code/invalidTags``.
    @discardableResult
    public func invalidate(tags: [String], _ mode: RemovalMode? = nil) async throws -> RemovalOutcome {
        let own = TenantTags(name)
        return try await caches.tenanted.invalidate(tags: tags.map { own.stored($0) }, mode)
    }

    /// Removes the tenant's entries from this instance's memory.
    ///
    /// Its entries in Redis stay until they expire, and serve the tenant if it comes back, unless you clear them.
    ///
    /// - Parameters:
    ///   - clearing: Whether to ``clear(_:)`` first, which removes the entries for all instances.
    ///   - mode: As for ``clear(_:)``.
    /// - Throws: As ``clear(_:)``; the entries have left this instance's memory all the same.
    public func drop(clearing: Bool = false, _ mode: RemovalMode? = nil) async throws {
        defer { for member in caches.tenanted { member.forget?(name) } }
        if clearing { try await clear(mode) }
    }
}

extension RedisCaches {
    /// The caches of a tenant.
    ///
    /// - Parameter name: Any text; different texts are different tenants.
    /// - Returns: The tenant's caches. Nothing is made or kept for them.
    public func tenant(_ name: String) -> TenantCaches { TenantCaches(self, name) }

    /// The caches whose keys name tenants.
    var tenanted: [CacheMember] { members.map(\.member).filter { $0.forget != nil } }
}
