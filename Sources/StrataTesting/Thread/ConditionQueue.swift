/// Tasks that wait until something that a thread watches over has come about.
final class ConditionQueue<Snapshot: Sendable>: Sendable {
    typealias Condition = @Sendable (Snapshot) -> Bool

    private struct Waiter: Sendable {
        let id: Int
        let condition: Condition
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State: Sendable {
        var waiters: [Waiter] = []
        var nextID = 0
        var isFinished = false
    }

    private let state = Monitor(State())
    private let owner: String

    /// `owner` names, in the error of those still waiting at the end, what ended.
    init(owner: String) {
        self.owner = owner
    }

    /// Waits for `condition`.
    ///
    /// Once in line it calls `entered`, which must lead to a call of ``settle(_:)``: what came about before would go
    /// unnoticed otherwise.
    func wait(until condition: @escaping Condition, entered: () -> Void) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let refusal: (any Error)? = state.withLock { state in
                    if Task.isCancelled { return CancellationError() }
                    if state.isFinished { return HarnessError(.notRunning, "\(owner) was stopped") }
                    state.waiters.append(Waiter(id: id, condition: condition, continuation: continuation))
                    return nil
                }
                if let refusal {
                    continuation.resume(throwing: refusal)
                } else {
                    entered()
                }
            }
        } onCancel: {
            take(id)?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Resumes those whose condition holds.
    ///
    /// Runs the conditions, which are other people's code, without any lock.
    func settle(_ snapshot: () -> Snapshot) {
        let waiters = state.withLock { $0.waiters }
        guard !waiters.isEmpty else { return }
        let snapshot = snapshot()
        for waiter in waiters where waiter.condition(snapshot) {
            take(waiter.id)?.continuation.resume()
        }
    }

    /// Refuses all who wait, and all who come.
    func finish() {
        let waiters = state.withLock { state in
            state.isFinished = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters {
            waiter.continuation.resume(throwing: HarnessError(.notRunning, "\(owner) was stopped"))
        }
    }

    private func take(_ id: Int) -> Waiter? {
        state.withLock { state in
            state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
        }
    }
}
