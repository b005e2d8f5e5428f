internal import Logging
internal import Strata

#if ServiceLifecycle
public import ServiceLifecycle
#endif

extension RedisCaches {
    /// How long the end of a service waits for background work of the caches.
    public static let drainLimit: Duration = .seconds(5)

    /// Runs the client and its caches until the task is cancelled or, in a `ServiceGroup`, until graceful shutdown
    /// begins.
    ///
    /// At the beginning it waits until the caches hear of changes, and logs that, or after ten seconds why they do not;
    /// they work meanwhile. At the end it lets the caches finish their background work, for ``drainLimit`` at most, and
    /// then shuts the client down as ``RedisClient/run()`` does. Cancelling the task ends both at once.
    ///
    /// Do not list the client in the same group.
    public func run() async throws {
        try redis.start()
        let end = await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.announce() }
            let end = await Lifetime.end()
            group.cancelAll()
            return end
        }
        switch end {
        case .graceful:
            await drain(within: Self.drainLimit)
            await redis.shutDown(within: redis.configuration.commandTimeout)
        case .cancelled:
            await drain(within: .zero)
            await redis.shutDown(within: .zero)
        }
    }

    /// Tells once how the caches have begun.
    private func announce() async {
        guard let logger else { return }
        do {
            try await ready()
            logger.info("the caches are ready", metadata: ["caches": "\(registry.names.count)"])
        } catch let error as RedisError {
            logger.warning("the caches work, but are not ready", metadata: ["error": "\(error)"])
        } catch {}
    }
}

#if ServiceLifecycle
extension RedisCaches: Service {}
#endif
