#if ServiceLifecycle
public import ServiceLifecycle
public import Strata

/// Lets a cache finish its background work when an application ends: refreshes, fills, fetches without callers.
///
/// List it after the client in a `ServiceGroup`, which ends its services in reverse order.
///
/// ```swift
/// let group = ServiceGroup(
///     services: [redis, DrainService(products)],
///     gracefulShutdownSignals: [.sigterm],
///     logger: logger
/// )
/// try await group.run()
/// ```
public struct DrainService<Level: CacheLevel>: Service {
    private let level: Level
    private let limit: Duration

    /// A service that drains a level.
    ///
    /// - Parameters:
    ///   - level: Usually the whole cache.
    ///   - limit: How long graceful shutdown waits at most; then the rest is cancelled.
    public init(_ level: Level, within limit: Duration = .seconds(5)) {
        self.level = level
        self.limit = limit
    }

    /// Runs until graceful shutdown begins, then drains.
    ///
    /// Cancelling the task cancels the work at once.
    public func run() async throws {
        switch await Lifetime.end() {
        case .graceful: await level.drain(within: limit)
        case .cancelled: await level.drain(within: .zero)
        }
    }
}
#endif
