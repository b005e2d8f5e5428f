import Synchronization

/// A caller that waits for a flight.
///
/// Proof of `Sendable`: everything that changes is written under the lock of the table. The waiter reads its outcome
/// without the lock after it was resumed; the outcome was written before that, and so was what the flight has brought.
final class FlightWaiter: @unchecked Sendable {
    enum Outcome: UInt8, AtomicRepresentable {
        case waits
        /// The flight has landed.
        case landed
        /// The waiter was cancelled.
        case cancelled
        /// The waiter's limit has passed.
        case waitLimitReached
    }

    let table: FlightTable
    private let ended = Atomic(Outcome.waits)
    /// The flight; `nil` before the waiter has joined one.
    var flight: Flight?
    /// The index among the flight's waiters.
    var place = 0
    /// When the waiter's limit passes.
    var end = MonotonicInstant.distantFuture
    /// From when on the waiter may be told together with another one whose limit passes.
    var endsWithOthersFrom = MonotonicInstant.distantFuture
    /// Resumed when the wait ends; `nil` for a waiter that does the work itself.
    var continuation: CheckedContinuation<Void, Never>?

    init(_ table: FlightTable) {
        self.table = table
    }

    /// How the wait has ended.
    var outcome: Outcome { ended.load(ordering: .acquiring) }

    /// Notes how the wait ends, under the lock of the table.
    func end(as outcome: Outcome) { ended.store(outcome, ordering: .releasing) }
}
