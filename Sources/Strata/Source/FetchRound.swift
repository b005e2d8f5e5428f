/// Fetches by one call the keys of a batch that need a fetch.
///
/// Every key of the batch has a slot. Its holder asks for the fetch, or leaves when the key needs none or not now. When
/// all holders have decided, one call fetches the keys whose holders asked.
///
/// A slot that is dropped counts as left, so that its holder does not hold up the others.
package final class FetchRound<Key: Hashable & Sendable, Question: Sendable, Answer: Sendable>: Sendable {
    private struct State {
        /// Slots whose holders have not decided.
        var undecided: Int
        var questions: [Key: Question] = [:]
        var waiting: [Key: CheckedContinuation<Void, any Error>] = [:]
        var isOver = false
        /// The result of the fetch, for holders that ask for it later than the others.
        var outcome: Result<[Key: Answer], any Error>?
    }

    private let state: Locked<State>
    private let call = Flights<Int, [Key: Answer]>(clock: .system)
    private let fetch: @Sendable ([(Key, Question)]) async throws -> [Key: Answer]

    /// - Parameters:
    ///   - slots: The number of slots.
    ///   - fetch: Called once, with the keys that need a fetch.
    package init(slots: Int, _ fetch: @escaping @Sendable ([(Key, Question)]) async throws -> [Key: Answer]) {
        state = Locked(State(undecided: slots))
        self.fetch = fetch
    }

    /// The part of one key.
    package final class Slot: Sendable {
        private let round: FetchRound
        private let isTaken = Locked(true)

        init(_ round: FetchRound) { self.round = round }

        deinit { leave() }

        /// Whether nothing is decided about the key yet.
        package var isHeld: Bool { isTaken.withLock { $0 } }

        /// The key needs no fetch, or not now.
        package func leave() {
            guard isTaken.withLock({ exchange(&$0, with: false) }) else { return }
            round.decided(nil)
        }

        /// Waits until all holders have decided, and for the fetch.
        ///
        /// - Returns: The answer for the key; `nil` when the fetch had none, and, without a fetch, when the slot was
        ///   left before.
        /// - Throws: What the fetch throws; `CancellationError`.
        package func ask(_ key: Key, _ question: Question) async throws -> (answer: Answer?, wasWaiting: Bool) {
            guard isTaken.withLock({ exchange(&$0, with: false) }) else { return (nil, false) }
            return (try await round.ask(key, question), true)
        }
    }

    package func slot() -> Slot { Slot(self) }

    private func ask(_ key: Key, _ question: Question) async throws -> Answer? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                decided((key, question, continuation))
                if Task.isCancelled { giveUp(key) }
            }
        } onCancel: {
            giveUp(key)
        }
        let answers = try await call.join(0) { [self] _ in
            let (outcome, questions) = state.withLock { ($0.outcome, $0.questions) }
            if let outcome { return try outcome.get() }
            do {
                let answers = try await fetch(questions.map { ($0.key, $0.value) })
                state.withLock { $0.outcome = .success(answers) }
                return answers
            } catch {
                // A cancelled fetch is no failure: all holders that asked have left.
                if !Task.isCancelled { state.withLock { $0.outcome = .failure(error) } }
                throw error
            }
        }
        return answers.output[key]
    }

    private func decided(_ asked: (Key, Question, CheckedContinuation<Void, any Error>)?) {
        let begin = state.withLock { state in
            state.undecided -= 1
            if let (key, question, continuation) = asked {
                state.questions[key] = question
                state.waiting[key] = continuation
            }
            guard state.undecided == 0, !state.isOver else { return [] as [CheckedContinuation<Void, any Error>] }
            state.isOver = true
            defer { state.waiting.removeAll() }
            return Array(state.waiting.values)
        }
        for continuation in begin { continuation.resume() }
    }

    private func giveUp(_ key: Key) {
        let continuation = state.withLock { state in
            guard let continuation = state.waiting.removeValue(forKey: key) else {
                return nil as CheckedContinuation<Void, any Error>?
            }
            state.questions[key] = nil
            return continuation
        }
        continuation?.resume(throwing: CancellationError())
    }
}
