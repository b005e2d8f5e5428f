extension FlightTable: Watched {
    /// How long a cancelled flight may still count.
    private static var grace: Duration { .seconds(1) }

    /// Resumes the waiters whose limit has passed, or does soon, and ends the flights whose time is over.
    ///
    /// A flight whose waiters have left goes on if there is room for another anchored one. When the time of an anchored
    /// flight is over, later callers start anew, and the work is cancelled, unless a caller that may wait longer still
    /// waits for it.
    ///
    /// A cancelled flight counts until it ends, and a second at most: work that hangs must not hold a place for good.
    /// O(flights), and O(waiters) of those that have something due.
    func fire(at now: MonotonicInstant) -> MonotonicInstant {
        let (release, next) = state.withLock { state in
            var release = Release()
            let soon = now.advanced(by: WaitLimit.slack)
            for flight in state.flights where flight.due <= soon {
                let leaving = state.release(from: flight, at: now)
                release.waiters += leaving
                if flight.end <= now {
                    if flight.isOverdue {
                        state.remove(flight)
                        flight.end = .distantFuture
                    } else if !flight.waiters.isEmpty {
                        state.unanchor(flight)
                    } else {
                        flight.isOverdue = true
                        flight.end = now.advanced(by: Self.grace)
                        release.abandoned.append(flight)
                    }
                } else if !flight.isAnchored, !flight.hadItsTime, !leaving.isEmpty, state.anchored < anchorLimit {
                    state.anchor(flight, until: now.advanced(by: completionLimit()))
                } else if !flight.isAnchored, flight.waiters.isEmpty {
                    state.remove(flight)
                    release.abandoned.append(flight)
                }
                flight.due = flight.waiters.reduce(flight.end) { min($0, $1.end) }
            }
            release.drainers = state.takeDrainers()
            return (release, state.flights.reduce(MonotonicInstant.distantFuture) { min($0, $1.due) })
        }
        release.perform()
        return next
    }
}

extension FlightTable.State {
    /// Lets a flight go on without waiters until `end`.
    mutating func anchor(_ flight: Flight, until end: MonotonicInstant) {
        countAnchored(flight, by: 1)
        flight.isAnchored = true
        flight.end = end
        flight.due = min(flight.due, end)
    }

    /// Lets a flight go on for its waiters alone.
    mutating func unanchor(_ flight: Flight) {
        countAnchored(flight, by: -1)
        flight.isAnchored = false
        flight.hadItsTime = true
        flight.end = .distantFuture
    }

    /// Counts an anchored flight in or out.
    mutating func countAnchored(_ flight: Flight, by change: Int) {
        if flight.isLaunched { launched += change } else { unattended += change }
    }

    /// Removes the waiters whose limit has passed; closes the flight to later callers when its time is over.
    mutating func release(from flight: Flight, at now: MonotonicInstant) -> [FlightWaiter] {
        if flight.end <= now { unlist(flight) }
        let leaving = flight.waiters.filter { $0.endsWithOthersFrom <= now }
        for waiter in leaving {
            waiter.end(as: .waitLimitReached)
            dismiss(waiter)
        }
        return leaving
    }
}
