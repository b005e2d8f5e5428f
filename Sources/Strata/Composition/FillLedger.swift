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
        /// The end of the entry that was stored last, or was about to be: it identifies the entry.
        var tried: MonotonicInstant?
    }

    typealias Forgotten = (key: Key, fill: Fill)

    private struct Waiter: Numbered {
        let number: UInt64
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var fills = RecentFills<Key>()
        var lastNumber: UInt64 = 0
        /// Keys that a task is changing, with the tasks that wait for their turn.
        var busy: [Key: WaitLine<Waiter>] = [:]
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
    func record(
        _ ticket: Ticket,
        _ seal: TagSeal?,
        _ tried: MonotonicInstant? = nil,
        for key: Key
    ) -> Forgotten? {
        state.withLock { state in
            state.fills.note(Fill(ticket: ticket, seal: seal, tried: tried), for: key)
            return state.fills.count > capacity ? state.fills.removeOldest(but: key) : nil
        }
    }

    /// Notes that an entry with this end is stored next, in the place of what is known.
    func tries(_ end: MonotonicInstant?, for key: Key) {
        state.withLock { state in
            guard var fill = state.fills[key] else { return }
            fill.tried = end
            state.fills.note(fill, for: key)
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
                    state.busy[key] = WaitLine()
                    return true
                }
                state.lastNumber += 1
                state.busy[key]?.append(Waiter(number: state.lastNumber, continuation: continuation))
                return false
            }
            if isFree { continuation.resume() }
        }
        defer { passOn(key) }
        return try await body()
    }

    private func passOn(_ key: Key) {
        let next = state.withLock { state -> Waiter? in
            guard state.busy[key]?.isEmpty == false else {
                state.busy[key] = nil
                return nil
            }
            return state.busy[key]?.removeFirst()
        }
        next?.continuation.resume()
    }
}
