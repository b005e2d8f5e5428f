import FleetChecker
import Synchronization

/// Callers who leave when the fetch that they wait for has ended: while its value is on the way to Redis.
final class SoakDepartures: Sendable {
    private struct Caller {
        let task: Task<Void, Never>
        let delay: UInt64
    }

    private let callers = Mutex<[Int: Caller]>([:])

    /// Runs a read whose caller leaves some time after the fetch.
    ///
    /// - Parameters:
    ///   - key: What is read.
    ///   - delay: How long after the end of the fetch it leaves, in nanoseconds.
    ///   - body: The read.
    /// - Returns: Whether it was run: a key has one caller who leaves at a time.
    func read(_ key: Int, leavingAfter delay: UInt64, _ body: @escaping @Sendable () async -> Void) async -> Bool {
        let task: Task<Void, Never>? = callers.withLock { callers in
            guard callers[key] == nil else { return nil }
            let task = Task { await body() }
            callers[key] = Caller(task: task, delay: delay)
            return task
        }
        guard let task else { return false }
        await task.value
        callers.withLock { $0[key] = nil }
        return true
    }

    /// Whether a task that is about to leave waits for a key.
    func awaits(_ key: Int) -> Bool { callers.withLock { $0[key] != nil } }

    /// The fetch of a key has ended.
    func depart(_ key: Int) {
        guard let caller = callers.withLock({ $0[key] }) else { return }
        Task {
            let end = HistoryClock.now() + caller.delay
            // No timer is that exact.
            while HistoryClock.now() < end { await Task.yield() }
            caller.task.cancel()
        }
    }
}
