internal import Logging
internal import Strata
internal import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The I/O thread of a client and what it shares with the callers.
///
/// The thread starts with the first call and ends when every connection is closed.
final class IOLoop: Sendable {
    let connections: [Connection]
    private let attachment: (any LoopAttachment)?
    private let configuration: RedisConfiguration
    private let makeLocator: (@Sendable (LoopThread) -> any ServerLocator)?
    private let wakeup: Wakeup
    private let observer: ConnectionObserver
    private let logger: Logger?
    private let started = Atomic<Bool>(false)
    private let completion = Locked(Completion())

    private struct Completion {
        var finished = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// - Parameters:
    ///   - configuration: The server, limits and timeouts.
    ///   - logger: Told of changes of the connections' state.
    ///   - wakeup: Wakes the thread.
    ///   - locator: Makes, on the thread, what finds out where the server is; `nil` where that is fixed.
    ///   - attachment: What else the thread drives.
    init(
        configuration: RedisConfiguration,
        logger: Logger?,
        wakeup: Wakeup,
        locator: (@Sendable (LoopThread) -> any ServerLocator)? = nil,
        attachment: (any LoopAttachment)? = nil
    ) {
        self.configuration = configuration
        makeLocator = locator
        self.attachment = attachment
        let settings = ConnectionSettings(configuration)
        self.wakeup = wakeup
        self.logger = logger
        observer = ConnectionObserver(
            logger: logger,
            endpoint: configuration.place,
            connected: { attachment?.connected() }
        )
        connections = (0..<configuration.connections)
            .map { _ in
                Connection(settings: settings, wakeup: wakeup, seed: .random(in: 0 ... .max))
            }
    }

    /// Starts the thread unless it runs already.
    @inline(__always)
    func start() throws {
        if started.load(ordering: .acquiring) { return }
        try startThread()
    }

    private func startThread() throws {
        guard !started.exchange(true, ordering: .acquiringAndReleasing) else { return }
        guard NativeThread.start(name: "strata-redis", run: { [self] in run() }) == 0 else {
            started.store(false, ordering: .releasing)
            throw RedisError(code: .connectionFailed, message: "the system gives no thread for I/O")
        }
    }

    /// Whether the thread was started.
    var hasStarted: Bool { started.load(ordering: .acquiring) }

    /// Accepts no more calls, finishes those under way, and ends the thread at `deadline` at the latest.
    func stop(by deadline: MonotonicInstant) {
        attachment?.shutDown()
        for connection in connections { connection.drain(until: deadline) }
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

    /// Returns when the thread has ended; at once when it never ran.
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

    private func run() {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var thread = LoopThread(
            configuration: configuration,
            wakeup: wakeup,
            material: configuration.tls.flatMap { TLSMaterial($0, logger: logger) },
            limit: ReconnectLimit(burst: connections.count + 5),
            buffer: buffer
        )
        configuration.warn(logger)
        thread.locator = makeLocator?(thread)
        var drivers = thread.locator?.drivers(for: thread) ?? []
        drivers += attachment?.drivers(for: thread) ?? []
        drivers += connections.map { ConnectionDriver(connection: $0, observer: observer, thread: thread) }
        if let source = configuration.credentials {
            drivers.append(
                CredentialDriver(source, connections: connections, thread: thread, logger: logger) { [attachment] in
                    attachment?.loginChanged()
                }
            )
        }
        var descriptors: [pollfd] = []
        var busyWait = BusyWait()
        while true {
            for driver in drivers { driver.pump(now: .now) }
            if busyWait.begins(inFlight: inFlight) {
                let found = watch(drivers, &descriptors)
                busyWait.ended(found: found)
                if found { continue }
            }
            // What came in between would otherwise wait for the next event.
            wakeup.announceSleep()
            for driver in drivers { driver.pump(now: .now) }
            if drivers.allSatisfy({ $0.isFinished }) { break }
            sleep(drivers, &descriptors)
        }
        let waiters = completion.withLock { completion in
            completion.finished = true
            return exchange(&completion.waiters, with: [])
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Looks for events and new calls without sleeping, for ``BusyWait/span`` at most.
    ///
    /// - Returns: Whether something came.
    private func watch(_ drivers: [any LoopDriver], _ descriptors: inout [pollfd]) -> Bool {
        wakeup.announceWatch()
        for driver in drivers { driver.pump(now: .now) }
        list(drivers, in: &descriptors)
        let end = MonotonicInstant.now.advanced(byNanoseconds: BusyWait.span)
        while wakeup.isQuiet {
            if poll(&descriptors, nfds_t(descriptors.count), 0) > 0 {
                handle(descriptors, drivers)
                wakeup.announceAwake()
            } else if MonotonicInstant.now >= end {
                return false
            }
        }
        return true
    }

    /// Sleeps until a socket, a caller or time has something.
    private func sleep(_ drivers: [any LoopDriver], _ descriptors: inout [pollfd]) {
        list(drivers, in: &descriptors)
        let deadline = drivers.reduce(.distantFuture) { min($0, $1.nextDeadline) }
        let ready = poll(&descriptors, nfds_t(descriptors.count), Self.milliseconds(until: deadline))
        wakeup.announceAwake()
        if ready > 0 { handle(descriptors, drivers) }
    }

    /// Hands sockets' events to their drivers.
    private func handle(_ descriptors: [pollfd], _ drivers: [any LoopDriver]) {
        if descriptors[0].revents != 0 { wakeup.clear() }
        let now = MonotonicInstant.now
        for (index, driver) in drivers.enumerated() where descriptors[index + 1].revents != 0 {
            driver.handle(events: descriptors[index + 1].revents, now: now)
        }
    }

    private func list(_ drivers: [any LoopDriver], in descriptors: inout [pollfd]) {
        descriptors.removeAll(keepingCapacity: true)
        descriptors.append(pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0))
        for driver in drivers {
            let interest = driver.interest
            descriptors.append(pollfd(fd: interest?.descriptor ?? -1, events: interest?.events ?? 0, revents: 0))
        }
    }

    private var inFlight: Int { connections.reduce(0) { $0 + $1.inFlight } }

    /// Rounded up, so that the deadline has passed when `poll` returns.
    private static func milliseconds(until deadline: MonotonicInstant) -> Int32 {
        guard deadline < .distantFuture else { return -1 }
        let left = MonotonicInstant.now.nanoseconds(to: deadline)
        return left <= 0 ? 0 : Int32(clamping: (left - 1) / 1_000_000 + 1)
    }
}
