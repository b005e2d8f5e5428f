internal import Logging
internal import Strata

/// Asks the source of credentials now and then, and has connections that stand log in anew when its answer has changed.
///
/// Lives on the I/O thread.
final class CredentialDriver: LoopDriver {
    private let source: CredentialSource
    private let connections: [Connection]
    private let renewLink: (_ isFirst: Bool) -> Void
    private let wakeup: Wakeup
    private let logger: Logger?
    private let timeout: Duration
    private var asksAt: MonotonicInstant
    /// The answer that connections were told of.
    private var seen: UInt64
    /// The questions whose end was looked at.
    private var ended: UInt64 = 0
    /// Whether a connection could not be told.
    private let trouble = Trouble()

    private final class Trouble: Sendable {
        let isThere = Locked(false)
    }

    init(
        _ source: CredentialSource,
        connections: [Connection],
        thread: LoopThread,
        logger: Logger?,
        renewLink: @escaping (_ isFirst: Bool) -> Void
    ) {
        self.source = source
        self.connections = connections
        self.renewLink = renewLink
        self.logger = logger
        wakeup = thread.wakeup
        timeout = thread.configuration.commandTimeout
        // Connections are made later than this, with what is known then.
        seen = source.keeper.news
        asksAt = MonotonicInstant.now.advanced(by: source.interval)
    }

    var interest: (descriptor: Int32, events: Int16)? { nil }

    var nextDeadline: MonotonicInstant { asksAt }

    /// Nothing has to be waited for when the connections end.
    var isFinished: Bool { true }

    func pump(now: MonotonicInstant) {
        if now >= asksAt {
            asksAt = source.keeper.ask(every: source.interval, at: now) { [wakeup] in wakeup.signal() }
            if trouble.isThere.withLock({ exchange(&$0, with: false) }) { logIn() }
        }
        if source.keeper.endings != ended { lookAtFailure() }
        let news = source.keeper.news
        guard news != seen else { return }
        // Nothing stands yet that was made before the first answer.
        let isFirst = exchange(&seen, with: news) == 0
        logIn()
        renewLink(isFirst)
    }

    func handle(events: Int16, now: MonotonicInstant) {}

    /// Logs that the source fails: with an old answer connections stand and come back, until the old password is taken
    /// away.
    private func lookAtFailure() {
        ended = source.keeper.endings
        guard let failure = source.keeper.takeNews() else { return }
        logger?
            .warning(
                "the source of credentials fails: connections keep its last answer",
                metadata: ["error": "\(failure.code): \(failure.message)"]
            )
    }

    private func logIn() {
        for connection in connections {
            connection.logIn(deadline: .now.advanced(by: timeout)) { [logger, trouble, keeper = source.keeper] error in
                guard let error else { return }
                trouble.isThere.withLock { $0 = true }
                guard keeper.isNews(error) else { return }
                // The connection stays what it was: a login that is refused changes nothing.
                logger?
                    .warning(
                        "the new credentials are not accepted: connections keep the old ones",
                        metadata: ["error": "\(error.code): \(error.message)"]
                    )
            }
        }
    }
}
