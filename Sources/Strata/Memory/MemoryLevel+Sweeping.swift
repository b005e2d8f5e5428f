extension MemoryLevel: Watched {
    /// Removes all expired entries, some hundred at a time.
    ///
    /// - Returns: When more is due.
    package func sweep(at now: MonotonicInstant) -> MonotonicInstant {
        while true {
            var departures = Departures()
            let next = writer.withLock { writer in
                writer.expire(at: now, most: 256, readers, &departures)
                writer.state.check()
                let next = writer.state.nextLook
                // Noted under the lock: from now on, an earlier entry asks the housekeeper to come.
                writer.state.visit = next
                publishNextLook(&writer)
                return MonotonicInstant(nanoseconds: next)
            }
            tell(departures)
            if now < next { return next }
        }
    }

    package func fire(at now: MonotonicInstant) -> MonotonicInstant { sweep(at: now) }

    /// Asks the housekeeper to come when the wheel has something due; on a clock that a test moves, the mover of the
    /// clock.
    @usableFromInline
    func callHousekeeper(at next: Int64) {
        let next = MonotonicInstant(nanoseconds: next)
        if let moved = time.moved { moved.call(self, at: next) } else { Housekeeper.shared.come(to: self, at: next) }
    }
}
