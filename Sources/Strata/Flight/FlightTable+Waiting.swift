extension FlightTable {
    /// How a wait for a flight has ended.
    @usableFromInline
    enum WaitEnd: Sendable {
        case landed
        /// The limit has passed, and the flight has something for that case.
        case late
    }

    /// Waits for a flight that is running.
    ///
    /// - Returns: How the wait has ended; `nil` when the flight could no longer be joined.
    /// - Throws: `CancellationError`; ``/Strata/CacheError/Code/timeout``.
    @usableFromInline
    func wait(on flight: Flight, _ limit: WaitLimit) async throws -> WaitEnd? {
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
        case .landed: return .landed
        case .waits: return nil
        case .cancelled: throw CancellationError()
        case .waitLimitReached:
            guard state.withLock({ _ in flight.hasSpare }) else { throw CacheError.late(since: start, by: clock) }
            return .late
        }
    }
}
