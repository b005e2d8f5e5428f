/// Something that has deadlines.
package protocol Watched: AnyObject, Sendable {
    /// Does what is due.
    ///
    /// - Returns: When something is due next; ``MonotonicInstant/distantFuture`` for never.
    func fire(at now: MonotonicInstant) -> MonotonicInstant
}

/// One sleeping task for any number of deadlines.
///
/// Work that ends before its deadline costs no timer and cancels none: the watch finds it ended when it fires. The task
/// keeps nothing alive, not even the owner of the deadline.
///
/// Deadlines are instants of the system's clock, unless another one is given. On one that a test moves there is no
/// task: the caller that moves it fires what is due.
package final class Watch: Sendable {
    /// Which of a clock's times deadlines are counted by.
    package enum Time: Sendable {
        /// ``CacheClock/now``.
        case judged
        /// ``CacheClock/running``.
        case running
    }

    private struct State: Sendable {
        /// When the watch fires next.
        var at = MonotonicInstant.distantFuture
        /// Tells the present task from those that it replaced.
        var number: UInt64 = 0
        var task: Task<Void, Never>?
    }

    private let state = Locked(State())
    private let clock: CacheClock
    private let time: Time

    package init(_ clock: CacheClock = .system, _ time: Time = .judged) {
        self.clock = clock
        self.time = time
    }

    /// Calls ``Watched/fire(at:)`` of an owner at a time, or shortly after.
    ///
    /// Call it after the owner has noted its deadline. O(1); only the earliest deadline so far starts a task.
    package func schedule(_ owner: some Watched, by time: MonotonicInstant) {
        if let moved = clock.moved, self.time == .judged {
            if time < .distantFuture { moved.call(owner, at: time) }
            return
        }
        let begun: UInt64? = state.withLock { state in
            guard time < state.at else { return nil }
            state.at = time
            state.number += 1
            return state.number
        }
        guard let number = begun else { return }
        // Detached: it outlives its caller, whose task-local values and priority are not its own.
        let task = Task.detached { [weak owner, self] in
            while let next = nextFiring(number) {
                let left = clock.running.duration(to: next)
                if left > .zero { try? await clock.rest(for: left) }
                guard begin(number), let owner else { return }
                let now = clock.running
                let start = MonotonicInstant.now
                let due = owner.fire(at: now)
                // Not sooner: deadlines within this time are handled together. An owner looks through all that it has,
                // so one with very much gets a tenth of a processor for it. The thread may have stood still meanwhile,
                // and what is due soon must not wait for ten times that.
                let pause = min(max(.milliseconds(1), start.duration(to: .now) * 10), .milliseconds(100))
                if due < .distantFuture { schedule(again: max(due, now.advanced(by: pause)), number, owner) }
            }
        }
        let replaced = state.withLock { state in
            guard state.number == number else { return task as Task<Void, Never>? }
            defer { state.task = task }
            return state.task
        }
        replaced?.cancel()
    }

    /// When a task fires next; `nil` when it has nothing to do any more.
    private func nextFiring(_ number: UInt64) -> MonotonicInstant? {
        state.withLock { state in
            state.number == number && state.at < .distantFuture ? state.at : nil
        }
    }

    /// From now on a new deadline counts, whatever the owner returns.
    private func begin(_ number: UInt64) -> Bool {
        state.withLock { state in
            guard state.number == number else { return false }
            state.at = .distantFuture
            return true
        }
    }

    private func schedule(again time: MonotonicInstant, _ number: UInt64, _ owner: some Watched) {
        let isOn = state.withLock { state in
            guard state.number == number else { return false }
            state.at = min(state.at, time)
            return true
        }
        if !isOn { schedule(owner, by: time) }
    }
}
