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
        /// How many fetches run: a cancelled one may still be ending beside the next.
        var fetches = 0
        /// Holders that have left while their keys are being fetched.
        var leaving: [CheckedContinuation<Void, Never>] = []
        /// The result of the fetch, for holders that ask for it later than the others.
        var outcome: Result<[Key: Answer], any Error>?
    }

    private let state: Locked<State>
    private let call = Flights<Int, [Key: Answer]>(clock: .system)
    private let fetch: @Sendable ([(Key, Question)]) async throws -> [Key: Answer]

    /// - Parameters:
    ///   - slots: The number of slots.
    ///   - fetch: Called once, with the keys that need a fetch; has an answer for each.
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

        /// Leaves: the key needs no fetch, or not now.
        package func leave() {
            guard isTaken.withLock({ exchange(&$0, with: false) }) else { return }
            round.decided(nil)
        }

        /// Waits until all holders have decided, and for the fetch.
        ///
        /// A holder that is cancelled while its key is being fetched waits until the fetch has ended: what it holds for
        /// that time, a lease say, must not let others fetch the key meanwhile.
        ///
        /// - Returns: The answer for the key; `nil` when the slot was left before without a fetch.
        /// - Throws: What the fetch throws; `CancellationError`.
        package func ask(_ key: Key, _ question: Question) async throws -> Answer? {
            guard isTaken.withLock({ exchange(&$0, with: false) }) else { return nil }
            return try await round.ask(key, question)
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
        do {
            return try await call.join(0) { [self] _ in try await answers() }.output[key]
        } catch {
            guard error is CancellationError else { throw error }
            await leave(key)
            if let answer = state.withLock({ try? $0.outcome?.get() })?[key] { return answer }
            throw error
        }
    }

    /// Fetches the keys that holders still ask for, unless that was done.
    private func answers() async throws -> [Key: Answer] {
        let (outcome, questions) = state.withLock { state in
            if state.outcome == nil { state.fetches += 1 }
            return (state.outcome, state.questions)
        }
        if let outcome { return try outcome.get() }
        // A cancelled fetch is no failure: all holders that asked have left.
        let found = await Result {
            guard !questions.isEmpty else { throw CancellationError() }
            do { return try await fetch(questions.map { ($0.key, $0.value) }) } catch {
                try Task.checkCancellation()
                throw error
            }
        }
        let leaving = state.withLock { state in
            if (try? found.get()) != nil || !Task.isCancelled { state.outcome = found }
            state.fetches -= 1
            return state.fetches == 0 ? exchange(&state.leaving, with: []) : []
        }
        for continuation in leaving { continuation.resume() }
        return try found.get()
    }

    /// Withdraws a holder's request, or waits until its key is no longer being fetched.
    private func leave(_ key: Key) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isOver = state.withLock { state in
                state.questions[key] = nil
                if state.fetches > 0 { state.leaving.append(continuation) }
                return state.fetches == 0
            }
            if isOver { continuation.resume() }
        }
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
