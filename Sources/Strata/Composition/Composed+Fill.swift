extension Composed {
    /// What is to be taken down before anything is asked.
    func heardTicket(_ key: Key) -> Asked {
        guard let gate = upper.gate else {
            return Asked(ticket: .none, tagChanges: fillGate.tagChanges, tagChangesAbove: nil)
        }
        let fingerprint = upper.fingerprint(of: key)
        return Asked(
            ticket: gate.ticket(for: fingerprint),
            tagChanges: fillGate.tagChanges,
            tagChangesAbove: gate.tagChanges,
            fingerprint: fingerprint
        )
    }

    /// The upper level's entry, marked when it cannot be relied on, `nil` when it is void.
    ///
    /// A ticket means something to the gate that has issued it and nothing to any other. So one that the upper level hands
    /// out by itself says nothing here, and the entry leaves with one of the gate that levels above go by.
    func judged(_ entry: Entry<Value>, _ key: Key, _ heard: Asked, at now: MonotonicInstant) -> Entry<Value>? {
        let fill = ledger?.fill(of: key)
        let ticket = ledger == nil ? entry.ticket : fill?.ticket ?? .none
        let seal = entry.seal ?? fill?.seal
        guard fillGate.isLive(ticket), seal?.isLive != false else { return nil }
        var entry = entry
        entry.seal = seal
        entry.isSuspect = entry.isSuspect || !fillGate.admits(ticket, at: now)
        entry.ticket =
            switch hearing {
            case .neither: entry.ticket == .void ? .void : .none
            case .upper: entry.ticket == .none ? heard.ticket : entry.ticket
            case .lower: ticket
            case .both: .void
            }
        return entry
    }

    /// Keeps what the lower level had, unless its key has changed since; a failure is not the caller's.
    ///
    /// - Parameters:
    ///   - below: What the lower level had.
    ///   - key: Its key.
    ///   - ticket: Taken from the fill gate before the lower level was asked, for an entry that has none.
    ///   - heard: Taken before anything was asked.
    ///   - request: What was asked.
    ///   - start: When the lower level was asked.
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
        // A level without a gate may hand out a ticket that another composition has given it.
        if entry.ticket == .none || lower.gate == nil && entry.ticket != .void { entry.ticket = ticket }
        var kept: Ticket?
        let isSealed = seal(&entry, heard)
        if !isSealed { entry.ticket = .void }
        let isWanted = !entry.isSuspect && !request.leavesUnfilled(upper)
        if isWanted, fillGate.isLive(entry.ticket), upper.gate?.isLive(heard.ticket) != false {
            if ledger == nil {
                // Memory: at once, and without a call more.
                do { kept = try await keep(entry, for: key, askedAt: start) } catch { failures.fill(error, of: upper) }
            } else {
                kept = await fill(entry, for: key, request, askedAt: start)
            }
        }
        // Kept or not: what was kept before is void from here on. A level that is filled next still needs what it has, and
        // settles the ticket itself, if it gets it.
        if !(request.fillsAbove && hearing == .lower) { fillGate.settle(entry.ticket, for: lower.fingerprint(of: key)) }
        switch hearing {
        case .neither: entry.ticket = below.ticket == .void || !isSealed ? .void : .none
        case .upper: entry.ticket = entry.ticket == .void ? .void : kept ?? heard.ticket
        case .lower: break
        case .both: entry.ticket = .void
        }
        return entry
    }

    /// Keeps an entry in a level that is not memory: for as long as the read waits, and then in the background.
    ///
    /// - Returns: The upper level's own ticket for what it keeps now, if that is known by then.
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
        case .done(let kept): return kept
        case .failed(let error): request.failed(error, at: upper, since: begin)
        case .late:
            failures.lateFills.add()
            let origin = upper.origin ?? EntryOrigin(upper.label.kind)
            request.recorder?.step(.filling, at: origin, from: begin, to: .now)
        case .refused:
            let error = CacheError(code: .timeout, message: "too many fills of the level have not ended")
            failures.fill(error, of: upper)
            request.failed(error, at: upper, since: begin)
        }
        return nil
    }

    /// Keeps what a read has brought that was joined.
    @usableFromInline
    func fill(_ key: Key, _ joined: Joined<Value>, _ tagChanges: UInt64, askedAt start: MonotonicInstant) async {
        guard let entry = joined.entry else { return }
        let heard = Asked(ticket: .none, tagChanges: tagChanges, tagChangesAbove: nil)
        _ = await filling(entry, for: key, .void, heard, ReadRequest(), askedAt: start)
    }

    /// Seals an entry that no level below has sealed, and dates it for an upper level that numbers its invalidations.
    ///
    /// - Returns: Whether it may be kept: not when a tag was invalidated while it was on its way.
    private func seal(_ entry: inout Entry<Value>, _ heard: Asked) -> Bool {
        if upper.gate != nil { entry.asOf = heard.asOf }
        guard !entry.tags.isEmpty else { return true }
        var isInTime = true
        if entry.seal == nil {
            entry.seal = fillGate.seal(entry.tags)
            isInTime = fillGate.tagChanges == heard.tagChanges
        }
        if let gate = upper.gate {
            // Those above go by this gate, or by both.
            entry.seal = .joining([entry.seal, gate.seal(entry.tags)])
            isInTime = isInTime && gate.tagChanges == heard.tagChangesAbove
        }
        return isInTime && entry.seal?.isLive != false
    }

    /// Stores an entry above while its ticket lives, and removes the key when it does not.
    ///
    /// - Returns: The upper level's own ticket for what it keeps now.
    func keep(_ entry: Entry<Value>, for key: Key, askedAt start: MonotonicInstant) async throws -> Ticket? {
        var entry = entry
        if entry.ticket.isTimed {
            entry.shorten(to: start.advanced(by: fillGate.untrustedLifetime))
        }
        guard let ledger else {
            guard fillGate.isLive(entry.ticket), entry.seal?.isLive != false else {
                try await upper.remove(key)
                return .void
            }
            return try await upper.commit(entry, for: key)
        }
        let (heard, displaced) = try await ledger.exclusively(key) { () async throws -> (Ticket?, Key?) in
            guard fillGate.isLive(entry.ticket), entry.seal?.isLive != false else {
                try await upper.remove(key)
                return (.void, nil)
            }
            let displaced = ledger.record(entry.ticket, entry.seal, for: key)
            return (try await upper.commit(entry, for: key), displaced)
        }
        if let displaced { try await removeAbove(displaced) }
        return heard
    }

    func removeAbove(_ key: Key) async throws {
        guard let ledger else { return try await upper.remove(key) }
        try await ledger.exclusively(key) {
            try await upper.remove(key)
            ledger.forget(key)
        }
    }
}
