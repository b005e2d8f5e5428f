extension Composed {
    /// Notes the state of the gates before any level is asked.
    func heardTicket(_ key: Key) -> Asked {
        let gate = upper.gate
        let fingerprint = gate == nil ? 0 : upper.fingerprint(of: key)
        var asked = Asked(
            ticket: gate?.ticket(for: fingerprint) ?? .none,
            tagChanges: fillGate.tagChanges,
            tagChangesAbove: gate?.tagChanges,
            fingerprint: fingerprint
        )
        if let ledger {
            if let fill = ledger.fill(of: key) {
                (asked.filled, asked.filledSeal) = (fill.ticket, fill.seal)
            } else {
                asked.isUnconfirmed = fillGate.isFed
            }
        }
        return asked
    }

    /// Notes the same for several keys.
    func heardTickets(_ keys: [Key]) -> [Asked] {
        guard upper.gate == nil, ledger == nil, let first = keys.first else { return keys.map { heardTicket($0) } }
        // Nothing in it depends on the key.
        return Array(repeating: heardTicket(first), count: keys.count)
    }

    /// The upper level's entry, marked when it is suspect; `nil` when it is void.
    ///
    /// A ticket is good for the gate that issued it, and for no other. So the upper level's own ticket has no meaning
    /// here, and the entry leaves with a ticket of the gate that the levels above go by.
    func judged(_ entry: Entry<Value>, _ key: Key, _ heard: Asked, at now: MonotonicInstant) -> Entry<Value>? {
        let ticket = ledger == nil ? entry.ticket : heard.filled
        let seal = entry.seal ?? heard.filledSeal
        guard fillGate.isLive(ticket), seal?.isLive != false else { return nil }
        var entry = entry
        entry.seal = seal
        // A level that outlives its process keeps no more of a lifetime than its ends.
        if ledger != nil, entry.revalidateUntil == .distantPast, let policy = lower.policy {
            policy.complete(&entry)
        }
        entry.isSuspect = entry.isSuspect || heard.isUnconfirmed || !fillGate.admits(ticket, at: now)
        entry.ticket =
            switch hearing {
            case .neither: entry.ticket == .void ? .void : .none
            case .upper: entry.ticket == .none ? heard.ticket : entry.ticket
            case .lower: ticket
            case .both: .void
            }
        return entry
    }

    /// Fills the upper level with the lower's entry, unless its key has changed since.
    ///
    /// A failure does not fail the read.
    ///
    /// - Parameters:
    ///   - below: The lower level's entry.
    ///   - key: Its key.
    ///   - ticket: Taken from the fill gate before the lower level was asked, for an entry that has none.
    ///   - heard: Taken before anything was asked.
    ///   - request: The read.
    ///   - start: When the lower level was asked, by the levels' clock.
    /// - Returns: The entry with a ticket for the levels above.
    func filling(
        _ below: Entry<Value>,
        for key: Key,
        _ ticket: Ticket,
        _ heard: Asked,
        _ request: ReadRequest,
        askedAt start: MonotonicInstant
    ) async -> Entry<Value> {
        var entry = below
        if entry.freshUntil == .distantFuture, let policy = lower.policy ?? upper.policy {
            // The levels above keep it for as long as the upper one does.
            entry = policy.stamping(entry, fingerprint: lower.fingerprint(of: key), at: time.now)
        }
        entry.filling = fillGate
        // A level without a gate may return a ticket that another composition gave it.
        if entry.ticket == .none || lower.gate == nil && entry.ticket != .void { entry.ticket = ticket }
        var kept: Ticket?
        let isSealed = seal(&entry, heard)
        if !isSealed { entry.ticket = .void }
        let isWanted = !entry.isSuspect && !request.leavesUnfilled(upper)
        let begin = request.recorder == nil ? .distantPast : MonotonicInstant.now
        if isWanted, fillGate.isLive(entry.ticket), upper.gate?.isLive(heard.ticket) != false {
            if ledger == nil {
                // Memory: at once, and without a call more.
                do {
                    kept = try await keep(entry, for: key, askedAt: start)
                    let refusal = kept == .void ? refusal(of: entry, key, isSealed: true) : nil
                    filled(refusal, key, request, since: begin)
                } catch {
                    failures.fill(error, of: upper)
                    notFilled(error, key, request, since: begin)
                }
            } else {
                // Not before: the returned entry must not hold them.
                entry.rights = heard.rights
                if upper.gate != nil { entry = entry.withNewVersion() }
                kept = await fill(entry, for: key, request, askedAt: start)
                entry.rights = nil
                entry.hasNewVersion = false
            }
        } else {
            let isLeftOut = request.leavesUnfilled(upper)
            filled(isLeftOut ? .skipped : refusal(of: entry, key, isSealed: isSealed), key, request, since: begin)
        }
        // In any case, older entries are void from here on. A level that is filled next still needs its old entry, and
        // commits the ticket itself, if it gets it.
        if !(request.fillsAbove && hearing == .lower) { fillGate.commit(entry.ticket, for: lower.fingerprint(of: key)) }
        entry.filling = nil
        switch hearing {
        case .neither: entry.ticket = below.ticket == .void || !isSealed ? .void : .none
        // An entry that was changed here since it was asked for is no better for levels above.
        case .upper: entry.ticket = fillGate.isLive(entry.ticket) ? kept ?? heard.ticket : .void
        case .lower: break
        case .both: entry.ticket = .void
        }
        return entry
    }

    /// The entries that a batch has found below for the keys at some places, with tickets for those that have none.
    struct Below: Sendable {
        let entries: [Entry<Value>?]
        let tickets: [Ticket]
        let places: [Int]

        /// The same without the entries at some places.
        func without(_ numbers: Set<Int>) -> Below {
            guard !numbers.isEmpty else { return self }
            let rest = places.indices.filter { !numbers.contains($0) }
            return Below(
                entries: rest.map { entries[$0] },
                tickets: rest.map { tickets[$0] },
                places: rest.map { places[$0] }
            )
        }
    }

    /// Fills the upper level with what a batch has found below: memory key by key, another level up to 64 keys at a
    /// time.
    ///
    /// - Parameters:
    ///   - entries: Those of the batch; the ones at the places of `below` are replaced.
    ///   - below: What was found.
    ///   - keys: The keys of the batch.
    ///   - heard: Taken before anything was asked.
    ///   - request: The read.
    ///   - start: When the lower level was asked, by the levels' clock.
    func fill(
        _ entries: inout [Entry<Value>?],
        with below: Below,
        of keys: [Key],
        _ heard: [Asked],
        _ request: ReadRequest,
        askedAt start: MonotonicInstant
    ) async {
        @Sendable func filled(_ number: Int) async -> Entry<Value>? {
            guard let entry = below.entries[number] else { return nil }
            let place = below.places[number]
            let (key, ticket) = (keys[place], below.tickets[number])
            // A request is copied only where a record needs it.
            guard request.recorder != nil else {
                return await filling(entry, for: key, ticket, heard[place], request, askedAt: start)
            }
            return await filling(entry, for: key, ticket, heard[place], request.of(key), askedAt: start)
        }
        guard ledger != nil, below.places.count > 1 else {
            for (number, place) in below.places.enumerated() { entries[place] = await filled(number) }
            return
        }
        await withTaskGroup(of: (Int, Entry<Value>?).self) { group in
            for number in below.places.indices {
                if number >= 64, let (number, entry) = await group.next() { entries[below.places[number]] = entry }
                group.addTask { (number, await filled(number)) }
            }
            for await (number, entry) in group { entries[below.places[number]] = entry }
        }
    }

    /// Fills a level that is not memory: the read waits up to its limit, then the fill goes on in the background.
    ///
    /// - Returns: The upper level's own ticket for the entry, if it is known by then.
    private func fill(
        _ entry: Entry<Value>,
        for key: Key,
        _ request: ReadRequest,
        askedAt start: MonotonicInstant
    ) async -> Ticket? {
        let begin = request.recorder == nil ? .distantPast : MonotonicInstant.now
        let outcome = await fills.run { [self] in
            do {
                return try await keep(entry, for: key, askedAt: start)
            } catch {
                failures.fill(error, of: upper)
                throw error
            }
        }
        switch outcome {
        case .done(let kept):
            let refusal = entry.rights?.refusal ?? (kept == .void ? refusal(of: entry, key, isSealed: true) : nil)
            filled(refusal, key, request, since: begin)
            return kept
        case .failed(let error): notFilled(error, key, request, since: begin)
        case .late:
            failures.lateFills.add()
            let origin = upper.origin ?? EntryOrigin(upper.label.kind)
            request.recorder?.step(.filling, at: origin, from: begin, to: .now)
        case .refused:
            let error = CacheError(code: .timeout, message: "too many fills of the level are still running")
            failures.fill(error, of: upper)
            notFilled(error, key, request, since: begin)
        }
        return nil
    }

    /// Fills the upper level with the result of a read that this caller joined.
    @usableFromInline
    func fill(_ key: Key, _ joined: Joined<Value>, _ tagChanges: UInt64, askedAt start: MonotonicInstant) async {
        guard let entry = joined.entry else { return }
        let heard = Asked(ticket: .none, tagChanges: tagChanges, tagChangesAbove: nil)
        _ = await filling(entry, for: key, .void, heard, ReadRequest(), askedAt: start)
    }

    /// Seals an entry without a seal, and gives it a number for an upper level that numbers its invalidations.
    ///
    /// - Returns: Whether it may be kept; false when a tag was invalidated while it was on its way.
    private func seal(_ entry: inout Entry<Value>, _ heard: Asked) -> Bool {
        if upper.gate != nil { entry.asOf = heard.asOf }
        guard !entry.tags.isEmpty else { return true }
        var isInTime = true
        if entry.seal == nil {
            entry.seal = fillGate.seal(entry.tags)
            isInTime = fillGate.tagChanges == heard.tagChanges
        }
        if let gate = upper.gate {
            // The levels above go by this gate, or by both.
            entry.seal = .joining([entry.seal, gate.seal(entry.tags)])
            isInTime = isInTime && gate.tagChanges == heard.tagChangesAbove
        }
        return isInTime && entry.seal?.isLive != false
    }

    /// Stores an entry above while its ticket lives, and removes the key when it does not.
    ///
    /// - Returns: The upper level's own ticket for the entry.
    func keep(_ entry: Entry<Value>, for key: Key, askedAt start: MonotonicInstant) async throws -> Ticket? {
        var entry = entry
        if entry.isFill { entry.filling = fillGate }
        if entry.ticket.isTimed {
            entry.shorten(to: start.advanced(by: fillGate.untrustedLifetime))
        }
        guard let ledger else {
            guard fillGate.isLive(entry.ticket), entry.seal?.isLive != false else {
                // The entry there is void as well, or was set meanwhile.
                if !entry.isFill { try await refuse(entry, for: key) }
                return .void
            }
            let heard = try await upper.commit(entry, for: key)
            return fillGate.isLive(entry.ticket) ? heard : .void
        }
        var forgotten: [FillLedger<Key>.Forgotten?] = []
        let heard = await Result {
            try await ledger.exclusively(key) { () async throws -> Ticket? in
                guard fillGate.isLive(entry.ticket), entry.seal?.isLive != false else {
                    // An entry that was set or changed meanwhile stays.
                    if !isKnown(key, in: ledger) { try await refuse(entry, for: key) }
                    return .void
                }
                // Of the callers that have joined one read, only the first has to store the entry, even if it fails to.
                let end = entry.isFill ? entry.freshUntil : nil
                if isShared(entry), end != .distantFuture, ledger.fill(of: key)?.tried == end { return nil }
                // Until it is stored, and when that fails, the level may have what it had before: the new ticket says
                // nothing about that entry. The old one does, while it lives.
                if isKnown(key, in: ledger) {
                    ledger.tries(end, for: key)
                } else {
                    forgotten.append(ledger.record(.void, nil, end, for: key))
                }
                let heard: Ticket?
                do { heard = try await upper.commit(entry, for: key) } catch {
                    // A later change by others must not be taken for the earlier entry.
                    if upper.gate != nil { forgotten.append(ledger.record(entry.ticket, entry.seal, for: key)) }
                    throw error
                }
                guard fillGate.isLive(entry.ticket), entry.seal?.isLive != false else {
                    // A tag, or everything, was invalidated while it was being stored. The level may have been told
                    // before, and then still has it, also for callers that do not know of this.
                    let other = ledger.record(.void, nil, for: key)
                    forgotten.append(other)
                    try await upper.remove(key)
                    ledger.forget(key)
                    return .void
                }
                forgotten.append(ledger.record(entry.ticket, entry.seal, end, for: key))
                return heard
            }
        }
        for other in forgotten { try await removeVoid(other) }
        return try heard.get()
    }

    /// Whether other callers that have joined the same read fill the level with the same entry.
    ///
    /// A level that hears of changes made elsewhere may have another entry by then, and each caller has to ask it.
    private func isShared(_ entry: Entry<Value>) -> Bool { entry.isJoined && entry.isFill && upper.gate == nil }

    /// Removes an entry that the upper level may not keep.
    ///
    /// A level that writes a source still gets what a user has set.
    private func refuse(_ entry: Entry<Value>, for key: Key) async throws {
        guard !entry.isFill, let value = entry.value else { return try await upper.remove(key) }
        try await UncachedWrite.$value.withValue(value) { try await upper.remove(key) }
    }

    /// Whether the upper level has an entry of a key that nothing has voided.
    private func isKnown(_ key: Key, in ledger: FillLedger<Key>) -> Bool {
        ledger.fill(of: key).map(isLive) ?? false
    }

    private func isLive(_ fill: FillLedger<Key>.Fill) -> Bool {
        fillGate.isLive(fill.ticket) && fill.seal?.isLive != false
    }

    /// Removes entries above that are void but no longer known to be.
    ///
    /// An entry that is not void stays: without a record the level below confirms it where others could change it, and
    /// no level has to where they could not.
    func removeVoid(_ forgotten: FillLedger<Key>.Forgotten?) async throws {
        guard let forgotten, !isLive(forgotten.fill) else { return }
        // The write under way is another key's.
        try await UncachedWrite.$value.withValue(nil) { try await removeAbove(forgotten.key) }
    }

    func removeAbove(_ key: Key) async throws {
        guard let ledger else { return try await upper.remove(key) }
        // An entry that cannot be removed is void, wherever it comes from.
        let forgotten = try await ledger.exclusively(key) {
            let forgotten = ledger.record(.void, nil, for: key)
            try await upper.remove(key)
            ledger.forget(key)
            return forgotten
        }
        try await removeVoid(forgotten)
    }
}
