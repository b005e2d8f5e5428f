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
    ///   - namespace: The part of it that holds the records of all providers.
    ///   - memory: How much memory may hold; 10 000 records by default.
    ///   - limit: How much the namespace may hold, in bytes; 300 MiB by default. A record that does not fit stays in
    ///     memory alone. From 95 % of the limit on, a sweep in the background drops the least recently used records,
    ///     from memory too, until 70 % are left. It never drops records whose lifetime is ``/Strata/EntryLifetime/unlimited``
    ///     or whose provider is not ``/Strata/CacheProvider/isExpirable``.
    ///   - freshness: How long records last if their provider does not say, how long stale ones are served, and how
    ///     long callers wait.
    ///   - failureBackOff: How long a record is not loaded again after an error, by any call that evicts nothing;
    ///     doubled with each failure in a row. With `nil` it is loaded again at once.
    public init(
        _ store: DiskStore,
        namespace: String,
        memory: MemoryLimit<ProviderRecord> = .entries(10_000),
        limit: Int = 300 << 20,
        freshness: FreshnessPolicy = FreshnessPolicy(),
        failureBackOff: ClosedRange<Duration>? = .milliseconds(100) ... .seconds(5)
    ) {
        let disk = DiskLevel<ProviderRecord.Key, ProviderRecord>(
            space: DiskSpace(store: store, name: DiskSpace.name(of: namespace), limit: limit, whenFull: .sweep),
            namespace: namespace,
            codec: .records,
            freshness: freshness,
            undecodable: .miss
        )
        self.init(disk, memory: memory, over: Source.perCall(freshness: freshness, failureBackOff: failureBackOff))
    }

    init(
        _ disk: DiskLevel<ProviderRecord.Key, ProviderRecord>,
        memory limit: MemoryLimit<ProviderRecord>,
        over source: Source<ProviderRecord.Key, ProviderRecord>,
        fillWaitLimit: Duration = .milliseconds(250)
    ) {
        let memory = MemoryLevel<ProviderRecord.Key, ProviderRecord>(limit: limit)
        disk.sweeps.listen { keys in
            // Memory has no way to fail.
            for key in keys { try? await memory.remove(ProviderRecord.Key(keyBytes: key)) }
        }
        let freshness = source.freshness
        let lifetime = EntryLifetime(
            freshFor: freshness.freshFor,
            staleFor: max(freshness.staleWhileRevalidate, freshness.staleIfError)
        )
        self.init(levels: memory.compose(disk.compose(source, fillWaitLimit: fillWaitLimit)), lifetime: lifetime) {
            report in
            try await disk.removeExpired { report(ProviderRecord.Key(keyBytes: $0)) }
        }
    }
}
#endif
