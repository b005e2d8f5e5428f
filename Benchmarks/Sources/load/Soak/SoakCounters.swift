import Synchronization

/// What the tasks of a process count by name.
final class SoakCounters: Sendable {
    private let tally = Mutex(SoakTally())

    var snapshot: SoakTally { tally.withLock { $0 } }

    func add(_ name: String, _ number: Int = 1) { tally.withLock { $0.counts[name, default: 0] += number } }

    /// A caller got an error.
    ///
    /// Its text is cut: what others have left in Redis may stand in it.
    func note(_ what: String, _ error: any Error) {
        guard !(error is CancellationError) else { return }
        let text = String("\(what): \(error)".prefix(200))
        tally.withLock { $0.errors[text, default: 0] += 1 }
    }

    /// A read did what its options forbid.
    func breach(_ what: String) { tally.withLock { $0.breaches[what, default: 0] += 1 } }
}
