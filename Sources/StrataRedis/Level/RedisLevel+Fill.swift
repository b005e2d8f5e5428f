internal import Strata

// What a read has found below this level may be older than what others have written since. So it is stored as a fetched
// value is: under a lease that was taken before the level below was asked. A set or a removal ends the lease, and what
// other programs write shows in the version stamp.
extension RedisLevel {
    /// Takes the right to fill a key.
    ///
    /// One round trip; none where that is not worth it. One more without a link for a key that was not read.
    func claim(_ names: KeyNames, _ rights: FillRights) async {
        var ticket = shared.ticket(for: names.fingerprint)
        // Before anything is asked below: what is invalidated from now on voids what that answers.
        let tags = shared.tags(of: names.part)
        var asOf = tags.asOf
        var lease: FillLease?
        var hasAsked = false
        await redis.budgeted {
            if rights.isWorthAsking {
                do {
                    lease = try await leaseToFill(names, rights)
                    hasAsked = true
                    if lease != nil, asOf == 1 || rights.isUnread {
                        await tags.learn(redis, isUnread: rights.isUnread)
                        asOf = tags.asOf
                    }
                } catch {}
            }
            // Levels above may keep what is not stored here.
            if !hasAsked, !(await isTold(of: names, ticket)) { ticket = .void }
        }
        rights.add(RedisFillRight(ticket, asOf: asOf, lease), of: shared, for: names.value.bytes)
    }

    /// Takes the rights to fill several keys, pipelined; of keys with one name, which are one here, one right.
    func claim(_ keys: [Key], _ rights: FillRights) async -> [Entry<Value>?] {
        await withTaskGroup(of: Void.self) { group in
            var asked: Set<[UInt8]> = []
            for key in keys {
                let names = names(for: key)
                guard asked.insert(names.value.bytes).inserted else { continue }
                group.addTask { await self.claim(names, rights) }
            }
        }
        return Array(repeating: nil, count: keys.count)
    }

    /// The lease; `nil` when others fetch the key, or a newer release has written what lies there.
    private func leaseToFill(_ names: KeyNames, _ rights: FillRights) async throws -> FillLease? {
        // Before it is asked, so that the end of the other's lease is heard.
        let other = OtherFill(shared.waiters, names.value.bytes, redis.clock)
        let answer = try await counting {
            try await redis.inTurn(for: names.value) {
                try await Lease.readOrLead(
                    redis,
                    keyspace,
                    names,
                    duration: LeaseOptions().duration,
                    replacing: nil,
                    .beside
                )
            }
        }
        guard case .leads(let lease, _) = answer else {
            if case .waits(let remaining, _) = answer {
                let end = redis.clock.running.advanced(by: remaining + .milliseconds(Int64.random(in: 1...20)))
                rights.stand(behind: other.standing(until: end, isTold: shared.isTold(names.fingerprint)))
            }
            return nil
        }
        let held = FillLease(lease)
        rights.see(lease.replacedHeader.flatMap { EntryVersion(bytes: Envelope.stamp(of: $0)) })
        if let header = lease.replacedHeader, try await holdsNewerRelease(header, names) { return nil }
        return held
    }

    /// Stores what a read has found below this level, if its right to that stands.
    ///
    /// - Returns: A ticket by which the value may be kept above.
    /// - Throws: As ``commit(_:for:)``.
    func fill(_ entry: Entry<Value>, _ names: KeyNames, _ rights: FillRights) async throws -> Ticket? {
        guard let right = rights.take(of: shared, for: names.value.bytes) as? RedisFillRight else {
            guard !rights.isTaken(of: shared, for: names.value.bytes) else { return .void }
            counters.add(\.refusedStores)
            rights.refuse(because: .changedMeanwhile)
            return .void
        }
        guard let lease = right.lease else {
            counters.add(\.refusedStores)
            rights.refuse(because: .othersFetch)
            return right.ticket
        }
        var dated = entry
        if dated.asOf == 0 { dated.asOf = right.asOf }
        var isStored = false
        // A second attempt is refused, as it has always been.
        defer { if !isStored { rights.giveUp(of: shared, for: names.value.bytes) } }
        let outcome = try await redis.budgeted {
            try await redis.inTurn(for: names.value) { try await store(dated, names, under: lease) }
        }
        isStored = outcome == .stored
        if let refusal = outcome.refusal { rights.refuse(because: refusal) }
        switch outcome {
        case .stored:
            counters.add(\.stores)
            return shared.gate.renew(right.ticket, for: names.fingerprint) ?? .void
        case .leaseLost, .changedMeanwhile:
            counters.add(\.refusedStores)
            return .void
        case .outOfMemory:
            counters.add(\.failures)
            return right.ticket
        }
    }

    private func store(
        _ entry: Entry<Value>,
        _ names: KeyNames,
        under lease: FillLease
    ) async throws -> Lease.StoreOutcome {
        let sealed = try await seal(entry, names, fetchedSince: lease.lease.askedAt)
        shared.beginWrite(names, sealed.entry.version)
        do {
            let outcome = try await counting { try await lease.store(sealed.bytes, expiry: sealed.expiry) }
            if outcome != .stored { shared.abandonWrite(names, sealed.entry.version) }
            return outcome
        } catch {
            shared.failWrite(names, sealed.entry.version, error)
            throw error
        }
    }
}

/// The right to fill a key of a Redis level.
private final class RedisFillRight: FillRight {
    /// Taken before the lease was asked for: void when the key has changed since.
    let ticket: Ticket
    /// The number of the keyspace's invalidations at that time.
    let asOf: UInt64
    /// `nil` when it was not given: then nothing is stored.
    let lease: FillLease?

    init(_ ticket: Ticket, asOf: UInt64, _ lease: FillLease?) {
        self.ticket = ticket
        self.asOf = asOf
        self.lease = lease
    }
}

/// A lease that is held for as long as a level below is asked, and ends with this object at the latest.
private final class FillLease: Sendable {
    let lease: Lease
    private let number: UInt64
    private let isOver = Locked(false)

    init(_ lease: Lease) {
        self.lease = lease
        number = lease.redis.leases.keep(lease, upTo: LeaseOptions().renewalLimit, isToFill: true) {}
    }

    deinit {
        lease.redis.leases.giveBack(number)
        if !isOver.withLock({ $0 }) { lease.leave() }
    }

    /// Stores a value, which ends the lease.
    func store(_ bytes: [UInt8], expiry: [UInt8]) async throws -> Lease.StoreOutcome {
        let outcome = try await lease.store(bytes, expiry: expiry)
        isOver.withLock { $0 = true }
        return outcome
    }
}

/// Another instance's lease, which stands in the way of filling a key.
private final class OtherFill: FillHolder {
    private let waiters: KeyWaiters
    private let clock: CacheClock
    private let number: UInt64
    /// When the lease ends unless it is renewed, and whether its end is told.
    private let standing = Locked((until: MonotonicInstant.distantPast, isTold: false))

    /// Begins to listen for the key.
    init(_ waiters: KeyWaiters, _ name: [UInt8], _ clock: CacheClock) {
        self.waiters = waiters
        self.clock = clock
        number = waiters.enter(name)
    }

    deinit { waiters.leave(number) }

    func standing(until end: MonotonicInstant, isTold: Bool) -> OtherFill {
        standing.withLock { $0 = (end, isTold) }
        return self
    }

    func ended(by end: MonotonicInstant, pause: Duration) async throws -> Bool {
        let (leaseEnd, isTold) = standing.withLock { $0 }
        let look = clock.running.advanced(by: pause)
        _ = try await waiters.wait(number, until: min(end, isTold ? max(leaseEnd, look) : look))
        return waiters.isWoken(number)
    }
}
