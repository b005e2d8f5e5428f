internal import Synchronization

/// What is voided while a listener is registered, including keys without a ticket.
///
/// A gate forgets a change of a key without a ticket. Code that brings entries from elsewhere, of keys that no read has
/// asked for yet, has to know of those, too. Without a listener a change costs one load more.
final class VoidLog: Sendable {
    private struct State {
        var listeners = 0
        var keys: Set<UInt64> = []
        var isEverything = false
    }

    /// Beyond so many keys everything counts as voided.
    private static let capacity = 1 << 20

    private let isHeard = Atomic<Bool>(false)
    private let state = Locked(State())

    /// Listens from now on, until ``end()``.
    func begin() {
        state.withLock { state in
            state.listeners += 1
            isHeard.store(true, ordering: .sequentiallyConsistent)
        }
    }

    func end() {
        state.withLock { state in
            state.listeners -= 1
            guard state.listeners == 0 else { return }
            isHeard.store(false, ordering: .relaxed)
            state = State()
        }
    }

    /// A key was voided, or has a new value.
    @inline(__always)
    func note(_ fingerprint: UInt64) {
        if isHeard.load(ordering: .relaxed) { take(fingerprint) }
    }

    /// All keys were voided.
    func noteAll() {
        if isHeard.load(ordering: .relaxed) { take(nil) }
    }

    private func take(_ fingerprint: UInt64?) {
        state.withLock { state in
            guard state.listeners > 0, !state.isEverything else { return }
            if let fingerprint, state.keys.count < Self.capacity {
                state.keys.insert(fingerprint)
            } else {
                state.isEverything = true
                state.keys = []
            }
        }
    }

    /// Whether a key was voided since the listener was registered.
    func has(_ fingerprint: UInt64) -> Bool { state.withLock { $0.isEverything || $0.keys.contains(fingerprint) } }
}
