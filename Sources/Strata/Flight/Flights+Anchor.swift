extension Flights {
    /// Lets a caller go when its patience ends; the flight goes on without it.
    func wait(_ waiter: UInt64, until end: MonotonicInstant) {
        let timer = Task {
            let left = MonotonicInstant.now.duration(to: end)
            if left > .zero { guard (try? await Task.sleep(for: left)) != nil else { return } }
            if let number = self.anchor(flightOf: waiter) { self.limit(number) }
            self.leave(waiter, throwing: OutOfPatience())
        }
        let isGone = state.withLock { state in
            guard let number = state.boarded[waiter] else { return true }
            state.flights[number]?.waiters[waiter]?.patience = timer
            return false
        }
        if isGone { timer.cancel() }
    }

    /// Lets a flight go on without callers, if there is room for one more of those.
    ///
    /// Returns its number when it was not anchored before.
    private func anchor(flightOf waiter: UInt64) -> UInt64? {
        state.withLock { state in
            guard let number = state.boarded[waiter], state.flights[number]?.isAnchored == false,
                state.anchored < anchorLimit
            else { return nil }
            state.anchored += 1
            state.flights[number]?.isAnchored = true
            return number
        }
    }

    /// Ends an anchored flight when it has had its time: those who wait are told, later callers start anew, and the work is
    /// cancelled.
    ///
    /// It counts until it heeds that.
    func limit(_ number: UInt64) {
        let timer = Task {
            guard (try? await Task.sleep(for: self.completionLimit)) != nil else { return }
            let (task, waiters) = self.state.withLock { state in
                guard let flight = state.flights[number] else {
                    return (nil as Task<Void, Never>?, [] as [Waiter])
                }
                if state.current[flight.key] == number { state.current[flight.key] = nil }
                for waiter in flight.waiters.keys { state.boarded[waiter] = nil }
                state.flights[number]?.waiters.removeAll()
                return (flight.task, Array(flight.waiters.values))
            }
            task?.cancel()
            for waiter in waiters {
                waiter.patience?.cancel()
                waiter.continuation.resume(throwing: OutOfPatience())
            }
        }
        let isGone = state.withLock { state in
            state.flights[number]?.limit = timer
            return state.flights[number] == nil
        }
        if isGone { timer.cancel() }
    }

    /// Waits until every flight has landed, anchored or not, for at most `limit`; then cancels those that have not.
    ///
    /// - Returns: Whether all have landed by themselves.
    @discardableResult
    package func drain(within limit: Duration) async -> Bool {
        let number = state.withLock { state in
            state.lastDrainer += 1
            return state.lastDrainer
        }
        let timer = Task {
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            let drainer = self.state.withLock { state in
                let drainer = state.drainers.removeValue(forKey: number)
                if drainer == nil { state.lateDrainers.insert(number) }
                return drainer
            }
            drainer?.resume(returning: false)
        }
        let haveLanded = await withCheckedContinuation { continuation in
            let outcome = state.withLock { state -> Bool? in
                guard !state.flights.isEmpty else { return true }
                guard state.lateDrainers.remove(number) == nil else { return false }
                state.drainers[number] = continuation
                return nil
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
        timer.cancel()
        // What has begun since is not late.
        guard !haveLanded else { return true }
        let late = state.withLock { Array($0.flights.values) }
        for flight in late { flight.task?.cancel() }
        return late.isEmpty
    }
}
