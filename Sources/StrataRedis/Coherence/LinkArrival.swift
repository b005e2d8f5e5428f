internal import Strata
internal import Synchronization

/// The first moment at which it is known whether changes are told.
///
/// What is read before the link stands cannot be kept for long. So the first calls of a level wait for it, which takes a
/// connection's time, until an attempt has failed, or for ``limit`` at most. Later calls cost one atomic load.
final class LinkArrival: Watched {
    /// How long a call waits at most: a server on the same continent answers in that time.
    static let limit: Duration = .milliseconds(100)

    private struct State {
        var waiters: [CheckedContinuation<Void, Never>] = []
        var deadline = MonotonicInstant.distantFuture
    }

    private let isOver: Atomic<Bool>
    private let state = Locked(State())
    private let watch = Watch()

    /// - Parameter isAwaited: Whether anybody tells of changes at all.
    init(isAwaited: Bool) {
        isOver = Atomic(!isAwaited)
    }

    /// Whether calls have to wait.
    @inline(__always)
    var isPending: Bool { !isOver.load(ordering: .acquiring) }

    /// Returns when it is known whether changes are told, or will not be known soon.
    func wait() async {
        await withCheckedContinuation { continuation in
            let deadline = state.withLock { state -> MonotonicInstant? in
                guard !isOver.load(ordering: .acquiring) else { return nil }
                state.waiters.append(continuation)
                state.deadline = min(state.deadline, .now.advanced(by: Self.limit))
                return state.deadline
            }
            guard let deadline else { return continuation.resume() }
            watch.schedule(self, by: deadline)
        }
    }

    /// It is known now.
    func end() {
        guard !isOver.load(ordering: .acquiring) else { return }
        let waiters = state.withLock { state in
            isOver.store(true, ordering: .releasing)
            return exchange(&state.waiters, with: [])
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Lets all go on when the first has waited long enough; nobody waits any more then.
    func fire(at now: MonotonicInstant) -> MonotonicInstant {
        let deadline = state.withLock { $0.deadline }
        guard deadline <= now else { return deadline }
        end()
        return .distantFuture
    }
}
