extension FlightTable {
    /// Waits on a flight that is under way.
    ///
    /// - Returns: Whether the flight has landed; false when it was too late to come aboard.
    /// - Throws: `CancellationError`; ``/Strata/CacheError/Code/timeout``.
    @usableFromInline
    func ride(on flight: Flight, _ patience: WaitLimit) async throws -> Bool {
        try Task.checkCancellation()
        let start = MonotonicInstant.coarse
        let passenger = FlightWaiter(self)
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let boarding = board(passenger, hash: flight.hash, patience, continuation) { $0 === flight }
                if case .aboard(_, let due) = boarding {
                    watch.look(after: self, by: due)
                } else {
                    continuation.resume()
                }
            }
        } onCancel: {
            leave(passenger)
        }
        switch passenger.fate {
        case .landed: return true
        case .waits: return false
        case .cancelled: throw CancellationError()
        case .waitLimitReached: throw CacheError.late(since: start)
        }
    }
}
