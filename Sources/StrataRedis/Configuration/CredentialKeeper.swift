internal import Strata
internal import Synchronization

/// Asks a source of credentials, one question at a time, and keeps the last answer.
final class CredentialKeeper: Sendable {
    /// After this long a question counts as lost.
    static let answerTimeout: Duration = .seconds(30)

    private struct State: Sendable {
        var current: RedisCredentials?
        var failure: RedisError?
        /// The kind of failure that was told last; `nil` when the source has answered since.
        var told: String?
        /// The kinds of refusals that were told of the answer with a ``news``.
        var refusals: (news: UInt64, kinds: Set<String>) = (0, [])
        var question: Task<Void, Never>?
        /// Tells the question under way from those that were lost.
        var number: UInt64 = 0
        /// Whether it was asked for more than an attempt to connect.
        var isNews = false
        /// The last one that has ended, or counts as lost.
        var answered: UInt64 = 0
        var askedAt = MonotonicInstant.distantPast
        /// Called when the question under way has ended.
        var waiting: [@Sendable () -> Void] = []
    }

    private let source: @Sendable () async throws -> RedisCredentials
    private let state = Locked(State())
    private let changes = Atomic<UInt64>(0)
    private let told = Atomic<UInt64>(0)
    private let ends = Atomic<UInt64>(0)
    private let answerTimeout: Duration
    /// Those who wait for an answer.
    private let answers = Flights<Int, Void>(clock: .system)

    init(
        answerTimeout: Duration = CredentialKeeper.answerTimeout,
        _ source: @escaping @Sendable () async throws -> RedisCredentials
    ) {
        self.answerTimeout = answerTimeout
        self.source = source
    }

    deinit {
        let (question, waiting) = state.withLock { ($0.question, $0.waiting) }
        question?.cancel()
        for finished in waiting { finished() }
    }

    /// What was answered last.
    var current: RedisCredentials? { state.withLock { $0.current } }

    /// Why the last question had no answer, if so.
    var failure: RedisError? { state.withLock { $0.failure } }

    /// Why the last question had no answer, once for each kind of failure until there is one: the nodes of a cluster
    /// share a source.
    func takeNews() -> RedisError? {
        state.withLock { state in
            guard state.told != state.failure?.kind else { return nil }
            state.told = state.failure?.kind
            return state.failure
        }
    }

    /// Whether a server's refusal of what was answered is to be told: once for each kind, until there is another
    /// answer.
    func isNews(_ refusal: RedisError) -> Bool {
        let news = news
        return state.withLock { state in
            if state.refusals.news != news { state.refusals = (news, []) }
            return state.refusals.kinds.insert(refusal.kind).inserted
        }
    }

    /// Whether a question is under way.
    var isAsking: Bool { state.withLock { $0.question != nil } }

    /// How many wait for the end of the question under way.
    var waiters: Int { state.withLock { $0.waiting.count } }

    /// How often the answer was another than before.
    var generation: UInt64 { changes.load(ordering: .sequentiallyConsistent) }

    /// The ``generation`` for which connections that stand are to log in anew.
    ///
    /// What an attempt to connect has found out is only its own: with a source that signs a new token each time, every
    /// attempt would otherwise cause others.
    var news: UInt64 { told.load(ordering: .sequentiallyConsistent) }

    /// How many questions have ended, with an answer or without.
    var endings: UInt64 { ends.load(ordering: .sequentiallyConsistent) }

    /// Asks, or joins the question that is under way.
    ///
    /// - Parameters:
    ///   - isNews: Whether its answer concerns connections that stand; see ``news``. That of the first question does.
    ///   - executor: Where a question that begins now runs; `nil` for the cooperative pool.
    ///   - finished: Called once, by whatever thread, when the question has ended.
    func ask(
        isNews: Bool = true,
        on executor: (any TaskExecutor)? = nil,
        finished: @escaping @Sendable () -> Void
    ) {
        let lost = state.withLock { state in
            let lost = ask(&state, at: .now, on: executor, finished)
            state.isNews = state.isNews || isNews
            return lost
        }
        lost?.end()
    }

    /// A question that counts as lost, and those that wait for it.
    private struct Lost {
        let question: Task<Void, Never>
        let waiting: [@Sendable () -> Void]

        /// To be called outside the lock.
        func end() {
            question.cancel()
            for finished in waiting { finished() }
        }
    }

    /// - Returns: The question before, where it counts as lost.
    private func ask(
        _ state: inout State,
        at now: MonotonicInstant,
        on executor: (any TaskExecutor)? = nil,
        _ finished: @escaping @Sendable () -> Void
    ) -> Lost? {
        if state.question != nil, state.askedAt.duration(to: now) < answerTimeout {
            state.waiting.append(finished)
            return nil
        }
        // A source may hang for ever, and connections ask again and again: they must not all be remembered.
        let lost = state.question.map { Lost(question: $0, waiting: state.waiting) }
        if lost != nil {
            state.waiting = []
            state.failure = late
            state.answered = state.number
            ends.wrappingAdd(1, ordering: .sequentiallyConsistent)
        }
        state.waiting.append(finished)
        state.isNews = false
        state.number += 1
        state.askedAt = now
        state.question = begin(state.number, on: executor)
        return lost
    }

    /// Asks, unless a question was asked within the interval: the nodes of a cluster share a source, and one of them
    /// asks for all.
    ///
    /// - Parameters:
    ///   - interval: How often the source is to be asked.
    ///   - now: The time.
    ///   - finished: Called once when the question under way has ended; not called where none is.
    /// - Returns: When to ask next.
    func ask(
        every interval: Duration,
        at now: MonotonicInstant,
        finished: @escaping @Sendable () -> Void
    ) -> MonotonicInstant {
        let (lost, next) = state.withLock { state -> (Lost?, MonotonicInstant) in
            var lost: Lost?
            if state.question != nil || now >= state.askedAt.advanced(by: interval) {
                lost = ask(&state, at: now, finished)
                state.isNews = true
            } else {
                // Attempts to connect have asked meanwhile, again and again: this is the turn of what they have found
                // out.
                told.store(generation, ordering: .sequentiallyConsistent)
            }
            return (lost, state.askedAt.advanced(by: interval))
        }
        lost?.end()
        // A question may be under way for longer than the interval.
        return next > now ? next : now.advanced(by: interval)
    }

    /// Asks, and returns when there is an answer to a question that was asked after the call had begun.
    ///
    /// - Throws: ``RedisError``, with ``RedisError/Code/timeout`` when there is none for so long that the question
    ///   counts as lost; `CancellationError`.
    func answer() async throws {
        // A question that is under way may have been asked before what the caller knows of.
        let earlier = state.withLock { $0.number }
        while true {
            try await nextAnswer()
            let (answered, failure) = state.withLock { ($0.answered, $0.failure) }
            guard answered > earlier else { continue }
            if let failure { throw failure }
            return
        }
    }

    /// Asks, or joins the question that is under way.
    private func nextAnswer() async throws {
        do {
            // A source may hang for ever: a waiter must not keep it alive.
            _ = try await answers.join(0, limit: WaitLimit(sinceJoining: answerTimeout)) { [weak self] _ in
                await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                    guard let self else { return continuation.resume() }
                    self.ask { continuation.resume() }
                }
            }
        } catch is WaitLimitReached {
            throw late
        }
    }

    private var late: RedisError {
        RedisError(code: .timeout, message: "the source of credentials has not answered within \(answerTimeout)")
    }

    /// The task is owned: it is cancelled when it takes too long, and with the keeper.
    private func begin(_ number: UInt64, on executor: (any TaskExecutor)?) -> Task<Void, Never> {
        Task(executorPreference: executor) { [weak self, source] in
            let outcome: Result<RedisCredentials, any Error>
            do { outcome = .success(try await source()) } catch { outcome = .failure(error) }
            self?.end(number, outcome)
        }
    }

    private func end(_ number: UInt64, _ outcome: Result<RedisCredentials, any Error>) {
        let waiting: [@Sendable () -> Void] = state.withLock { state in
            guard state.number == number else { return [] }
            state.question = nil
            state.answered = number
            defer { ends.wrappingAdd(1, ordering: .sequentiallyConsistent) }
            switch outcome {
            case .success(let credentials):
                state.failure = nil
                let isFirst = state.current == nil
                if state.current != credentials {
                    state.current = credentials
                    changes.wrappingAdd(1, ordering: .sequentiallyConsistent)
                }
                if state.isNews || isFirst { told.store(generation, ordering: .sequentiallyConsistent) }
            case .failure(let error):
                // The words of a foreign error may hold anything.
                state.failure =
                    error as? RedisError
                    ?? RedisError(
                        code: .authentication,
                        message: "the source of credentials failed: \(type(of: error))"
                    )
            }
            defer { state.waiting = [] }
            return state.waiting
        }
        for finished in waiting { finished() }
    }
}
