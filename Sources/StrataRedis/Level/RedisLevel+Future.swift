internal import Strata

extension RedisLevel {
    /// How far the clocks of a cluster's nodes, and readings of them, may differ.
    private static var tolerance: Duration { .seconds(2) }

    /// Whether a value has not ended, and was not stored in the future.
    ///
    /// The server's clock was set back since, or another server is the primary whose clock is behind: the value would live for
    /// longer than its lifetime. One that is fresh without end outlives none.
    func isInTime(_ entry: Entry<some Sendable>) -> Bool {
        let now = redis.clock.now
        guard now < entry.staleUntil else { return false }
        return entry.storedAt <= now.advanced(by: Self.tolerance)
            || entry.freshUntil >= now.advanced(by: EntryLifetime.longest / 2)
    }

    /// Whether what was found is no value because it was stored in the future.
    func isAhead(_ found: Finding, _ bytes: [UInt8], _ offset: Int64) -> Bool {
        guard case .void(_, because: .expired) = found, let header = EnvelopeHeader(bytes) else { return false }
        let storedAt = MonotonicInstant(serverMilliseconds: header.storedAt, offset: offset)
        return storedAt > redis.clock.now.advanced(by: Self.tolerance)
    }
}
