internal import Strata

/// A clock that a test moves by hand: who sleeps on it wakes when the test has moved it far enough, and not sooner.
///
/// ```swift
/// let clock = ManualClock()
/// let level = fetcher.timeout(.seconds(1), clock: clock)
/// let read = Task { try await level.get(1) }
/// await clock.sleepers(1)
/// clock.advance(by: .seconds(1))
/// ```
public final class ManualClock: Clock {
    /// A point on the clock: the time since it was made.
    public struct Instant: InstantProtocol {
        /// The time since the clock was made.
        public var offset: Duration

        /// The instant a duration later.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

        /// The time to another instant.
        public func duration(to other: Instant) -> Duration { other.offset - offset }

        /// Earlier comes first.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Instant(offset: .zero)
        var sleepers: [Int: Sleeper] = [:]
        var lastNumber = 0
    }

    private let state = Locked(State())
    /// Those who have begun to sleep since the clock was made.
    private let begun = Arrivals()

    /// A clock that shows zero.
    public init() {}

    /// What the clock shows.
    public var now: Instant { state.withLock { $0.now } }

    /// Nothing is shorter than this.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// How many sleep now.
    public var sleeping: Int { state.withLock { $0.sleepers.count } }

    /// Sleeps until the clock has been moved to `deadline`; throws `CancellationError` when the task is cancelled
    /// meanwhile.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLock { state in
                    let isOver = deadline <= state.now
                    if !isOver { state.sleepers[number] = Sleeper(deadline: deadline, continuation: continuation) }
                    return isOver
                }
                begun.add()
                if isOver { continuation.resume() } else if Task.isCancelled { leave(number) }
            }
        } onCancel: {
            leave(number)
        }
    }

    /// Moves the clock, and wakes those whose time has come, the earliest first.
    public func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Returns when `count` sleeps have begun since the clock was made, whether they are over or not; and when the task is
    /// cancelled.
    public func sleepers(_ count: Int) async { await begun.wait(for: count) }

    private func leave(_ number: Int) {
        let sleeper = state.withLock { $0.sleepers.removeValue(forKey: number) }
        sleeper?.continuation.resume(throwing: CancellationError())
    }
}
