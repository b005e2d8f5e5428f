/// Lets one task at a time work on a key; others take turns in their order.
final class KeyTurns<Key: Hashable & Sendable>: Sendable {
    private struct Waiter {
        let number: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var lastNumber = 0
        /// Keys that a task works on, with the tasks that wait for their turn.
        var busy: [Key: [Waiter]] = [:]
    }

    private let state = Locked(State())

    /// How many keys are being worked on.
    var count: Int { state.withLock { $0.busy.count } }

    /// How many tasks wait for their turn.
    var waiting: Int { state.withLock { $0.busy.values.reduce(0) { $0 + $1.count } } }

    /// Runs `body` while no other task runs one for the same key.
    ///
    /// - Throws: `CancellationError` when the task is cancelled while it waits, and then `body` was not run; what `body` throws.
    func exclusively<Result>(_ key: Key, _ body: () async throws -> Result) async throws -> Result {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let isMine = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // A cancellation that came before is seen here; one that comes later finds the waiter.
                let answer: Bool? = state.withLock { state in
                    if Task.isCancelled { return false }
                    guard state.busy[key] != nil else {
                        state.busy[key] = []
                        return true
                    }
                    state.busy[key]?.append(Waiter(number: number, continuation: continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            leave(key, number)
        }
        guard isMine else { throw CancellationError() }
        defer { passOn(key) }
        return try await body()
    }

    private func leave(_ key: Key, _ number: Int) {
        let waiter = state.withLock { state -> Waiter? in
            guard let index = state.busy[key]?.firstIndex(where: { $0.number == number }) else { return nil }
            return state.busy[key]?.remove(at: index)
        }
        waiter?.continuation.resume(returning: false)
    }

    private func passOn(_ key: Key) {
        let next = state.withLock { state -> Waiter? in
            guard state.busy[key]?.isEmpty == false else {
                state.busy[key] = nil
                return nil
            }
            return state.busy[key]?.removeFirst()
        }
        next?.continuation.resume(returning: true)
    }
}
