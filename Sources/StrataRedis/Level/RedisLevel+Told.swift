internal import Strata

extension RedisLevel {
    /// Sees to it that the server tells of changes of a key, though nothing is read of it.
    ///
    /// What comes past Redis may be kept in memory. A server that tells only of what was read would not tell of its
    /// changes.
    ///
    /// One round trip where the server may tell only of what was read and the link stands; otherwise none. Called
    /// before the source is asked, within the budget of the running call.
    ///
    /// - Parameters:
    ///   - names: The names of the key.
    ///   - ticket: The ticket with which the value is to be kept.
    /// - Returns: Whether what is fetched from now on may be kept.
    func isTold(of names: KeyNames, _ ticket: Ticket) async -> Bool {
        // Without the link memory keeps what it reads for a short time. What counts is how it was when the ticket was
        // taken.
        guard redis.configuration.tracking != .broadcast, coherence == .tracking, !ticket.isTimed else { return true }
        do {
            _ = try await counting {
                try await redis.guarded(.read, for: names.value) { timeout in
                    try await redis.exists(names.value, timeout: timeout)
                }
            }
            return true
        } catch {
            return false
        }
    }
}
