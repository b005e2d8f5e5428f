extension FlightTable {
    /// Does a caller's own work, which no other caller joins, so that a drain waits for it.
    func during<Result>(_ work: () async throws -> Result) async rethrows -> Result {
        let flight = Flight(self, hash: 0, fingerprint: 0, host: nil, priority: nil)
        state.withLock { $0.enter(flight) }
        defer {
            let release = state.withLock { state in
                state.remove(flight)
                return Release(drainers: state.takeDrainers())
            }
            release.perform()
        }
        return try await work()
    }

    /// Waits until every flight has landed, for at most `limit`, or until the task is cancelled; then cancels those
    /// that have not.
    ///
    /// - Returns: Whether all landed by themselves.
    @discardableResult
    func drain(within limit: Duration) async -> Bool {
        let number = state.withLock { state in
            state.lastDrainer += 1
            return state.lastDrainer
        }
        let timer = Task {
            if (try? await self.clock.rest(for: limit)) != nil { self.endDrain(number) }
        }
        let haveLanded = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome = state.withLock { state -> Bool? in
                    guard !state.flights.isEmpty else { return true }
                    guard state.lateDrainers.remove(number) == nil else { return false }
                    state.drainers[number] = continuation
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            endDrain(number)
        }
        timer.cancel()
        // It may be at its end already, and note that a drainer is late.
        await timer.value
        state.withLock { _ = $0.lateDrainers.remove(number) }
        // A flight that began since then is not late.
        guard !haveLanded else { return true }
        let late = state.withLock { $0.flights }
        for flight in late { abandon(flight) }
        return late.isEmpty
    }

    /// The time of a drain is up, whether it waits already or not yet.
    private func endDrain(_ number: UInt64) {
        let drainer = state.withLock { state in
            let drainer = state.drainers.removeValue(forKey: number)
            if drainer == nil { state.lateDrainers.insert(number) }
            return drainer
        }
        drainer?.resume(returning: false)
    }
}
