internal import Logging
internal import Strata

/// What the caches of one client share: the link, the breakers and pending invalidations, and the leases.
final class CacheContext: ClientCompanion {
    let outage: OutageControl
    /// The invalidation link.
    let link: InvalidationLink
    /// The links of all nodes of a cluster; `nil` for a single server, and for a node.
    let links: ClusterLinks?
    /// Chooses the mode of tracking; `nil` if it is fixed.
    let meter: TrackingMeter?
    /// The leases of this client.
    let leases: LeaseKeeper
    /// What the levels know of invalidations.
    let tags = TagDirectory()
    /// The numbers under which this client is listed among the instances of fleets.
    let ownNumbers = Locked<Set<String>>([])

    init(
        _ configuration: RedisConfiguration,
        wakeup: Wakeup,
        logger: Logger?,
        _ record: BreakerRecord = BreakerRecord()
    ) {
        let clock = CacheClock.current
        leases = LeaseKeeper(clock)
        let outage = OutageControl(configuration, clock, logger: logger, record)
        self.outage = outage
        let link = InvalidationLink(settings: LinkSettings(configuration), wakeup: wakeup, logger: logger) {
            outage.returned()
        }
        let links = configuration.isRouted ? ClusterLinks(configuration, changed: outage.handedOver) : nil
        meter =
            configuration.tracking == .automatic
            ? TrackingMeter(logger: logger) { reads in links?.track(reads: reads) ?? link.track(reads: reads) } : nil
        (self.link, self.links) = (link, links)
        // The meter holds the links.
        let refused: @Sendable () -> Void = { [weak meter] in meter?.refused() }
        if let links { links.onTrackingRefused(refused) } else { link.onTrackingRefused(refused) }
    }

    /// Asks to be told of changes in a keyspace.
    ///
    /// Returns a number by which to take that back.
    func tell(_ listener: any PartListener & LinkListener, of keyspace: Keyspace) -> UInt64 {
        links?.add(listener, for: keyspace) ?? link.add(listener, for: keyspace)
    }

    func tellNoMore(_ number: UInt64) {
        if let links { links.remove(number) } else { link.remove(number) }
    }

    /// Why changes are not told at the moment, in words; `nil` while they are, and while no level listens.
    var refusal: String? { links.map { $0.refusal } ?? link.refusal }

    var clusterObserver: (any ClusterObserver)? { links }

    func drivers(for thread: LoopThread) -> [any LoopDriver] { link.drivers(for: thread) }

    func connected() { outage.returned() }

    func leave(_ error: RedisError) { link.condemn(error) }

    func loginChanged(isFirst: Bool) {
        link.hurry()
        if !isFirst { link.renew() }
    }

    func shutDown() {
        link.shutDown()
        links?.shutDown()
        leases.stop()
    }

    func finish(by deadline: MonotonicInstant, _ client: RedisClient) async {
        // First, for the other may take all the time that there is; then those that have begun meanwhile.
        leases.endFetches()
        await outage.replay.finish(by: deadline, client)
        leases.endFetches()
    }

    func stop() {
        outage.replay.stop()
        leases.stop()
    }
}
