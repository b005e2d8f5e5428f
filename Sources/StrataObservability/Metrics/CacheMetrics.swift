#if Observability
public import Metrics
public import Strata

#if ServiceLifecycle
public import ServiceLifecycle
#endif

/// Exports what caches count, by swift-metrics.
///
/// ```swift
/// let metrics = CacheMetrics()
/// try metrics.add(products, as: "products")
/// try await metrics.run()  // or give it to a ServiceGroup
/// ```
///
/// Counters are read from the levels at an interval, so that a hit in memory pays nothing for them. How long a fetch, a wait for
/// another instance and a call of Redis took is told when it has ended; no hit in memory is among these.
///
/// Make one for a process, and add all its caches. `docs/observability.md` lists the metrics.
///
/// Keep it: what it has added is exported as long as it lives, and the caches are held by it.
public final class CacheMetrics: Sendable {
    /// A place where durations are told; a client's belongs to no cache alone.
    private struct Source: Sendable, Hashable {
        let durations: WorkDurations
        let cache: String?
    }

    /// The names that caches have in the process's own metrics system.
    private static let namesTaken = Locked<Set<String>>([])

    /// How often counters are read.
    public let interval: Duration
    private let isOfProcess: Bool
    private let factory: any MetricsFactory
    private let caches = Locked<[CacheReading]>([])
    private let listeners = Locked<[Source: UInt64]>([:])

    /// Metrics of no cache yet.
    ///
    /// - Parameters:
    ///   - interval: How often counters are read, 10 seconds by default; at least 0.1 seconds.
    ///   - factory: Makes the metrics; by default the process's own, which `MetricsSystem.bootstrap(_:)` has set.
    public init(interval: Duration = .seconds(10), factory: (any MetricsFactory)? = nil) {
        self.interval = max(interval, .milliseconds(100))
        isOfProcess = factory == nil
        self.factory = factory ?? MetricsSystem.factory
    }

    deinit {
        for (source, id) in listeners.withLock({ $0 }) { source.durations.remove(id) }
        guard isOfProcess else { return }
        let names = caches.withLock { $0.map(\.name) }
        Self.namesTaken.withLock { $0.subtract(names) }
    }

    /// Adds a cache.
    ///
    /// - Parameters:
    ///   - cache: Usually the whole composition.
    ///   - name: What it is called in all its metrics, as `cache.name`.
    /// - Throws: ``ObservabilityError/Code/nameTaken`` when another cache has that name: the two would be added up.
    public func add(_ cache: some CacheLevel, as name: String) throws(ObservabilityError) {
        let reading = CacheReading(name, factory) { cache.label }
        let isFree = !isOfProcess || Self.namesTaken.withLock { $0.insert(name).inserted }
        let isAdded =
            isFree
            && caches.withLock { caches in
                guard !caches.contains(where: { $0.name == name }) else { return false }
                caches.append(reading)
                return true
            }
        guard isAdded else {
            throw ObservabilityError(code: .nameTaken, message: "another cache exports metrics by this name: \(name)")
        }
        listen(to: reading)
    }

    /// Reads the counters at the interval, until the task is cancelled or, in a `ServiceGroup`, until graceful shutdown
    /// begins; then once more.
    ///
    /// Returns without an error in both cases.
    public func run() async throws {
        do {
            #if ServiceLifecycle
            try await cancelWhenGracefulShutdown { try await self.recordAtIntervals() }
            #else
            try await recordAtIntervals()
            #endif
        } catch is CancellationError {}
        record()
    }

    private func recordAtIntervals() async throws {
        while true {
            record()
            try await Task.pause(for: interval)
        }
    }

    /// Reads the counters now.
    ///
    /// ``run()`` does this at the interval; call it yourself where metrics are pushed at the end of a short process.
    public func record() {
        for cache in caches.withLock({ $0 }) {
            // A level may have been exchanged.
            listen(to: cache)
            cache.record()
        }
    }

    private func listen(to cache: CacheReading) {
        for node in cache.nodes {
            for durations in node.label.durations {
                let (level, place) = (node.level, node.label.place)
                let source = Source(durations: durations, cache: place.isEmpty ? cache.name : nil)
                listeners.withLock { listeners in
                    guard listeners[source] == nil else { return }
                    let recorder = DurationRecorder(cache.name, level, place, factory)
                    listeners[source] = durations.add { recorder.record($0, $1, $2) }
                }
            }
        }
    }
}

#if ServiceLifecycle
extension CacheMetrics: Service {}
#endif
#endif
