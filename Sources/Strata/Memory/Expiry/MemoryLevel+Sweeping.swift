extension MemoryLevel: BackgroundJob {
    /// Takes out everything whose time is over, some hundred entries at a time.
    ///
    /// - Returns: When there will be more to do.
    package func sweep(at now: MonotonicInstant) -> MonotonicInstant {
        while true {
            var departures = Departures()
            let next = writer.withLock { writer in
                writer.expire(at: now, most: 256, readers, &departures)
                writer.state.check()
                let next = writer.state.nextLook
                // Said under the lock: whoever schedules something earlier from now on asks the housekeeper to come.
                writer.state.visit = next
                publishNextLook(&writer)
                return MonotonicInstant(nanoseconds: next)
            }
            departures.tell(onRemoval)
            if now < next { return next }
        }
    }

    func runDue(at now: MonotonicInstant) -> MonotonicInstant { sweep(at: now) }

    /// Lets the housekeeper come when the wheel has something to do.
    @usableFromInline
    func callHousekeeper(at next: Int64) {
        Housekeeper.shared.come(to: self, at: MonotonicInstant(nanoseconds: next))
    }
}
