extension FlightTable {
    /// The one who looks after what is due.
    struct Watch {
        /// When it looks next.
        var at = MonotonicInstant.distantFuture
        /// Tells it from those whose place it has taken.
        var number: UInt64 = 0
        var task: Task<Void, Never>?
    }

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

    /// Lets passengers go whose patience has ended, while their flights go on if there is room for that; and ends anchored
    /// flights that have had their time: those who wait are told, later callers start anew, and the work is cancelled.
    ///
    /// A flight that was cancelled counts until it heeds that. O(flights), and O(passengers) of those for which something is
    /// due.
    private func look(_ number: UInt64) {
        let release = state.withLock { state in
            var release = Release()
            guard state.watch.number == number else { return release }
            let now = MonotonicInstant.now
            for flight in state.flights where flight.due <= now {
                let leaving = state.release(from: flight, at: now)
                release.passengers += leaving
                if flight.end <= now {
                    flight.end = .distantFuture
                    release.abandoned.append(flight)
                } else if !flight.isAnchored, !leaving.isEmpty, state.anchored < anchorLimit {
                    state.anchor(flight, until: now.advanced(by: completionLimit))
                } else if !flight.isAnchored, flight.passengers.isEmpty {
                    state.remove(flight)
                    release.abandoned.append(flight)
                }
                flight.due = flight.passengers.reduce(flight.end) { min($0, $1.end) }
            }
            // Not sooner than that: what is due by then is seen to together.
            state.watch.at = state.flights.reduce(.distantFuture) { min($0, $1.due) }
            if state.watch.at < .distantFuture {
                state.watch.at = max(state.watch.at, now.advanced(by: .milliseconds(1)))
            }
            release.drainers = state.takeDrainers()
            return release
        }
        release.perform()
    }
}

extension FlightTable.State {
    /// Lets a flight go on without passengers until its time is over.
    ///
    /// - Returns: The watch that is to be kept, unless one is that comes no later.
    @discardableResult
    mutating func anchor(_ flight: Flight, until end: MonotonicInstant) -> UInt64? {
        anchored += 1
        flight.isAnchored = true
        flight.end = end
        return look(at: flight, by: end)
    }

    /// Sees to it that a flight is looked at by a time.
    ///
    /// - Returns: The watch that is to be kept, unless one is that comes no later.
    mutating func look(at flight: Flight, by time: MonotonicInstant) -> UInt64? {
        guard time < .distantFuture else { return nil }
        flight.due = min(flight.due, time)
        guard time < watch.at else { return nil }
        watch.at = time
        watch.number += 1
        return watch.number
    }

    /// Takes out the passengers of a flight who have waited long enough, or all when the flight has.
    mutating func release(from flight: Flight, at now: MonotonicInstant) -> [Passenger] {
        let isOver = flight.end <= now
        if isOver { unlist(flight) }
        let leaving = flight.passengers.filter { isOver || $0.end <= now }
        for passenger in leaving {
            passenger.fate = .outOfPatience
            unseat(passenger)
        }
        return leaving
    }
}
