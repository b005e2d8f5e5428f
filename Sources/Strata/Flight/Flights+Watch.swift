extension Flights {
    /// Keeps watch until nothing is due any more, or an earlier watch has taken over.
    ///
    /// One task for all flights: what is asked for and answered in time costs no timer. The task keeps nothing alive.
    func watch(_ number: UInt64) {
        let task = Task { [weak self] in
            while let next = self?.nextLook(of: number) {
                let left = MonotonicInstant.now.duration(to: next)
                if left > .zero { _ = try? await Task.pause(for: left) }
                self?.look(number)
            }
        }
        let replaced = state.withLock { state in
            guard state.watch.number == number else { return task as Task<Void, Never>? }
            defer { state.watch.task = task }
            return state.watch.task
        }
        replaced?.cancel()
    }

    /// When a watch looks next; `nil` when it has ended.
    private func nextLook(of number: UInt64) -> MonotonicInstant? {
        state.withLock { state in
            state.watch.number == number && state.watch.at < .distantFuture ? state.watch.at : nil
        }
    }

    /// Lets callers go whose patience has ended, while their flights go on if there is room for that; and ends anchored flights
    /// that have had their time: those who wait are told, later callers start anew, and the work is cancelled.
    ///
    /// A flight that was cancelled counts until it heeds that. O(flights), and O(callers) of those for which something is due.
    private func look(_ number: UInt64) {
        let (released, late, drainers) = state.withLock { state in
            var released: [Waiter] = []
            var late: [Task<Void, Never>] = []
            guard state.watch.number == number else { return (released, late, state.takeDrainers()) }
            let now = MonotonicInstant.now
            for number in state.flights.compactMap({ $1.due <= now ? $0 : nil }) {
                let leaving = state.release(from: number, at: now)
                released += leaving
                guard let flight = state.flights[number] else { continue }
                if flight.end <= now {
                    state.flights[number]?.end = .distantFuture
                    flight.task.map { late.append($0) }
                } else if !flight.isAnchored, !leaving.isEmpty, state.anchored < anchorLimit {
                    state.anchor(number, until: now.advanced(by: completionLimit))
                } else if !flight.isAnchored, flight.waiters.isEmpty {
                    state.remove(number)?.task.map { late.append($0) }
                }
                state.settle(number)
            }
            // Not sooner than that: what is due by then is seen to together.
            let soonest = now.advanced(byNanoseconds: 1_000_000)
            state.watch.at = state.flights.values.map(\.due).min().map { max($0, soonest) } ?? .distantFuture
            return (released, late, state.takeDrainers())
        }
        for task in late { task.cancel() }
        for waiter in released { waiter.continuation.resume(throwing: OutOfPatience()) }
        for drainer in drainers { drainer.resume(returning: true) }
    }
}

extension Flights.State {
    /// Lets a flight go on without callers until its time is over.
    ///
    /// - Returns: The watch that is to be kept, unless one is that comes no later.
    @discardableResult
    mutating func anchor(_ number: UInt64, until end: MonotonicInstant) -> UInt64? {
        anchored += 1
        flights[number]?.isAnchored = true
        flights[number]?.end = end
        return look(at: number, by: end)
    }

    /// Sees to it that a flight is looked at by a time.
    ///
    /// - Returns: The watch that is to be kept, unless one is that comes no later.
    mutating func look(at number: UInt64, by time: MonotonicInstant) -> UInt64? {
        guard time < .distantFuture, let due = flights[number]?.due else { return nil }
        flights[number]?.due = min(due, time)
        guard time < watch.at else { return nil }
        watch.at = time
        watch.number += 1
        return watch.number
    }

    /// Takes out the callers of a flight who have waited long enough, or all when the flight has.
    mutating func release(from number: UInt64, at now: MonotonicInstant) -> [Flights.Waiter] {
        guard let flight = flights[number] else { return [] }
        let isOver = flight.end <= now
        if isOver, current[flight.key] == number { current[flight.key] = nil }
        let leaving = flight.waiters.filter { isOver || $1.end <= now }
        for waiter in leaving.keys {
            boarded[waiter] = nil
            flights[number]?.waiters[waiter] = nil
        }
        return Array(leaving.values)
    }

    /// Finds out when something is due for a flight.
    mutating func settle(_ number: UInt64) {
        guard let flight = flights[number] else { return }
        flights[number]?.due = flight.waiters.values.reduce(flight.end) { min($0, $1.end) }
    }
}
