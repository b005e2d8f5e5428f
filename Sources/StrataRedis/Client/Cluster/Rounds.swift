internal import Strata

/// Counts rounds of something, and lets tasks wait for the end of the next.
final class Rounds: Watched {
    private struct Waiter {
        let continuation: CheckedContinuation<Void, Never>
        let deadline: MonotonicInstant
    }

    private struct State {
        var ended: UInt64 = 0
        var waiters: [UInt64: Waiter] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state = Locked(State())
    private let watch = Watch()

    /// How many have ended.
    var ended: UInt64 { state.withLock { $0.ended } }

    /// One has ended.
    func end() {
        let waiters = state.withLock { state in
            state.ended += 1
            return exchange(&state.waiters, with: [:])
        }
        for waiter in waiters.values { waiter.continuation.resume() }
    }

    /// Returns when another round has ended than those that were counted, or at the deadline.
    ///
    /// - Throws: `CancellationError`.
    func wait(past count: UInt64, until deadline: MonotonicInstant) async throws {
        try Task.checkCancellation()
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard state.ended <= count, .now < deadline else { return true }
                    state.waiters[number] = Waiter(continuation: continuation, deadline: deadline)
                    return false
                }
                if isOver { return continuation.resume() }
                if Task.isCancelled { leave([number]) }
                watch.schedule(self, by: deadline)
            }
        } onCancel: {
            leave([number])
        }
        try Task.checkCancellation()
    }

    /// Lets those go on who have waited long enough.
    func fire(at now: MonotonicInstant) -> MonotonicInstant {
        let (due, next) = state.withLock { state in
            let due = state.waiters.filter { $0.value.deadline <= now }.map(\.key)
            let rest = state.waiters.values.filter { $0.deadline > now }
            return (due, rest.reduce(MonotonicInstant.distantFuture) { min($0, $1.deadline) })
        }
        leave(due)
        return next
    }

    private func leave(_ numbers: [UInt64]) {
        let waiters = state.withLock { state in numbers.compactMap { state.waiters.removeValue(forKey: $0) } }
        for waiter in waiters { waiter.continuation.resume() }
    }
}
