internal import Logging
internal import Strata

/// Keeps listening to one of the Sentinels, to the next when that one is lost, once they have named a primary.
///
/// Lives on the I/O thread.
final class SentinelListener: LoopDriver {
    private unowned let locator: PrimaryLocator
    private let configuration: RedisConfiguration
    private let dialers: SentinelDialers
    private let buffer: UnsafeMutableRawBufferPointer
    private let logger: Logger?
    private let delay: ClosedRange<Int64>
    private var random = SplitMix64(seed: .random(in: 0 ... .max))
    private var connection: SentinelConnection?
    private var listening: SentinelListening?
    private var sentinel = 0
    /// After how long a listener that is lost was none that had failed.
    private static let stability: Int64 = 1_000_000_000

    /// Attempts that have failed in a row, or did not listen for long.
    private var failures = 0
    /// Since when it has listened.
    private var listensSince: MonotonicInstant?
    private var retryAt = MonotonicInstant.distantPast
    /// Whether it was told that no Sentinel can be listened to.
    private var isSilent = false

    init(
        _ locator: PrimaryLocator,
        _ configuration: RedisConfiguration,
        _ dialers: SentinelDialers,
        buffer: UnsafeMutableRawBufferPointer,
        logger: Logger?
    ) {
        self.locator = locator
        self.configuration = configuration
        self.dialers = dialers
        self.buffer = buffer
        self.logger = logger
        delay = ConnectionSettings(configuration).reconnectDelay
    }

    var interest: (descriptor: Int32, events: Int16)? { connection?.interest }

    var nextDeadline: MonotonicInstant {
        guard let connection else { return locator.hasSentinels ? retryAt : .distantFuture }
        return min(connection.nextDeadline, listening?.nextDeadline ?? .distantFuture)
    }

    /// The loop ends with the connections.
    var isFinished: Bool { true }

    func pump(now: MonotonicInstant) {
        if connection == nil {
            guard locator.hasSentinels, now >= retryAt else { return }
            begin(now: now)
        }
        // Before it is flushed: otherwise a PING would lie until the next event, and be found unanswered.
        var heard = SentinelListening.Heard.nothing
        connection?.write { writer in heard = listening?.advance(now: now, &writer) ?? .nothing }
        if case .failed(let reason) = heard { return fail(reason, now: now) }
        connection?.pump(now: now) { hear($0, &$1, now: now) }
        if connection?.isClosed != false { lose(now: now) }
    }

    func handle(events: Int16, now: MonotonicInstant) {
        connection?.handle(events: events, now: now) { hear($0, &$1, now: now) }
        if connection?.isClosed == true { lose(now: now) }
    }

    private func begin(now: MonotonicInstant) {
        sentinel = (locator.favourite + failures) % locator.sentinels.endpoints.count
        let connection = SentinelConnection(dialers[sentinel], limits: configuration.replyLimits, buffer: buffer)
        self.connection = connection
        listening = SentinelListening(configuration, locator.sentinels, now: now)
        connection.start(now: now) { hear($0, &$1, now: now) }
    }

    private func hear(
        _ event: SentinelConnection.Event,
        _ output: inout CommandWriter,
        now: MonotonicInstant
    ) -> Bool {
        let heard: SentinelListening.Heard
        switch event {
        case .connected:
            // With what one logs in is known when the connection stands, and not before.
            listening = SentinelListening(configuration, locator.sentinels, now: now)
            listening?.begin(&output)
            return true
        case .reply(let reply): heard = listening?.received(reply) ?? .nothing
        case .failed(let error): heard = .failed(error.message)
        }
        switch heard {
        case .nothing: break
        case .began:
            listensSince = listensSince ?? now
            note(nil)
            locator.hinted()
        case .failover(let promoted): locator.toldOfFailover(to: promoted, now: now)
        case .failed(let reason):
            failures += 1
            if failures >= locator.sentinels.endpoints.count { note(reason) }
            return false
        }
        return true
    }

    private func fail(_ reason: String, now: MonotonicInstant) {
        failures += 1
        if failures >= locator.sentinels.endpoints.count { note(reason) }
        lose(now: now)
    }

    private func lose(now: MonotonicInstant) {
        connection?.close()
        connection = nil
        listening = nil
        if let since = listensSince, since.nanoseconds(to: now) >= Self.stability { failures = 1 }
        listensSince = nil
        let error = RedisError(code: .connectionLost, message: "")
        // The next Sentinel is asked at once, until all have been.
        let isRound = failures % locator.sentinels.endpoints.count == 0
        let pause = isRound ? ReconnectDelay.next(delay, failures: failures, error, using: &random) : 0
        retryAt = now.advanced(byNanoseconds: pause)
    }

    /// Says once when no Sentinel tells of failovers any more, and when one does again.
    private func note(_ reason: String?) {
        guard isSilent != (reason != nil) else { return }
        isSilent = reason != nil
        let metadata: Logger.Metadata = ["redis.endpoint": "\(configuration.place)"]
        guard let reason else { return logger?.info("a Sentinel reports failovers", metadata: metadata) ?? () }
        logger?
            .warning(
                "no Sentinel reports failovers: a failover is noticed when the connection breaks",
                metadata: metadata.merging(["error": "\(reason)"]) { $1 }
            )
    }
}
