internal import Strata

extension RedisLevel {
    /// How far the clocks of a cluster's nodes, and readings of them, may differ.
    private static var tolerance: Duration { .seconds(2) }

    /// Whether a value has not ended, and was not stored in the future.
    ///
    /// The server's clock was set back since, or another server is the primary whose clock is behind: the value would
    /// live for longer than its lifetime. One that is fresh without end outlives none.
    func isInTime(_ entry: Entry<some Sendable>) -> Bool {
        let now = redis.clock.now
        guard now < entry.staleUntil else { return false }
        return entry.storedAt <= now.advanced(by: Self.tolerance)
            || entry.freshUntil >= now.advanced(by: EntryLifetime.longest / 2)
    }

    /// The server's clock for a value that was stored at a time of it: read anew where that seems to be in the future,
    /// for the clock may have been set forward, or another server be the primary, since it was read.
    ///
    /// One round trip a second at most, for values from the future.
    func offset(of storedAt: Int64?, _ names: KeyNames) async throws -> Int64 {
        let clock = clock(of: names)
        let offset = try await clock.offset()
        guard let storedAt, isAhead(storedAt, offset) else { return offset }
        return try await clock.offset(notOlderThan: .seconds(1))
    }

    private func isAhead(_ storedAt: Int64, _ offset: Int64) -> Bool {
        MonotonicInstant(serverMilliseconds: storedAt, offset: offset) > redis.clock.now.advanced(by: Self.tolerance)
    }

    /// Whether what was found is no value because it was stored in the future.
    func isAhead(_ found: Finding, _ bytes: [UInt8], _ offset: Int64) -> Bool {
        guard case .void(_, because: .expired) = found, let header = EnvelopeHeader(bytes) else { return false }
        return isAhead(header.storedAt, offset)
    }
}
