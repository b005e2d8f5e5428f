public import Strata

// The checksum of an envelope covers its header and its value, so the value is read; it is neither decoded nor sent
// again.
extension RedisLevel {
    /// Gives the value in Redis another lifetime, unless it changes meanwhile.
    ///
    /// Two round trips, of which the second sends the header of the envelope; one more without a link.
    ///
    /// - Throws: As ``exchange(_:for:if:)``.
    public func changeLifetime(of key: Key, _ change: LifetimeChange) async throws -> Bool? {
        if shared.arrival.isPending { await linkArrives() }
        let names = names(for: key)
        do {
            let isChanged = try await redis.budgeted { try await changeLifetime(names, change) }
            if isChanged { void(names, because: .replaced) }
            return isChanged
        } catch {
            // The server may have done it all the same.
            if !CacheError.isConflict(error) { void(names, because: .replaced) }
            throw error
        }
    }

    private func changeLifetime(_ names: KeyNames, _ change: LifetimeChange) async throws -> Bool {
        let (finding, mark) = try await find(names) { bytes, ticket, asked in
            try await admitted(outline(bytes, names, ticket), of: names, asked)
        }
        guard case .entry(let found, let bytes) = finding else { return false }
        let clock = clock(of: names)
        let now = redis.clock.now
        let error = Duration.nanoseconds(2 * (clock.error + Self.clockDrift))
        let changed = change.applied(
            to: found,
            at: now,
            by: freshness,
            fingerprint: names.fingerprint,
            clockError: error
        )
        guard var entry = changed else { return false }
        entry.asOf = mark.asOf
        let sealed = try await reseal(bytes, entry, names, fetchedSince: nil)
        shared.changes?.begins(names.fingerprint)
        try await apply(ChangeScripts.rehead, names) { deadline in
            [sealed.bytes, sealed.expiry, Self.argument(mark.stamp), deadline, sealed.entry.version.bytes]
        }
        return true
    }

    /// The entry of some bytes but for its value; nothing where they hold none that this level could read.
    private func outline(_ bytes: [UInt8]?, _ names: KeyNames, _ ticket: Ticket) async throws -> Finding {
        guard let bytes else { return .nothing }
        let offset = try await offset(of: EnvelopeHeader(bytes)?.storedAt, names)
        let stamp = Envelope.stamp(of: bytes)
        do {
            let envelope = try Envelope(bytes, keyHash: names.keyHash)
            if envelope.kind == .value {
                do { try codec.check(EncodedValue(envelope)) } catch { throw fault(of: error, envelope) }
            }
            var entry = entry(of: envelope, .absent, ticket, clockOffset: offset)
            guard envelope.kind == .value, isInTime(entry) else {
                return .void(stamp: stamp, because: envelope.kind == .value ? .expired : .absent)
            }
            freshness.complete(&entry)
            return .entry(entry, bytes: bytes)
        } catch let fault as EnvelopeFault {
            let pending = redis.outage.replay.reach(over: names, keyspace)
            return try await standing(.unusable(fault, stamp: stamp), bytes, names, pending)
        }
    }
}
