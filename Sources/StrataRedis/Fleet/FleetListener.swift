internal import Strata

/// Hears the questions on a keyspace's channel, each once and not too many.
final class FleetListener: LinkListener, PartListener {
    /// How many questions are answered in a second.
    static let rate = 20
    /// How many of them may be for the hottest keys, whose answers are longer.
    static let hottestRate = 4

    private struct State: Sendable {
        /// In a cluster each node tells of a question.
        var heard: [QuestionNumber] = []
        var place = 0
        var second = MonotonicInstant.distantPast
        var count = 0
        var hottestCount = 0

        /// Whether a question is new, and may be answered.
        mutating func admits(_ question: FleetQuestion, _ number: QuestionNumber, at now: MonotonicInstant) -> Bool {
            guard !heard.contains(number) else { return false }
            if second.nanoseconds(to: now) >= 1_000_000_000 { (second, count, hottestCount) = (now, 0, 0) }
            guard count < FleetListener.rate else { return false }
            if case .hottest = question {
                guard hottestCount < FleetListener.hottestRate else { return false }
                hottestCount += 1
            }
            count += 1
            if heard.count < 64 { heard.append(number) } else { heard[place] = number }
            place = (place + 1) % 64
            return true
        }
    }

    let questions: AsyncStream<(FleetQuestion, QuestionNumber)>
    private let feed: AsyncStream<(FleetQuestion, QuestionNumber)>.Continuation
    private let instance: QuestionNumber
    private let state = Locked(State())

    /// - Parameter instance: The number of the instance that listens.
    init(of instance: QuestionNumber) {
        self.instance = instance
        (questions, feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(2 * Self.rate))
    }

    /// No more questions come.
    func finish() { feed.finish() }

    func event(_ message: [UInt8], _ part: KeyspacePart?) {
        guard part == nil, let (question, number) = FleetQuestion.read(message), question.isMeant(for: instance),
            state.withLock({ $0.admits(question, number, at: .coarse) })
        else { return }
        feed.yield((question, number))
    }

    // Nothing else is of interest.

    var isDivided: Bool { false }
    func linkEstablished(trustedUntil: MonotonicInstant) {}
    func linkTrusted(until: MonotonicInstant, told: MonotonicInstant) {}
    func linkLost() {}
    func changed(_ name: [UInt8]) {}
    func marksChanged(_ part: KeyspacePart?) {}
    func everythingChanged() {}
    func established(_ part: KeyspacePart?, trustedUntil: MonotonicInstant) {}
    func trusted(_ part: KeyspacePart?, until: MonotonicInstant, told: MonotonicInstant) {}
    func lost(_ part: KeyspacePart?) {}
    func everythingChanged(_ part: KeyspacePart?) {}
}
