#if Observability
public import Metrics
public import Strata

#if ServiceLifecycle
public import ServiceLifecycle
#endif

/// Exports the counters of caches by swift-metrics.
///
/// ```swift
/// let metrics = CacheMetrics()
/// try metrics.add(products, as: "products")
/// try await metrics.run()  // or give it to a ServiceGroup
/// ```
///
/// Counters are read from the levels at an interval, so a hit in memory pays nothing for them. The durations of
/// fetches, of waits for another instance and of calls to Redis are recorded as they end; hits in memory are not timed.
///
/// Make one for a process, and add all its caches. `docs/observability.md` lists the metrics.
///
/// Keep a reference to it: its caches are counted as long as it lives, and it keeps them alive. When it goes, its
/// series stay as they are, so that the last counts can still be pushed; ``remove(_:)`` ends them.
public final class CacheMetrics: Sendable {
    /// The observers, and their numbers.
    private struct Listener: Sendable {
        let id: UInt64
        let recorder: DurationRecorder
    }

    private struct State: Sendable {
        var caches: [CacheReading] = []
        var monitors: [ConsistencyReading] = []
        var listeners: [DurationSource: Listener] = [:]
        var registries: [RegistryReading] = []
    }

    /// The names that caches have in the process's own metrics system.
    private static let namesTaken = Locked<Set<String>>([])
    /// The names that monitors have there: usually those of the caches that they measure.
    private static let monitorsTaken = Locked<Set<String>>([])

    /// How often counters are read.
    public let interval: Duration
    private let isOfProcess: Bool
    private let factory: any MetricsFactory
    private let state = Locked(State())

    /// Metrics without a cache.
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
        let state = state.withLock { $0 }
        for (source, listener) in state.listeners { source.durations.remove(listener.id) }
        guard isOfProcess else { return }
        Self.namesTaken.withLock { $0.subtract(state.caches.map(\.name)) }
        Self.monitorsTaken.withLock { $0.subtract(state.monitors.map(\.name)) }
    }

    /// Adds a cache.
    ///
    /// - Parameters:
    ///   - cache: Usually the whole composition.
    ///   - name: The value of `cache.name` in all its metrics.
    /// - Throws: ``ObservabilityError/Code/nameTaken`` when another cache has that name: the two would be added up.
    public func add(_ cache: some CacheLevel, as name: String) throws(ObservabilityError) {
        let reading = CacheReading(name, factory) { cache.label }
        let isFree = !isOfProcess || Self.namesTaken.withLock { $0.insert(name).inserted }
        let isAdded =
            isFree
            && state.withLock { state in
                guard !state.caches.contains(where: { $0.name == name }) else { return false }
                state.caches.append(reading)
                return true
            }
        guard isAdded else {
            throw ObservabilityError(code: .nameTaken, message: "another cache exports metrics by this name: \(name)")
        }
        listen(to: reading)
    }

    /// Adds all caches of a registry, each by its own name, and those that come later.
    ///
    /// Added and removed caches are noticed when counters are read: until then a new one is not counted, and the name
    /// of a removed one is not free. A later cache is left out if its name is taken here.
    ///
    /// - Parameter registry: The caches by name.
    /// - Throws: ``ObservabilityError/Code/nameTaken`` when another cache has one of the names, and then none is added.
    public func add(_ registry: CacheRegistry) throws(ObservabilityError) {
        let reading = RegistryReading(registry)
        do {
            try reading.update(self)
        } catch {
            reading.end(self)
            throw error
        }
        state.withLock { $0.registries.append(reading) }
    }

    /// Adds a monitor of consistency, such as `ConsistencyMonitor` of `StrataRedis`.
    ///
    /// - Parameters:
    ///   - monitor: The monitor; run it yourself.
    ///   - name: The value of `cache.name` in its metrics; usually the name of the cache that it measures.
    /// - Throws: ``ObservabilityError/Code/nameTaken`` when another monitor has that name.
    public func add(
        consistency monitor: some ConsistencyCounted,
        as name: String
    ) throws(ObservabilityError) {
        let reading = ConsistencyReading(name, monitor, factory)
        let isFree = !isOfProcess || Self.monitorsTaken.withLock { $0.insert(name).inserted }
        let isAdded =
            isFree
            && state.withLock { state in
                guard !state.monitors.contains(where: { $0.name == name }) else { return false }
                state.monitors.append(reading)
                return true
            }
        guard isAdded else {
            throw ObservabilityError(code: .nameTaken, message: "another monitor exports metrics by this name: \(name)")
        }
    }

    /// Removes a monitor of consistency: its series end, it is released, and its name is free.
    ///
    /// - Parameter name: The name that it was added by.
    /// - Returns: Whether there was such a monitor.
    @discardableResult
    public func removeConsistency(_ name: String) -> Bool {
        let reading: ConsistencyReading? = state.withLock { state in
            guard let index = state.monitors.firstIndex(where: { $0.name == name }) else { return nil }
            return state.monitors.remove(at: index)
        }
        guard let reading else { return false }
        reading.end()
        if isOfProcess { Self.monitorsTaken.withLock { _ = $0.remove(name) } }
        return true
    }

    /// Removes a cache, such as that of a tenant who has left: its series end, it is released, and its name is free.
    ///
    /// Counts since the last reading are not exported: call ``record()`` before, if they matter. Calls of a Redis
    /// client that other added caches use are still recorded; the series of a server do not end.
    ///
    /// - Parameter name: The name that it was added by.
    /// - Returns: Whether there was such a cache.
    @discardableResult
    public func remove(_ name: String) -> Bool {
        let others = state.withLock { state in state.caches.filter { $0.name != name } }
        let shared = Set(others.flatMap(\.sources))
        let (cache, ended): (CacheReading?, [DurationSource: Listener]) = state.withLock { state in
            guard let index = state.caches.firstIndex(where: { $0.name == name }) else { return (nil, [:]) }
            let cache = state.caches.remove(at: index)
            let ended = state.listeners.filter { source, _ in
                source.cache.map { $0 == name } ?? !shared.contains(source)
            }
            for source in ended.keys { state.listeners[source] = nil }
            return (cache, ended)
        }
        guard let cache else { return false }
        for (source, listener) in ended {
            source.durations.remove(listener.id)
            // The series of a server's calls may be those of another client, too.
            if source.cache != nil { listener.recorder.end() }
        }
        cache.end()
        // One that was added meanwhile may use the same client.
        for other in state.withLock({ $0.caches }) { listen(to: other) }
        if isOfProcess { Self.namesTaken.withLock { _ = $0.remove(name) } }
        return true
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
        for registry in state.withLock({ $0.registries }) { try? registry.update(self) }
        for cache in state.withLock({ $0.caches }) {
            // A level may have been exchanged.
            listen(to: cache)
            cache.record()
        }
        for monitor in state.withLock({ $0.monitors }) { monitor.record() }
    }

    private func listen(to cache: CacheReading) {
        for node in cache.nodes {
            for source in cache.sources(of: node) {
                state.withLock { state in
                    // It may have been taken out meanwhile.
                    guard state.listeners[source] == nil, state.caches.contains(where: { $0 === cache }) else { return }
                    let recorder = DurationRecorder(cache.name, node.level, node.label.place, factory)
                    let id = source.durations.add { recorder.record($0, $1, $2) }
                    state.listeners[source] = Listener(id: id, recorder: recorder)
                }
            }
        }
    }
}

#if ServiceLifecycle
extension CacheMetrics: Service {}
#endif
#endif
