/// Lets one task at a time work on a key; others take turns in their order.
///
/// Each call is O(1) on average, however many wait.
final class KeyTurns<Key: Hashable & Sendable>: Sendable {
    /// How many tasks may wait for one key, unless another number is given.
    static var usualLimit: Int { 10_000 }

    private struct Waiter: Numbered {
        let number: UInt64
        let continuation: CheckedContinuation<Answer, Never>
    }

    private struct State {
        var lastNumber: UInt64 = 0
        /// Keys that a task works on, with the tasks that wait for their turn.
        var busy: [Key: WaitLine<Waiter>] = [:]
    }

    private enum Answer {
        case mine
        case cancelled
        case full
    }

    private let limit: Int
    private let state = Locked(State())

    init(limit: Int = usualLimit) {
        self.limit = limit
    }

    /// How many keys are being worked on.
    var count: Int { state.withLock { $0.busy.count } }

    /// How many tasks wait for their turn.
    var waiting: Int { state.withLock { $0.busy.values.reduce(0) { $0 + $1.count } } }

    /// Runs `body` while no other task runs one for the same key.
    ///
    /// - Throws: `CancellationError` when the task is cancelled while it waits, and ``CacheError/Code/overloaded`` when
    ///   too many tasks wait for the key already; in both cases `body` was not run; what `body` throws.
    func exclusively<Result>(_ key: Key, _ body: () async throws -> Result) async throws -> Result {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // A cancellation that came before is seen here; one that comes later finds the waiter.
                let answer: Answer? = state.withLock { state in
                    if Task.isCancelled { return .cancelled }
                    guard let count = state.busy[key]?.count else {
                        state.busy[key] = WaitLine()
                        return .mine
                    }
                    guard count < limit else { return .full }
                    state.busy[key]?.append(Waiter(number: number, continuation: continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            leave(key, number)
        }
        switch answer {
        case .mine: break
        case .cancelled: throw CancellationError()
        case .full: throw CacheError(code: .overloaded, message: "\(limit) calls are already waiting to write this key")
        }
        defer { passOn(key) }
        return try await body()
    }

    private func leave(_ key: Key, _ number: UInt64) {
        let waiter = state.withLock { $0.busy[key]?.remove(number) }
        waiter?.continuation.resume(returning: .cancelled)
    }

    private func passOn(_ key: Key) {
        let (next, former) = state.withLock { state -> (Waiter?, Key?) in
            guard let place = state.busy.index(forKey: key), state.busy[place].value.isEmpty else {
                return (state.busy[key]?.removeFirst(), nil)
            }
            return (nil, state.busy.remove(at: place).key)
        }
        next?.continuation.resume(returning: .mine)
        // Another caller's, perhaps: to release it may run code of the user's.
        withExtendedLifetime(former) {}
    }
}
