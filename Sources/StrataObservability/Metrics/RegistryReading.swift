#if Observability
internal import Strata

/// Which caches of a registry export metrics.
final class RegistryReading: Sendable {
    private let registry: CacheRegistry
    /// The numbers of the caches that were added, by their names.
    private let added = Locked<[String: UInt64]>([:])

    init(_ registry: CacheRegistry) {
        self.registry = registry
    }

    /// Takes out what has left the registry, and adds what has come.
    ///
    /// - Throws: ``ObservabilityError/Code/nameTaken`` for the first one that cannot be added, when all were tried.
    func update(_ metrics: CacheMetrics) throws(ObservabilityError) {
        let entries = registry.entries
        let before = added.withLock { $0 }
        for (name, number) in before where entries[name]?.number != number {
            metrics.remove(name)
            added.withLock { $0[name] = nil }
        }
        var failure: ObservabilityError?
        for (name, entry) in entries.sorted(by: { $0.key < $1.key }) where before[name] != entry.number {
            do {
                try metrics.add(entry.cache, as: name)
                added.withLock { $0[name] = entry.number }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Takes out everything that was added.
    func end(_ metrics: CacheMetrics) {
        for name in added.withLock({ $0.keys }) { metrics.remove(name) }
        added.withLock { $0 = [:] }
    }
}
#endif
