internal import Strata

/// Tasks that wait for something to happen to a key: a value, the end of a lease, an invalidation.
///
/// A task enters *before* it asks the server, so that what happens between the answer and the waiting is not missed.
final class KeyWaiters: Watched {
    /// What was found under a name after it had changed.
    struct News: Sendable {
        let bytes: [UInt8]
        /// Taken before Redis was asked.
        let ticket: Ticket
    }

    private struct Waiter {
        var name: [UInt8]
        var news: News?
        var isWoken = false
        var continuation: CheckedContinuation<Void, Never>?
        /// When the task goes on whatever happens.
        var deadline = MonotonicInstant.distantFuture
    }

    private struct State {
        var waiters: [UInt64: Waiter] = [:]
        var numbers: [[UInt8]: Set<UInt64>] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state = Locked(State())
    private let watch = Watch()

    var count: Int { state.withLock { $0.waiters.count } }

    /// Begins to listen for a key.
    ///
    /// Each number has to be given back by ``leave(_:)``.
    func enter(_ name: [UInt8]) -> UInt64 {
        state.withLock { state in
            state.lastNumber += 1
            state.waiters[state.lastNumber] = Waiter(name: name)
            state.numbers[name, default: []].insert(state.lastNumber)
            return state.lastNumber
        }
    }

    func leave(_ number: UInt64) {
        let continuation = state.withLock { state in
            guard let waiter = state.waiters.removeValue(forKey: number) else {
                return nil as CheckedContinuation<Void, Never>?
            }
            state.numbers[waiter.name]?.remove(number)
            if state.numbers[waiter.name]?.isEmpty == true { state.numbers[waiter.name] = nil }
            return waiter.continuation
        }
        continuation?.resume()
    }

    /// Waits until something has happened since the task entered, or until the deadline.
    ///
    /// - Returns: What lies under the name now, if that is what has happened and it is known already.
    /// - Throws: `CancellationError`.
    func wait(_ number: UInt64, until deadline: MonotonicInstant) async throws -> News? {
        guard .now < deadline else { return nil }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    guard var waiter = state.waiters[number], !waiter.isWoken else { return true }
                    waiter.continuation = continuation
                    waiter.deadline = deadline
                    state.waiters[number] = waiter
                    return false
                }
                if goesOn { return continuation.resume() }
                if Task.isCancelled { wake([number]) }
                watch.schedule(self, by: deadline)
            }
        } onCancel: {
            wake([number])
        }
        try Task.checkCancellation()
        return state.withLock { $0.waiters[number]?.news }
    }

    /// The tasks that wait for a key: one that has only entered asks Redis anyway.
    func awaiting(_ name: [UInt8]) -> [UInt64] {
        state.withLock { state in
            state.numbers[name]?.filter { state.waiters[$0]?.continuation != nil } ?? []
        }
    }

    /// Lets those go on who have waited long enough.
    ///
    /// O(waiters).
    func fire(at now: MonotonicInstant) -> MonotonicInstant {
        let (due, next) = state.withLock { state in
            var (due, next): ([UInt64], MonotonicInstant) = ([], .distantFuture)
            for (number, waiter) in state.waiters where waiter.continuation != nil {
                if waiter.deadline <= now { due.append(number) } else { next = min(next, waiter.deadline) }
            }
            return (due, next)
        }
        wake(due)
        return next
    }

    /// Something has happened to a key.
    func wake(_ name: [UInt8]) {
        wake(state.withLock { Array($0.numbers[name] ?? []) })
    }

    /// It is known what lies under a key's name.
    ///
    /// - Parameters:
    ///   - numbers: The tasks that have waited since before it was asked for. To others it may be too old.
    ///   - news: What lies there; `nil` when that is nothing, or not known after all.
    func wake(_ numbers: [UInt64], with news: News?) {
        state.withLock { state in
            for number in numbers { state.waiters[number]?.news = news }
        }
        wake(numbers)
    }

    /// Anything may have happened.
    func wakeAll() {
        wake(state.withLock { Array($0.waiters.keys) })
    }

    private func wake(_ numbers: [UInt64]) {
        guard !numbers.isEmpty else { return }
        let continuations = state.withLock { state in
            numbers.compactMap { number in
                state.waiters[number]?.isWoken = true
                return state.waiters[number]?.continuation.take()
            }
        }
        for continuation in continuations { continuation.resume() }
    }
}
