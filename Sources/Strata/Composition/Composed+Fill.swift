extension Composed {
    /// A ticket of the upper level's own gate, to be taken before anything is asked; ``Ticket/none`` where it has none.
    func heardTicket(_ key: Key) -> Ticket {
        upper.gate?.ticket(for: upper.fingerprint(of: key)) ?? .none
    }

    /// The upper level's entry, marked when it cannot be relied on, `nil` when it is void.
    ///
    /// A ticket means something to the gate that has issued it and nothing to any other. So one that the upper level hands
    /// out by itself says nothing here, and the entry leaves with one of the gate that levels above go by.
    func judged(_ entry: Entry<Value>, _ key: Key, _ heard: Ticket, at now: MonotonicInstant) -> Entry<Value>? {
        let ticket = ledger.map { $0.ticket(of: key) ?? .none } ?? entry.ticket
        guard fillGate.isLive(ticket) else { return nil }
        var entry = entry
        entry.isSuspect = entry.isSuspect || !fillGate.admits(ticket, at: now)
        entry.ticket =
            switch hearing {
            case .neither: entry.ticket == .void ? .void : .none
            case .upper: entry.ticket == .none ? heard : entry.ticket
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
    ///   - ticket: Taken from the fill gate before the lower level was asked.
    ///   - heard: Taken from the upper level's own gate before anything was asked.
    ///   - start: When the lower level was asked.
    /// - Returns: The entry with a ticket for the levels above.
    func filling(
        _ below: Entry<Value>,
        for key: Key,
        _ ticket: Ticket,
        _ heard: Ticket,
        askedAt start: MonotonicInstant
    ) async -> Entry<Value> {
        var entry = below
        // A level without a gate may hand out a ticket that another composition has given it.
        if entry.ticket == .none || lower.gate == nil && entry.ticket != .void { entry.ticket = ticket }
        var kept: Ticket?
        if fillGate.isLive(entry.ticket), !entry.isSuspect, upper.gate?.isLive(heard) != false {
            do { kept = try await keep(entry, for: key, askedAt: start) } catch { failures.add() }
        }
        switch hearing {
        case .neither: entry.ticket = below.ticket == .void ? .void : .none
        case .upper: entry.ticket = entry.ticket == .void ? .void : kept ?? heard
        case .lower: break
        case .both: entry.ticket = .void
        }
        return entry
    }

    /// Stores an entry above while its ticket lives, and removes the key when it does not.
    ///
    /// - Returns: The upper level's own ticket for what it keeps now.
    func keep(_ entry: Entry<Value>, for key: Key, askedAt start: MonotonicInstant) async throws -> Ticket? {
        var entry = entry
        if entry.ticket.isTimed {
            entry.freshUntil = min(entry.freshUntil, start.advanced(by: fillGate.deafLifetime))
        }
        guard let ledger else {
            guard fillGate.isLive(entry.ticket) else {
                try await upper.remove(key)
                return .void
            }
            return try await upper.commit(entry, for: key)
        }
        let (heard, displaced) = try await ledger.exclusively(key) { () async throws -> (Ticket?, Key?) in
            guard fillGate.isLive(entry.ticket) else {
                try await upper.remove(key)
                return (.void, nil)
            }
            let displaced = ledger.record(entry.ticket, for: key)
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
