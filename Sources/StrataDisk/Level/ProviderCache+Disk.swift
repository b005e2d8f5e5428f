#if Disk
public import Strata

extension ProviderCache {
    /// A cache with memory over a file on disk, for a service of one instance.
    ///
    /// ```swift
    /// let cache = ProviderCache(DiskStore(path: "/var/lib/shop/cache.sqlite"), namespace: "shop")
    /// ```
    ///
    /// - Parameters:
    ///   - store: The file.
    ///   - namespace: The part of it that holds the records, of all providers.
    ///   - memory: How much memory may hold: 10 000 records if nothing is said.
    ///   - limit: How much the namespace may hold, in bytes; 300 MiB if nothing is said. When it is full, what was used
    ///     longest ago goes.
    ///   - freshness: How long records last whose provider does not say, how long stale ones are served, and how long
    ///     callers wait.
    public init(
        _ store: DiskStore,
        namespace: String,
        memory: MemoryLimit<ProviderRecord> = .entries(10_000),
        limit: Int = 300 << 20,
        freshness: FreshnessPolicy = FreshnessPolicy()
    ) {
        let disk = DiskLevel<ProviderRecord.Key, ProviderRecord>(
            store,
            namespace: namespace,
            codec: .records,
            limit: limit
        )
        self.init(memory: memory, over: disk.compose(Source.perCall(freshness: freshness)))
    }
}
#endif
