import Strata
import Synchronization

/// The signal by which a program is asked to end; a second one ends it at once.
///
/// A supervisor may send each signal twice, to the program and to its group. So one that comes within a second of the
/// first counts as the same.
struct EndingSignal: ~Copyable, Sendable {
    private static let apart: Int64 = 1_000_000_000

    private let number = Atomic<Int32>(0)
    private let since = Atomic<Int64>(0)

    /// The first one that has come; 0 for none.
    var first: Int32 { number.load(ordering: .relaxed) }

    /// Forgets what has come.
    func expect() {
        // Made here, and not in a handler.
        since.store(MonotonicInstant.now.nanoseconds, ordering: .relaxed)
        number.store(0, ordering: .relaxed)
    }

    /// Takes a signal down, in its handler: it takes no lock, and allocates nothing.
    ///
    /// - Returns: Whether the program has to end at once.
    func note(_ signal: Int32) -> Bool {
        let now = MonotonicInstant.now.nanoseconds
        guard number.compareExchange(expected: 0, desired: signal, ordering: .relaxed).exchanged else {
            return now - since.load(ordering: .relaxed) >= Self.apart
        }
        since.store(now, ordering: .relaxed)
        return false
    }
}
