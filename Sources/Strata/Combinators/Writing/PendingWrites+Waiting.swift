extension PendingWrites {
    /// Lets a caller wait for all writes, those among them that are being put into the cache.
    ///
    /// - Returns: Whether there are any.
    mutating func wait(_ waiter: UInt64) -> Bool { waiters.wait(waiter, upTo: next()) }

    /// Lets a caller wait for the write of a key that waits.
    ///
    /// - Returns: Whether there is one.
    mutating func wait(_ waiter: UInt64, for key: Key) -> Bool {
        guard let write = places[key]?.waiting else { return false }
        waiters.wait(waiter, for: write.number)
        return true
    }

    /// A caller no longer waits.
    mutating func dismiss(_ waiter: UInt64) {
        if let error = waiters.dismiss(waiter) { gone.errors.append(error) }
    }
}
