internal import Logging
internal import Strata
internal import Synchronization

/// The connections of a client to one server, and what else its I/O thread drives for it.
///
/// Several groups may share a thread; each begins and ends by itself.
final class ConnectionGroup: Sendable {
    let connections: [Connection]
    /// The thread.
    let loop: IOLoop
    private let attachment: (any LoopAttachment)?
    private let configuration: RedisConfiguration
    private let makeLocator: (@Sendable (LoopThread) -> any ServerLocator)?
    private let observer: ConnectionObserver
    private let logger: Logger?
    private let started = Atomic<Bool>(false)
    /// Whether the thread drives it.
    private let joining = Locked(false)
    private let ending = Atomic<Bool>(false)
    private let completion = Locked(Completion())

    private struct Completion {
        var finished = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// - Parameters:
    ///   - configuration: The server, limits and timeouts.
    ///   - logger: Told of changes of the connections' state.
    ///   - loop: The thread.
    ///   - locator: Makes, on the thread, what finds out where the server is; `nil` if that is fixed.
    ///   - attachment: What else the thread drives.
    init(
        configuration: RedisConfiguration,
        logger: Logger?,
        loop: IOLoop,
        locator: (@Sendable (LoopThread) -> any ServerLocator)? = nil,
        attachment: (any LoopAttachment)? = nil
    ) {
        self.configuration = configuration
        makeLocator = locator
        self.attachment = attachment
        let settings = ConnectionSettings(configuration)
        self.loop = loop
        self.logger = logger
        observer = ConnectionObserver(
            logger: logger,
            endpoint: configuration.place,
            connected: { attachment?.connected() }
        )
        connections = (0..<configuration.connections)
            .map { _ in
                Connection(settings: settings, wakeup: loop.wakeup, seed: .random(in: 0 ... .max))
            }
    }

    /// Has the thread drive it, unless it does already.
    @inline(__always)
    func start() throws {
        if started.load(ordering: .acquiring) { return }
        try join()
    }

    private func join() throws {
        // A second caller waits for the first: where the system gives no thread, neither's call may lie in a queue.
        try joining.withLock { hasJoined in
            guard !hasJoined else { return }
            try loop.add(self)
            hasJoined = true
            started.store(true, ordering: .releasing)
        }
    }

    /// How many connections could be used so far: another number means that the server may be another.
    var openings: Int { observer.openings }

    /// Whether it was started.
    var hasStarted: Bool { started.load(ordering: .acquiring) }

    /// Accepts no more calls, finishes those under way, and ends at `deadline` at the latest.
    func stop(by deadline: MonotonicInstant) {
        attachment?.shutDown()
        // Before the connections, whose locks order it: otherwise the thread might read it too early, and then sleep.
        ending.store(true, ordering: .releasing)
        for connection in connections { connection.drain(until: deadline) }
        loop.wakeup.signal()
    }

    /// Gives up all connections, and makes them anew, with the name resolved afresh.
    func leave(_ error: RedisError) {
        for connection in connections { connection.condemn(error) }
        attachment?.leave(error)
    }

    /// Whether the server has taken long for a reply since then, as the thread saw it.
    func hasSeenSlowReply(since start: MonotonicInstant) -> Bool {
        connections.contains { $0.slowReplyAt >= start }
    }

    /// Returns when the thread has let go of it; at once when it was never started.
    func waitUntilStopped() async {
        guard started.load(ordering: .acquiring) else { return }
        await withCheckedContinuation { continuation in
            let finished = completion.withLock { completion in
                if !completion.finished { completion.waiters.append(continuation) }
                return completion.finished
            }
            if finished { continuation.resume() }
        }
    }

    // MARK: The thread

    /// Whether it is to end; until then its drivers need not be asked whether they have finished.
    var isEnding: Bool { ending.load(ordering: .acquiring) }

    /// Replies that are owed.
    var inFlight: Int { connections.reduce(0) { $0 + $1.inFlight } }

    /// What drives it, in the order in which events are to be handled.
    func drivers(_ resources: LoopResources) -> [any LoopDriver] {
        var thread = LoopThread(
            configuration: configuration,
            wakeup: loop.wakeup,
            material: resources.material(of: configuration, logger: logger),
            limit: ReconnectLimit(burst: connections.count + 5),
            buffer: resources.buffer
        )
        thread.tracking = ReadTracking(connections, timeout: configuration.commandTimeout)
        configuration.warn(logger)
        thread.locator = makeLocator?(thread)
        var drivers = thread.locator?.drivers(for: thread) ?? []
        drivers += attachment?.drivers(for: thread) ?? []
        drivers += connections.map { ConnectionDriver(connection: $0, observer: observer, thread: thread) }
        if let source = configuration.credentials {
            drivers.append(
                CredentialDriver(source, connections: connections, thread: thread, logger: logger) { [attachment] in
                    attachment?.loginChanged(isFirst: $0)
                }
            )
        }
        return drivers
    }

    /// The thread has let go of it.
    func hasEnded() {
        let waiters = completion.withLock { completion in
            completion.finished = true
            return exchange(&completion.waiters, with: [])
        }
        for waiter in waiters { waiter.resume() }
    }
}
