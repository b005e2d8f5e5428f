/// A key of one tenant: a customer, a shop, or any user that shares a cache with others and must not see their values.
///
/// A cache with such keys has room for any number of tenants: they share its memory limit, its keyspace and its link,
/// and a tenant costs nothing until it has entries. Use it through ``CacheLevel/tenant(_:)``, which also bounds tags
/// and `clear()` to one tenant.
///
/// ```swift
/// let carts = MemoryLevel<TenantKey<Int>, Cart>(limit: .entries(100_000))
///     .compose(
///         RedisLevel(redis, keyspace: "carts")
///             .fetching { key in try await database.cart(key.key, of: key.tenant) }
///     )
/// let acme = carts.tenant("acme")
/// let cart = try await acme.get(7)
/// try await acme.clear()  // no other tenant notices
/// ```
///
/// A source's answer for such a key bears the tag of its tenant, and its own tags are the tenant's.
public struct TenantKey<Key: Hashable & Sendable>: Hashable, Sendable {
    /// The tenant whose key it is.
    public var tenant: String
    /// The key, as the tenant knows it.
    public var key: Key

    /// A key of a tenant.
    @inlinable
    public init(_ tenant: String, _ key: Key) {
        self.tenant = tenant
        self.key = key
    }
}

extension TenantKey: KeyRepresentable where Key: KeyRepresentable {
    /// The tenant and the key with a colon between them.
    ///
    /// A colon inside of either is escaped, so no tenant can choose a key that is another tenant's.
    public var keyBytes: [UInt8] { KeyBytes.joining(tenant, key) }
}

/// A key whose entries belong to a tenant.
package protocol TenantScoped {
    /// The tenant whose key it is.
    var tenant: String { get }

    /// The tags of its entries, where it is a key of a tenant within another, or within none.
    func tags(within outer: TenantTags?) -> TenantTags
}

extension TenantKey: TenantScoped {
    package func tags(within outer: TenantTags?) -> TenantTags {
        let own = TenantTags(tenant, within: outer)
        return (key as? any TenantScoped)?.tags(within: own) ?? own
    }
}

/// The tags of a tenant's entries: one that all of them bear, and their own with the tenant before them.
package struct TenantTags: Sendable, Hashable {
    /// The tag that all of them bear.
    package let all: String
    /// Those of the tenants that it is within.
    private let outer: [String]

    package init(_ tenant: String, within other: TenantTags? = nil) {
        var name = Array((other.map { $0.all + ":" } ?? "").utf8)
        name += Array("tenant:".utf8)
        PercentEncoding.append(Array(tenant.utf8), to: &name) { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "%") }
        all = String(decoding: name, as: UTF8.self)
        outer = other.map { $0.outer + [$0.all] } ?? []
    }

    /// A tag of the tenant's, as it is stored; one that was stored already stays as it is.
    ///
    /// By bytes as well: a tag of the tenant's may begin with a character that joins the one before.
    package func stored(_ tag: String) -> String {
        let isStored = (outer + [all])
            .contains { tag == $0 || tag.hasPrefix("\($0):") || tag.utf8.starts(with: "\($0):".utf8) }
        return isStored ? tag : "\(all):\(tag)"
    }

    /// The tags of an entry, as they are stored.
    ///
    /// Levels hand entries out with these: invalidations know an entry's tags by this form.
    func stored(_ tags: [String]) -> [String] {
        let names = outer + [all]
        return names + tags.lazy.filter { !names.contains($0) }.map { stored($0) }
    }
}
