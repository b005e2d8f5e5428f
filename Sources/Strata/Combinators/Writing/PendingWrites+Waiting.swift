extension PendingWrites {
    /// Lets a caller wait for all writes, those among them that are being put into the cache.
    ///
    /// - Returns: Whether there are any.
    mutating func wait(_ waiter: UInt64) -> Bool {
        var count = 0
        for key in places.keys {
            for stage in [\Place.setting, \.waiting, \.underWay] { count += note(waiter, at: key, stage) }
        }
        guard count > 0 else { return false }
        waiters[waiter] = (count, nil)
        return true
    }

    /// Lets a caller wait for the write of a key that waits.
    ///
    /// - Returns: Whether there is one.
    mutating func wait(_ waiter: UInt64, for key: Key) -> Bool {
        guard note(waiter, at: key, \.waiting) > 0 else { return false }
        waiters[waiter] = (1, nil)
        return true
    }

    private mutating func note(_ waiter: UInt64, at key: Key, _ stage: WritableKeyPath<Place, Write?>) -> Int {
        guard places[key]?[keyPath: stage] != nil else { return 0 }
        places[key]?[keyPath: stage]?.waiters.insert(waiter)
        return 1
    }

    /// A caller does not wait any more.
    mutating func dismiss(_ waiter: UInt64) { waiters[waiter] = nil }

    /// A write has ended for which callers wait.
    mutating func complete(_ callers: Set<UInt64>, _ error: (any Error)?) {
        for number in callers {
            guard let (left, first) = waiters[number] else { continue }
            waiters[number] = left > 1 ? (left - 1, first ?? error) : nil
            if left == 1 { finished.append((number, first ?? error)) }
        }
    }
}
