/// Remembers the ticket and the seal of each filled key, for an upper level that does not keep them itself, and lets
/// only one task at a time change a key there.
///
/// Without the second part, a slow fill with a void ticket could replace a newer one.
@usableFromInline
final class FillLedger<Key: Hashable & Sendable>: Sendable {
    @usableFromInline
    struct Fill: Sendable {
        @usableFromInline
        let ticket: Ticket
        @usableFromInline
        let seal: TagSeal?
    }

    typealias Forgotten = (key: Key, fill: Fill)

    private struct State {
        var fills = RecentFills<Key>()
        /// Keys that a task is changing, with the tasks that wait for their turn.
        var busy: [Key: [CheckedContinuation<Void, Never>]] = [:]
    }

    /// Beyond this many keys, each new one replaces the oldest.
    private let capacity: Int
    private let state = Locked(State())

    init(capacity: Int) {
        self.capacity = capacity
    }

    @usableFromInline
    func fill(of key: Key) -> Fill? {
        state.withLock { $0.fills[key] }
    }

    /// Notes a fill.
    ///
    /// - Returns: The key and the fill that had to be forgotten for it; `nil` for none.
    func record(_ ticket: Ticket, _ seal: TagSeal?, for key: Key) -> Forgotten? {
        state.withLock { state in
            state.fills.note(Fill(ticket: ticket, seal: seal), for: key)
            return state.fills.count > capacity ? state.fills.removeOldest(but: key) : nil
        }
    }

    func forget(_ key: Key) {
        state.withLock { state in state.fills.remove(key) }
    }

    /// Runs `body` while no other task runs one for the same key; tasks take turns in their order.
    ///
    /// Cancellation does not end the wait: the turns before are single operations of the upper level.
    func exclusively<Result>(_ key: Key, _ body: () async throws -> Result) async rethrows -> Result {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.busy[key] == nil {
                    state.busy[key] = []
                    return true
                }
                state.busy[key]?.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
        defer { passOn(key) }
        return try await body()
    }

    private func passOn(_ key: Key) {
        let next: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard var waiting = state.busy[key], !waiting.isEmpty else {
                state.busy[key] = nil
                return nil
            }
            let next = waiting.removeFirst()
            state.busy[key] = waiting
            return next
        }
        next?.resume()
    }
}
