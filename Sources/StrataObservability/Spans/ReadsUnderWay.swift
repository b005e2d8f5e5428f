#if Observability
internal import Strata
internal import Tracing

/// The spans of the reads that are running, by key: what a read that joins one of them is linked to.
final class ReadsUnderWay<Key: Hashable & Sendable>: Sendable {
    private struct Leader: Sendable {
        let number: UInt64
        let context: ServiceContext
    }

    private struct State: Sendable {
        var leaders: [Key: Leader] = [:]
        var last: UInt64 = 0
    }

    private let state = Locked(State())

    /// A read begins.
    ///
    /// - Returns: The context of the one that runs already; otherwise this one leads, and has a number to leave with.
    func enter(_ key: Key, _ context: ServiceContext) -> (leader: ServiceContext?, number: UInt64?) {
        state.withLock { state in
            if let leader = state.leaders[key] { return (leader.context, nil) }
            state.last += 1
            state.leaders[key] = Leader(number: state.last, context: context)
            return (nil, state.last)
        }
    }

    /// A read that led has ended.
    func leave(_ key: Key, _ number: UInt64) {
        state.withLock { state in
            if state.leaders[key]?.number == number { state.leaders[key] = nil }
        }
    }
}
#endif
