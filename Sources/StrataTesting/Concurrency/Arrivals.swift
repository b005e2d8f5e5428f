/// How many tasks have come to a place, and those who wait for a number of them.
///
/// Belongs behind a lock; continuations are resumed outside of it.
struct Arrivals {
    typealias Watcher = CheckedContinuation<Void, Never>

    private var count = 0
    private var watchers: [(count: Int, continuation: Watcher)] = []

    /// One more has come.
    ///
    /// - Returns: Those who have waited for it.
    mutating func add() -> [Watcher] {
        count += 1
        let ready = watchers.filter { $0.count <= count }
        watchers.removeAll { $0.count <= count }
        return ready.map(\.continuation)
    }

    /// Begins to wait for a number of tasks.
    ///
    /// - Returns: Whether they have come already; then nothing is kept.
    mutating func watch(for count: Int, _ continuation: Watcher) -> Bool {
        guard self.count < count else { return true }
        watchers.append((count, continuation))
        return false
    }
}
