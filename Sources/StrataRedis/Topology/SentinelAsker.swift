internal import Strata

/// Asks one Sentinel after the other for a ``PrimaryLocator``, each over a connection of its own.
///
/// Lives on the I/O thread.
final class SentinelAsker: LoopDriver {
    private struct Work {
        let sentinel: Int
        let search: UInt64
        let connection: SentinelConnection
        let deadline: MonotonicInstant
        /// Begun when the connection stands: with what one logs in is known then, and not before.
        var question: SentinelQuestion?
        var answer: SentinelAnswer?
    }

    private unowned let locator: PrimaryLocator
    private let configuration: RedisConfiguration
    private let dialers: SentinelDialers
    private let buffer: UnsafeMutableRawBufferPointer
    private var work: Work?

    init(
        _ locator: PrimaryLocator,
        _ configuration: RedisConfiguration,
        _ dialers: SentinelDialers,
        buffer: UnsafeMutableRawBufferPointer
    ) {
        self.locator = locator
        self.configuration = configuration
        self.dialers = dialers
        self.buffer = buffer
    }

    var interest: (descriptor: Int32, events: Int16)? { work?.connection.interest }

    var nextDeadline: MonotonicInstant {
        guard let work else { return locator.hasQuestion ? .distantPast : .distantFuture }
        return min(work.deadline, work.connection.nextDeadline)
    }

    /// The loop ends with the connections, no matter which Sentinel is being asked.
    var isFinished: Bool { true }

    func pump(now: MonotonicInstant) {
        if let work, !locator.isRunning(work.search) { release(work) }
        while work == nil, let (sentinel, search) = locator.nextQuestion() { begin(sentinel, search, now: now) }
        guard let work else { return }
        guard now < work.deadline else {
            self.work?.answer = .failed(tooLate)
            return settle(now: now)
        }
        work.connection.pump(now: now, hear)
        settle(now: now)
    }

    func handle(events: Int16, now: MonotonicInstant) {
        work?.connection.handle(events: events, now: now, hear)
        settle(now: now)
    }

    private func begin(_ sentinel: Int, _ search: UInt64, now: MonotonicInstant) {
        let sentinels = locator.sentinels
        let connection = SentinelConnection(dialers[sentinel], limits: configuration.replyLimits, buffer: buffer)
        work = Work(
            sentinel: sentinel,
            search: search,
            connection: connection,
            deadline: now.advanced(by: sentinels.timeout)
        )
        connection.start(now: now, hear)
        settle(now: now)
    }

    private func hear(_ event: SentinelConnection.Event, _ output: inout CommandWriter) -> Bool {
        guard var work else { return false }
        switch event {
        case .connected:
            let sentinels = locator.sentinels
            let question = SentinelQuestion(configuration, sentinels, endpoint: sentinels.endpoints[work.sentinel])
            question.begin(&output)
            work.question = question
        case .reply(let reply): work.answer = work.question?.received(reply, &output)
        case .failed(let error): work.answer = .failed(error)
        }
        self.work = work
        return work.answer == nil
    }

    /// Hands an answer on that is there, and lets the Sentinel go.
    private func settle(now: MonotonicInstant) {
        guard let work, let answer = work.answer else { return }
        release(work)
        locator.answered(work.sentinel, work.search, answer, now: now)
    }

    /// Lets the Sentinel go that is being asked.
    func stop() {
        if let work { release(work) }
    }

    private func release(_ work: Work) {
        work.connection.close()
        locator.release(work.sentinel)
        self.work = nil
    }

    private var tooLate: RedisError {
        RedisError(code: .connectionFailed, message: "no answer within the time for a Sentinel")
    }
}
