internal import Logging
internal import Strata

/// What the caches of one client share: the link, the breakers and pending invalidations, and the leases.
final class CacheContext: ClientCompanion {
    let outage: OutageControl
    /// The invalidation link.
    let link: InvalidationLink
    /// The leases of this client.
    let leases = LeaseKeeper()

    init(_ configuration: RedisConfiguration, wakeup: Wakeup, logger: Logger?) {
        let outage = OutageControl(configuration, logger: logger)
        self.outage = outage
        link = InvalidationLink(settings: LinkSettings(configuration), wakeup: wakeup, logger: logger) {
            outage.returned()
        }
    }

    func drivers(for thread: LoopThread) -> [any LoopDriver] { link.drivers(for: thread) }

    func connected() { outage.returned() }

    func leave(_ error: RedisError) { link.condemn(error) }

    func loginChanged() { link.renew() }

    func shutDown() { link.shutDown() }

    func finish(by deadline: MonotonicInstant, _ client: RedisClient) async {
        await outage.replay.finish(by: deadline, client)
    }

    func stop() { outage.replay.stop() }
}
