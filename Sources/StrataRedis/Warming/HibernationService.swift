#if ServiceLifecycle
public import Logging
public import ServiceLifecycle
public import Strata

/// Hibernates the memory of a cache when an application ends, for its successor.
///
/// List it after the client and before the server of requests: a `ServiceGroup` ends its services in reverse order.
///
/// ```swift
/// do {
///     let report = try await products.restore(from: path)
///     logger.info("memory was restored", metadata: ["entries": "\(report.restored)"])
/// } catch {
///     logger.warning("memory begins cold", metadata: ["error": "\(error)"])
/// }
/// let services: [any Service] = [
///     redis, HibernationService(products, to: path, logger: logger), DrainService(products), server,
/// ]
/// let group = ServiceGroup(services: services, gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
public struct HibernationService<Lower: CacheLevel>: Service where Lower.Key: KeyRepresentable {
    private let cache: Composed<MemoryLevel<Lower.Key, Lower.Value>, Lower>
    private let path: String
    private let codec: Codec<Lower.Value>?
    private let limits: HibernationLimits
    private let logger: Logger?

    /// A service that hibernates a cache.
    ///
    /// - Parameters:
    ///   - cache: Memory over the rest of the cache.
    ///   - path: The file.
    ///   - codec: How values become bytes; by default as the Redis level below writes them.
    ///   - limits: How much is written, and for how long.
    ///   - logger: Gets a line with what was written, or why nothing was.
    public init(
        _ cache: Composed<MemoryLevel<Lower.Key, Lower.Value>, Lower>,
        to path: String,
        codec: Codec<Lower.Value>? = nil,
        limits: HibernationLimits = HibernationLimits(),
        logger: Logger? = nil
    ) {
        self.cache = cache
        self.path = path
        self.codec = codec
        self.limits = limits
        self.logger = logger
    }

    /// Runs until graceful shutdown begins, then writes memory to the file.
    ///
    /// A failure is only logged: the successor begins cold. Cancelling the task writes nothing.
    public func run() async {
        guard case .graceful = await Lifetime.end() else { return }
        do {
            let report = try await cache.hibernate(to: path, codec: codec, limits: limits)
            logger?
                .info(
                    "memory is hibernated",
                    metadata: ["written": "\(report.written)", "bytes": "\(report.bytes)", "left": "\(report.left)"]
                )
        } catch {
            logger?
                .warning(
                    "memory cannot be hibernated: the next process begins cold",
                    metadata: ["error": "\((error as? HibernationError)?.description ?? CacheError.name(of: error))"]
                )
        }
    }
}
#endif
