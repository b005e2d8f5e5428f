// The lowest level that keeps entries has the truth: it is read past everything above, and compares when it stores. The
// levels above it are then told as by a set. Above a source the upper level has the truth, as far as the composition's
// own tickets and seals have not voided it.
extension Composed: AtomicLevel where Lower: AtomicLevel {
    /// The lower level's entry; the upper one's, where the lower one is a source.
    ///
    /// - Throws: What that level throws.
    public func current(_ key: Key) async throws -> CurrentEntry<Value>? {
        let tagChanges = fillGate.tagChanges
        let fingerprint = lower.fingerprint(of: key)
        let ticket = fillGate.ticket(for: fingerprint)
        if var found = try await lower.current(key) {
            found.mark.notes.append(ChangeNote(tagChanges: tagChanges, ticket: ticket, isAbove: false))
            return found
        }
        guard let ledger else { return try await currentAbove(key, tagChanges, ticket, fingerprint) }
        // Between a change and its new ticket the entry would look void.
        return try await ledger.exclusively(key) {
            try await currentAbove(key, tagChanges, fillGate.ticket(for: fingerprint), fingerprint)
        }
    }

    /// What the upper level has, unless it is void.
    private func currentAbove(
        _ key: Key,
        _ tagChanges: UInt64,
        _ ticket: Ticket,
        _ fingerprint: UInt64
    ) async throws -> CurrentEntry<Value>? {
        let heard = heardTicket(key)
        guard let upper = upper as? any AtomicLevel<Key, Value>, var found = try await upper.current(key) else {
            return nil
        }
        found.entry = found.entry.flatMap { judged($0, key, heard, at: .now) }
        found.mark.notes.append(ChangeNote(tagChanges: tagChanges, ticket: ticket, isAbove: true))
        if ledger == nil {
            // A renewal that fails voids the key, and with it the value of an update whose ticket came after this one.
            found.mark.renewal = { [fillGate] in
                fillGate.isLive(ticket) ? fillGate.renew(ticket, for: fingerprint) : nil
            }
        }
        return found
    }

    /// Changes the level that was read, and then keeps the entry above it.
    ///
    /// A failure of the upper level does not fail the change: it counts as a failed fill, and that level's entry is
    /// void.
    ///
    /// - Throws: What the level that was read throws.
    public func exchange(_ entry: Entry<Value>?, for key: Key, if mark: ChangeMark) async throws -> Ticket? {
        var mark = mark
        guard let note = mark.notes.popLast() else { throw CacheError.notUpdatable }
        let heard =
            note.isAbove
            ? try await exchangeAbove(entry, key, mark, note) : try await exchangeBelow(entry, key, mark, note)
        return entry == nil && hearing != .neither ? .void : heard
    }

    /// Changes the lower level, and drops the entry above; above a source, changes the upper one.
    ///
    /// - Throws: What the level that has the entry throws.
    public func changeLifetime(of key: Key, _ change: LifetimeChange) async throws -> Bool? {
        let fingerprint = lower.fingerprint(of: key)
        let answer: Bool?
        do {
            answer = try await lower.changeLifetime(of: key, change)
        } catch {
            // It may have been changed nevertheless.
            if !CacheError.isConflict(error) { fillGate.void(fingerprint, because: .replaced) }
            throw error
        }
        guard let answer else { return try await exchangeLifetime(of: key, change) }
        guard answer else { return false }
        fillGate.void(fingerprint, because: .replaced)
        do {
            try await removeAbove(key)
        } catch {
            failures.fill(error, of: upper)
        }
        return true
    }

    /// Settles the write in the lower level, and drops the entry above where the key is gone; above a source, asks the
    /// upper level.
    ///
    /// - Throws: What the level that has the entry throws.
    public func settle(_ key: Key, _ write: LateWrite) async throws -> LateWrite.Standing? {
        let fingerprint = lower.fingerprint(of: key)
        let standing: LateWrite.Standing?
        do {
            standing = try await lower.settle(key, write)
        } catch {
            if write.step != .looks { fillGate.void(fingerprint) }
            throw error
        }
        guard let standing else { return try await settleAbove(key, write, fingerprint) }
        guard standing == .gone, write.step != .looks else { return standing }
        fillGate.void(fingerprint)
        try await removeAbove(key)
        return standing
    }

    private func settleAbove(
        _ key: Key,
        _ write: LateWrite,
        _ fingerprint: UInt64
    ) async throws -> LateWrite.Standing? {
        guard let upper = upper as? any AtomicLevel<Key, Value> else { return nil }
        func settle() async throws -> LateWrite.Standing? {
            let standing = try await upper.settle(key, write)
            if standing == .gone, write.step != .looks {
                fillGate.void(fingerprint)
                ledger?.forget(key)
            }
            return standing
        }
        guard let ledger, write.step != .looks else { return try await settle() }
        return try await ledger.exclusively(key) { try await settle() }
    }

    /// Changes the lower level.
    private func exchangeBelow(
        _ entry: Entry<Value>?,
        _ key: Key,
        _ mark: ChangeMark,
        _ note: ChangeNote
    ) async throws -> Ticket? {
        let start = time.now
        let fingerprint = lower.fingerprint(of: key)
        let before = fillGate.ticket(for: fingerprint)
        let told: Ticket?
        do {
            told = try await lower.exchange(entry, for: key, if: mark)
        } catch {
            // It may have been changed nevertheless.
            if !CacheError.isConflict(error) {
                fillGate.void(fingerprint, because: entry == nil ? .removed : .replaced)
            }
            throw error
        }
        var heard: Ticket?
        var ticket = Ticket.void
        do {
            if var kept = entry.map({ dated($0.bearing(lower), for: key, at: start) }) {
                kept.asOf = 0
                if lower.gate != nil, upper.gate != nil { kept.hasNewVersion = false }
                kept.seal = fillGate.seal(kept.tags)
                // Invalidated since the key was read: void below, too.
                let isInTime = kept.tags.isEmpty || fillGate.tagChanges == note.tagChanges
                if isInTime { ticket = told ?? fillGate.renew(before, for: fingerprint) ?? .void }
                kept.ticket = ticket
                heard = try await keep(kept, for: key, askedAt: start)
            } else {
                fillGate.void(fingerprint)
                try await removeAbove(key)
            }
        } catch {
            failures.fill(error, of: upper)
            fillGate.void(fingerprint)
            (heard, ticket) = (.void, .void)
        }
        return switch hearing {
        case .neither: nil
        case .upper: heard ?? .void
        case .lower: ticket
        case .both: .void
        }
    }

    /// Changes the upper level, since nothing below keeps entries.
    private func exchangeAbove(
        _ entry: Entry<Value>?,
        _ key: Key,
        _ mark: ChangeMark,
        _ note: ChangeNote
    ) async throws -> Ticket? {
        guard let upper = upper as? any AtomicLevel<Key, Value> else { throw CacheError.notUpdatable }
        let fingerprint = lower.fingerprint(of: key)
        var kept = entry.map { dated($0.bearing(lower), for: key, at: time.now) }
        if let tags = kept?.tags, !tags.isEmpty {
            kept?.seal = fillGate.seal(tags)
            guard fillGate.tagChanges == note.tagChanges else { throw CacheError.conflict }
        }
        guard let ledger else {
            // The level asks for the ticket when it stores.
            let heard = try await upper.exchange(kept, for: key, if: mark)
            if entry == nil { fillGate.void(fingerprint) }
            await tell(kept, key)
            return heard
        }
        let (heard, forgotten) = try await ledger.exclusively(key) {
            () async throws -> (Ticket?, FillLedger<Key>.Forgotten?) in
            guard fillGate.isLive(note.ticket) else { throw CacheError.conflict }
            let heard = try await upper.exchange(kept, for: key, if: mark)
            // After: a conflict must not void what another process has stored.
            guard kept != nil, let ticket = fillGate.renew(note.ticket, for: fingerprint) else {
                fillGate.void(fingerprint)
                ledger.forget(key)
                return (heard, nil)
            }
            return (heard, ledger.record(ticket, kept?.seal, for: key))
        }
        try? await removeVoid(forgotten)
        await tell(kept, key)
        return heard
    }

    /// Tells the source of a change as of a set or a removal: later reads do not join its running fetch.
    private func tell(_ entry: Entry<Value>?, _ key: Key) async {
        if let entry { _ = try? await lower.commit(entry, for: key) } else { try? await lower.remove(key) }
    }
}
