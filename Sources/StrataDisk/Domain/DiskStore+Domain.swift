#if Disk
public import Strata

extension DiskStore {
    /// A small store for settings and the like, by name, which never evicts or drops a value.
    ///
    /// It is a ``DiskLevel`` with other rules: values do not expire, a full domain refuses new ones
    /// (``DiskError/Code/noRoom``), and bytes that cannot be decoded are an error and not a miss. For values that are
    /// read often, put memory above it.
    ///
    /// ```swift
    /// let options = DiskOptions(durability: .power, corruption: .fail)
    /// let store = DiskStore(path: "/var/lib/shop/state.sqlite", options: options)
    /// let flags = MemoryLevel<String, Bool>(limit: .entries(100)).compose(store.domain("flags"))
    /// ```
    ///
    /// Domains and the namespaces of other levels do not touch each other. Several instances of one domain may write at
    /// the same time, in several processes too: each set is a transaction of its own.
    ///
    /// - Parameters:
    ///   - name: The name of the domain; `nil` for the default domain, which the whole process shares.
    ///   - codec: How values become bytes.
    ///   - limit: How much it may hold, in bytes: keys, values and 128 bytes an entry.
    /// - Returns: A level.
    public func domain<Key: KeyRepresentable, Value: Sendable>(
        _ name: String?,
        codec: Codec<Value>,
        limit: Int = 16 << 20
    ) -> DiskLevel<Key, Value> {
        DiskLevel(
            // Colons part them from each other; see DiskSpace.name(of:) for other levels' namespaces.
            space: DiskSpace(
                store: self,
                name: name.map { "domain:\($0)" } ?? "domain",
                limit: limit,
                whenFull: .refuse
            ),
            codec: codec,
            freshness: nil,
            undecodable: .fail
        )
    }

    /// A small store for settings and the like, by name, with values as CBOR.
    ///
    /// - Parameters:
    ///   - name: The name of the domain; `nil` for the default domain, which the whole process shares.
    ///   - limit: How much it may hold, in bytes: keys, values and 128 bytes an entry.
    /// - Returns: A level.
    public func domain<Key: KeyRepresentable, Value: Codable & Sendable>(
        _ name: String?,
        limit: Int = 16 << 20
    ) -> DiskLevel<Key, Value> {
        domain(name, codec: .cbor, limit: limit)
    }
}
#endif
