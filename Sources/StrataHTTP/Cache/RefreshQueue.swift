internal import Strata

/// What to refresh in the background, each once: bounded, and accepted only while a task works on them.
final class RefreshQueue: Sendable {
    private struct Watcher {
        var condition: @Sendable (_ isRunning: Bool, _ pending: Int) -> Bool
        var continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var pending: Set<HTTPRefresh> = []
        var stream: AsyncStream<HTTPRefresh>.Continuation?
        var watchers: [Watcher] = []

        mutating func takeWatchers() -> [Watcher] {
            let isRunning = stream != nil
            let count = pending.count
            let ready = watchers.filter { $0.condition(isRunning, count) }
            if !ready.isEmpty { watchers.removeAll { $0.condition(isRunning, count) } }
            return ready
        }
    }

    /// More is refused, and the get waits for the answer itself.
    private static let most = 128
    private static let atATime = 8
    private let state = Locked(State())

    /// - Returns: Whether a task will refresh it, or does already.
    func add(_ resource: HTTPRefresh) -> Bool {
        state.withLock { state in
            guard let stream = state.stream else { return false }
            if state.pending.contains(resource) { return true }
            guard state.pending.count < Self.most else { return false }
            state.pending.insert(resource)
            stream.yield(resource)
            return true
        }
    }

    /// Works until it is cancelled.
    ///
    /// A second call while one runs ends at once.
    func run(_ refresh: @escaping @Sendable (HTTPRefresh) async -> Void) async {
        let (stream, continuation) = AsyncStream.makeStream(
            of: HTTPRefresh.self,
            bufferingPolicy: .bufferingOldest(Self.most)
        )
        var isFirst = false
        change { state in
            isFirst = state.stream == nil
            if isFirst { state.stream = continuation }
        }
        guard isFirst else { return }
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for await resource in stream {
                if running == Self.atATime {
                    await group.next()
                    running -= 1
                }
                running += 1
                group.addTask {
                    await refresh(resource)
                    self.change { $0.pending.remove(resource) }
                }
            }
            group.cancelAll()
        }
        change { state in
            state.stream = nil
            state.pending = []
        }
    }

    /// Waits until the queue is in a certain state.
    func wait(until condition: @escaping @Sendable (_ isRunning: Bool, _ pending: Int) -> Bool) async {
        await withCheckedContinuation { continuation in
            change { $0.watchers.append(Watcher(condition: condition, continuation: continuation)) }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let ready = state.withLock { state in
            body(&state)
            return state.takeWatchers()
        }
        for watcher in ready { watcher.continuation.resume() }
    }
}
