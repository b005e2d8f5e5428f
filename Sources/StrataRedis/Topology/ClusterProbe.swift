internal import Strata

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Asks unknown servers whether they are nodes of a cluster.
///
/// A keyspace lies in parts in a cluster, so that has to be known before a cache is made.
struct ClusterProbe {
    private let configuration: RedisConfiguration
    private let wakeup: Wakeup

    init(_ configuration: RedisConfiguration) throws {
        self.configuration = configuration
        wakeup = try Wakeup()
    }

    /// Asks on the caller's thread, which waits for ``RedisConfiguration/connectTimeout`` at most.
    ///
    /// - Returns: Whether nodes of a cluster have answered, and no other server; false when no server has.
    func findsCluster() -> Bool {
        let resources = LoopResources()
        // Drivers hold its buffer, and not it.
        defer { withExtendedLifetime(resources) {} }
        let thread = LoopThread(
            configuration: configuration,
            wakeup: wakeup,
            material: resources.material(of: configuration, logger: nil),
            limit: ReconnectLimit(burst: configuration.places.endpoints.count),
            buffer: resources.buffer
        )
        let locator = PrimaryLocator(configuration, configuration.places, logger: nil)
        let askers = locator.askers(for: thread)
        defer { for asker in askers { asker.stop() } }
        let drivers: [any LoopDriver] = askers + [locator]
        let end = MonotonicInstant.now.advanced(by: configuration.connectTimeout)
        // The time for an answer is that of a server, and a source of credentials may take longer.
        awaitCredentials(until: end)
        let search = locator.search(now: .now)
        while true {
            for driver in drivers { driver.pump(now: .now) }
            if locator.outcome(of: search) != nil { return locator.hasCluster }
            guard .now < end else { return false }
            wait(for: drivers, until: end)
        }
    }

    /// Waits for the first answer of a source of credentials.
    private func awaitCredentials(until end: MonotonicInstant) {
        guard let keeper = configuration.credentials?.keeper, keeper.current == nil else { return }
        keeper.ask(on: QuestionThreads.shared) { [wakeup] in wakeup.signal() }
        while .now < end, keeper.isAsking { wait(for: [], until: end) { keeper.isAsking } }
    }

    /// Sleeps until a socket or time has something.
    private func wait(
        for drivers: [any LoopDriver],
        until end: MonotonicInstant,
        while isWorthIt: () -> Bool = { true }
    ) {
        // What comes between the two is seen: the thread that has resolved a name wakes this one after it.
        wakeup.announceSleep()
        guard isWorthIt() else { return wakeup.announceAwake() }
        for driver in drivers { driver.pump(now: .now) }
        var descriptors = [pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0)]
        for driver in drivers {
            let interest = driver.interest
            descriptors.append(pollfd(fd: interest?.descriptor ?? -1, events: interest?.events ?? 0, revents: 0))
        }
        let due = drivers.reduce(end) { min($0, $1.nextDeadline) }
        let left = max(0, MonotonicInstant.now.nanoseconds(to: due))
        let ready = poll(&descriptors, nfds_t(descriptors.count), Int32(clamping: left / 1_000_000 + 1))
        wakeup.announceAwake()
        guard ready > 0 else { return }
        if descriptors[0].revents != 0 { wakeup.clear() }
        for (driver, descriptor) in zip(drivers, descriptors.dropFirst()) where descriptor.revents != 0 {
            driver.handle(events: descriptor.revents, now: .now)
        }
    }
}

extension RedisConfiguration {
    /// The servers that are asked what they are.
    var places: SentinelOptions { sentinels ?? SentinelOptions(endpoints: [endpoint], primary: "") }

    /// The same configuration, with ``RedisTopology/cluster`` in the place of ``RedisTopology/auto`` where nodes of a
    /// cluster answer.
    ///
    /// - Throws: ``RedisError`` when the system gives no descriptor.
    func settled() throws -> RedisConfiguration {
        guard topology == .auto, try ClusterProbe(self).findsCluster() else { return self }
        var configuration = self
        configuration.topology = .cluster
        if let first = places.endpoints.first { configuration.endpoint = first }
        configuration.furtherEndpoints = Array(places.endpoints.dropFirst())
        configuration.sentinels = nil
        return configuration
    }
}
