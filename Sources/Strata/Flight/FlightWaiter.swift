/// One who waits for a flight.
///
/// Proof of `Sendable`: everything that changes is written under the lock of the table. The waiter reads its outcome without
/// it, after it was told: whoever tells has written it before.
final class FlightWaiter: @unchecked Sendable {
    enum Outcome {
        case waits
        /// The flight has landed.
        case landed
        /// The waiter has been cancelled.
        case cancelled
        /// The waiter has waited long enough, or the flight has taken too long.
        case waitLimitReached
    }

    let table: FlightTable
    var outcome = Outcome.waits
    /// The flight, from boarding on.
    var flight: Flight?
    /// Where on the flight.
    var place = 0
    /// When the waiter has waited long enough.
    var end = MonotonicInstant.distantFuture
    /// Resumed when the waiter is let go; `nil` for one that does the work itself.
    var continuation: CheckedContinuation<Void, Never>?

    init(_ table: FlightTable) {
        self.table = table
    }
}
