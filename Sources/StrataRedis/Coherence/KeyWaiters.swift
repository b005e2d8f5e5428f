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
                watch.look(after: self, by: deadline)
            }
        } onCancel: {
            wake([number])
        }
        try Task.checkCancellation()
        return state.withLock { $0.waiters[number]?.news }
    }

    /// Whether a task waits for a key: one that has only entered asks Redis anyway.
    func isAwaited(_ name: [UInt8]) -> Bool {
        state.withLock { state in
            state.numbers[name]?.contains { state.waiters[$0]?.continuation != nil } ?? false
        }
    }

    /// Lets those go on who have waited long enough.
    ///
    /// O(waiters).
    func look(at now: MonotonicInstant) -> MonotonicInstant {
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
    ///
    /// - Parameters:
    ///   - name: The key's.
    ///   - news: What lies there now, if it is known.
    func wake(_ name: [UInt8], with news: News? = nil) {
        let numbers = state.withLock { state in
            let numbers = Array(state.numbers[name] ?? [])
            for number in numbers where state.waiters[number]?.continuation != nil {
                state.waiters[number]?.news = news
            }
            return numbers
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
