internal import Strata
internal import Synchronization

/// Lets the first calls of a level wait for the link.
///
/// What is read before the link stands cannot be kept for long. So the first calls wait until it stands, which takes
/// the time of a connection, until an attempt has failed, or for ``limit`` at most. Later calls cost one atomic load.
final class LinkArrival: Watched {
    /// The longest wait: a server on the same continent answers in that time.
    static let limit: Duration = .milliseconds(100)

    private struct State {
        var waiters: [CheckedContinuation<Void, Never>] = []
        var deadline = MonotonicInstant.distantFuture
    }

    private let isOver: Atomic<Bool>
    private let state = Locked(State())
    private let watch = Watch()

    /// - Parameter isAwaited: Whether the level has a link.
    init(isAwaited: Bool) {
        isOver = Atomic(!isAwaited)
    }

    /// Whether calls have to wait.
    @inline(__always)
    var isPending: Bool { !isOver.load(ordering: .acquiring) }

    /// Returns when the link stands, when an attempt has failed, or when the wait has taken too long.
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

    /// The link stands, or an attempt has failed.
    func end() {
        guard !isOver.load(ordering: .acquiring) else { return }
        let waiters = state.withLock { state in
            isOver.store(true, ordering: .releasing)
            return exchange(&state.waiters, with: [])
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Ends the wait of all calls when the first has waited long enough; later calls do not wait.
    func fire(at now: MonotonicInstant) -> MonotonicInstant {
        let deadline = state.withLock { $0.deadline }
        guard deadline <= now else { return deadline }
        end()
        return .distantFuture
    }
}
