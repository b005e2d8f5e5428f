#if ServiceLifecycle
public import ServiceLifecycle
public import Strata

/// Lets a cache finish what it does in the background when an application ends: refreshes, write-backs, fetches that go on
/// without a caller.
///
/// List it after the client in a `ServiceGroup`, which ends its services in reverse order.
///
/// ```swift
/// let group = ServiceGroup(services: [redis, DrainService(products)], logger: logger)
/// try await group.run()
/// ```
public struct DrainService<Level: CacheLevel>: Service {
    private let level: Level
    private let limit: Duration

    /// A service that drains a level.
    ///
    /// - Parameters:
    ///   - level: Usually the whole cache.
    ///   - limit: How long graceful shutdown waits at most; what is left then is cancelled.
    public init(_ level: Level, within limit: Duration = .seconds(5)) {
        self.level = level
        self.limit = limit
    }

    /// Runs until graceful shutdown begins, then drains; when the task is cancelled, what goes on is cancelled at once.
    public func run() async throws {
        switch await Lifetime.end() {
        case .graceful: await level.drain(within: limit)
        case .cancelled: await level.drain(within: .zero)
        }
    }
}
#endif
