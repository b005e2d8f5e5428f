extension FlightTable {
    /// Waits for a flight that is running.
    ///
    /// - Returns: Whether the flight has landed; false when it could no longer be joined.
    /// - Throws: `CancellationError`; ``/Strata/CacheError/Code/timeout``.
    @usableFromInline
    func wait(on flight: Flight, _ limit: WaitLimit) async throws -> Bool {
        try Task.checkCancellation()
        let start = clock.running
        let waiter = FlightWaiter(self)
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let boarding = board(waiter, hash: flight.hash, limit, continuation) { $0 === flight }
                if case .aboard(_, let due) = boarding {
                    watch.schedule(self, by: due)
                } else {
                    continuation.resume()
                }
            }
        } onCancel: {
            leave(waiter)
        }
        switch waiter.outcome {
        case .landed: return true
        case .waits: return false
        case .cancelled: throw CancellationError()
        case .waitLimitReached: throw CacheError.late(since: start, by: clock)
        }
    }
}
