internal import Strata

/// How many tasks have come to a place, and those who wait for a number of them.
final class Arrivals: Sendable {
    private typealias Watcher = CheckedContinuation<Void, Never>

    private struct State {
        var count = 0
        var lastNumber = 0
        var watchers: [Int: (count: Int, continuation: Watcher)] = [:]
    }

    private let state = Locked(State())

    /// One more has come.
    func add() {
        let ready = state.withLock { state in
            state.count += 1
            let ready = state.watchers.filter { $0.value.count <= state.count }
            for number in ready.keys { state.watchers[number] = nil }
            return ready.values.map(\.continuation)
        }
        for watcher in ready { watcher.resume() }
    }

    /// Returns when `count` tasks have come, and when the task is cancelled.
    ///
    /// So a test whose tasks never come ends with its time limit.
    func wait(for count: Int) async {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if state.count < count { state.watchers[number] = (count, continuation) }
                    return state.count >= count
                }
                if isReady { continuation.resume() } else if Task.isCancelled { leave(number) }
            }
        } onCancel: {
            leave(number)
        }
    }

    private func leave(_ number: Int) {
        state.withLock { $0.watchers.removeValue(forKey: number) }?.continuation.resume()
    }
}
