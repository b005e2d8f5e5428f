internal import Strata

/// A place where tasks stop until a test lets them go on.
///
/// The test can wait until they are there.
public final class AsyncGate: Sendable {
    private struct State {
        var isOpen = false
        var lastNumber = 0
        var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
    }

    private let state = Locked(State())
    private let arrived = Arrivals()

    /// A closed gate.
    public init() {}

    /// Stops here until the gate opens; throws `CancellationError` when the task is cancelled meanwhile.
    public func pass() async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOpen = state.withLock { state in
                    if !state.isOpen { state.waiting[number] = continuation }
                    return state.isOpen
                }
                arrived.add()
                if isOpen { continuation.resume() } else if Task.isCancelled { leave(number) }
            }
        } onCancel: {
            leave(number)
        }
    }

    /// Lets all tasks go on, now and later.
    public func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [:] }
            return state.waiting.values.map { $0 }
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Returns when `count` tasks have come, whether or not they have gone on since, or when the task is cancelled.
    public func arrivals(_ count: Int = 1) async { await arrived.wait(for: count) }

    private func leave(_ number: Int) {
        let continuation = state.withLock { $0.waiting.removeValue(forKey: number) }
        continuation?.resume(throwing: CancellationError())
    }
}
