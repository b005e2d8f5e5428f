internal import Strata

/// Tasks that wait for an event of a key: a value, the end of a lease, an invalidation.
///
/// A task enters *before* it asks the server, so that it misses no event between the answer and the wait.
final class KeyWaiters: Watched {
    /// The value under a name after it has changed.
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
        /// When the task goes on without an event, by the running time.
        var deadline = MonotonicInstant.distantFuture
    }

    private struct State {
        var waiters: [UInt64: Waiter] = [:]
        var numbers: [[UInt8]: Set<UInt64>] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state = Locked(State())
    private let watch: Watch
    private let clock: CacheClock

    init(_ clock: CacheClock = .current) {
        self.clock = clock
        watch = Watch(clock, .running)
    }

    var count: Int { state.withLock { $0.waiters.count } }

    /// Begins to listen for a key.
    ///
    /// Give each number back with ``leave(_:)``.
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

    /// Waits until an event comes, counted from when the task entered, or until the deadline, by the running time.
    ///
    /// - Returns: The value under the name now, if the event was a change and the value is known already.
    /// - Throws: `CancellationError`.
    func wait(_ number: UInt64, until deadline: MonotonicInstant) async throws -> News? {
        guard clock.running < deadline else { return nil }
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

    /// Whether there was an event since the task has entered.
    func isWoken(_ number: UInt64) -> Bool { state.withLock { $0.waiters[number]?.isWoken ?? true } }

    /// The tasks that wait for a key, without those that have only entered: these ask Redis anyway.
    func awaiting(_ name: [UInt8]) -> [UInt64] {
        state.withLock { state in
            state.numbers[name]?.filter { state.waiters[$0]?.continuation != nil } ?? []
        }
    }

    /// Resumes the tasks whose deadline has passed.
    ///
    /// O(waiters).
    func fire(at now: MonotonicInstant) -> MonotonicInstant {
        let (due, next) = state.withLock { state in
            var (due, next): ([CheckedContinuation<Void, Never>], MonotonicInstant) = ([], .distantFuture)
            for (number, waiter) in state.waiters {
                guard let continuation = waiter.continuation else { continue }
                if waiter.deadline <= now {
                    // Nothing has happened to the key, so it is not woken.
                    state.waiters[number]?.continuation = nil
                    due.append(continuation)
                } else {
                    next = min(next, waiter.deadline)
                }
            }
            return (due, next)
        }
        for continuation in due { continuation.resume() }
        return next
    }

    /// An event of a key.
    func wake(_ name: [UInt8]) {
        wake(state.withLock { Array($0.numbers[name] ?? []) })
    }

    /// The value under a key's name was read.
    ///
    /// - Parameters:
    ///   - numbers: The tasks that have waited since before the read. For others it may be too old.
    ///   - news: The value; `nil` for none, or when it could not be read.
    func wake(_ numbers: [UInt64], with news: News?) {
        state.withLock { state in
            for number in numbers { state.waiters[number]?.news = news }
        }
        wake(numbers)
    }

    /// Any event may have been missed.
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
