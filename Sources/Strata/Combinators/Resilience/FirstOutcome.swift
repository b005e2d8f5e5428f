/// Runs several operations until the first outcome that decides; then cancels the others without waiting for them.
///
/// Each operation has a task of its own. A task group would wait for every child: an operation that ignores its
/// cancellation would delay the outcome, and a time limit that comes late is useless.
final class FirstOutcome<Output: Sendable>: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Output, any Error>?
        var tasks: [Task<Void, Never>] = []
        /// Operations that have not ended.
        var pending: Int
        /// The outcome if none decides: the latest one.
        var fallback: Result<Output, any Error>?
        var isOver = false
    }

    private let state: Locked<State>
    private let decides: @Sendable (Result<Output, any Error>) -> Bool

    private init(count: Int, decides: @escaping @Sendable (Result<Output, any Error>) -> Bool) {
        state = Locked(State(pending: count))
        self.decides = decides
    }

    /// The first outcome that decides; the last one when none does.
    ///
    /// - Parameters:
    ///   - works: Started at the same time; at least one.
    ///   - decides: Whether an outcome ends the race.
    /// - Returns: What the deciding operation returned.
    /// - Throws: What the deciding operation threw; `CancellationError` when the caller is cancelled, which cancels all
    ///   operations.
    static func of(
        _ works: [@Sendable () async throws -> Output],
        decides: @escaping @Sendable (Result<Output, any Error>) -> Bool = { _ in true }
    ) async throws -> Output {
        try Task.checkCancellation()
        let race = FirstOutcome(count: works.count, decides: decides)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                race.state.withLock { $0.continuation = continuation }
                for work in works { race.start(work) }
                if Task.isCancelled { race.end { _ in .failure(CancellationError()) } }
            }
        } onCancel: {
            race.end { _ in .failure(CancellationError()) }
        }
    }

    /// The race owns the tasks: each ends with its operation, or is cancelled when the race is over.
    private func start(_ work: @escaping @Sendable () async throws -> Output) {
        let task = Task {
            self.arrive(await Result { try await work() })
        }
        let isOver = state.withLock { state in
            state.tasks.append(task)
            return state.isOver
        }
        if isOver { task.cancel() }
    }

    private func arrive(_ outcome: Result<Output, any Error>) {
        let isDecided = decides(outcome)
        // Whether the race is over is settled under the same lock as the arrival: an outcome that decides is never
        // overtaken by a later one that does not.
        end { state in
            state.pending -= 1
            // A value counts more than a later error.
            if case .success = outcome { state.fallback = outcome } else { state.fallback = state.fallback ?? outcome }
            return isDecided ? outcome : state.pending == 0 ? state.fallback : nil
        }
    }

    /// Ends the race with the outcome that `last` has, unless it is over; `nil` for none yet.
    private func end(_ last: (inout State) -> Result<Output, any Error>?) {
        let ended = state.withLock {
            state -> (CheckedContinuation<Output, any Error>, Result<Output, any Error>, [Task<Void, Never>])? in
            // A cancellation may come before the operations have started; the start checks for it.
            guard let continuation = state.continuation, let outcome = last(&state) else { return nil }
            defer { (state.continuation, state.tasks, state.isOver) = (nil, [], true) }
            return (continuation, outcome, state.tasks)
        }
        guard let (continuation, outcome, tasks) = ended else { return }
        for task in tasks { task.cancel() }
        continuation.resume(with: outcome)
    }
}
