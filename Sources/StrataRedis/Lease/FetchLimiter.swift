internal import Strata

/// Lets a bounded number of fetches run at once; the others wait their turn in order, and may be cancelled while they wait.
final class FetchLimiter: Sendable {
    private struct State {
        var running = 0
        var waiting: [(number: UInt64, continuation: CheckedContinuation<Void, any Error>)] = []
        var lastNumber: UInt64 = 0
    }

    private let limit: Int
    private let state = Locked(State())

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// Runs `body` when there is room for it.
    func run<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await enter()
        defer { leave() }
        return try await body()
    }

    private func enter() async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let enters = state.withLock { state in
                    guard state.running >= limit else {
                        state.running += 1
                        return true
                    }
                    state.waiting.append((number, continuation))
                    return false
                }
                if enters { continuation.resume() } else if Task.isCancelled { giveUp(number) }
            }
        } onCancel: {
            giveUp(number)
        }
    }

    private func leave() {
        let next = state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.running -= 1
                return nil as CheckedContinuation<Void, any Error>?
            }
            return state.waiting.removeFirst().continuation
        }
        next?.resume()
    }

    private func giveUp(_ number: UInt64) {
        let continuation = state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0.number == number }) else {
                return nil as CheckedContinuation<Void, any Error>?
            }
            return state.waiting.remove(at: index).continuation
        }
        continuation?.resume(throwing: CancellationError())
    }
}
