/// One level above another: ask the upper, then the lower, and fill the upper with what the lower had.
///
/// | operation | upper | lower |
/// |---|---|---|
/// | get | asked first; whatever it throws but a cancellation counts as a miss | asked on a miss; its error is the caller's |
/// | set | written after the lower, also when that failed | written first |
/// | remove, clear | told | told, also when the upper failed |
///
/// A fill is kept only if no invalidation of its key came since the lower level was asked; see ``FillGate``. So a remove
/// that has returned is never undone by a get that was under way. A fill that fails is counted and the value returned.
///
/// A level belongs to one composition. Composing is associative: `(a over b) over c` behaves as `a over (b over c)`.
public struct Composed<Upper: CacheLevel, Lower: CacheLevel>: CacheLevel
where Upper.Key == Lower.Key, Upper.Value == Lower.Value {
    /// What entries are found by.
    public typealias Key = Lower.Key
    /// What is kept.
    public typealias Value = Lower.Value

    /// The level that is asked first.
    public let upper: Upper
    /// The level that is asked when the upper one does not know.
    public let lower: Lower
    @usableFromInline
    let fillGate: FillGate
    /// Keeps the tickets of an upper level that loses them.
    @usableFromInline
    let ledger: FillLedger<Lower.Key>?
    let failures = FillFailures()

    init(upper: Upper, lower: Lower) {
        self.upper = upper
        self.lower = lower
        fillGate = lower.gate ?? FillGate()
        ledger = upper.keepsTickets ? nil : FillLedger()
    }

    /// How many fills of the upper level have failed since the start.
    public var failedFills: Int { failures.count }

    // MARK: Reading

    /// A fresh value in the upper level's memory, if nothing has voided it.
    @inlinable
    public func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>? {
        guard let resident = upper.resident(key, at: now) else { return nil }
        return fillGate.admits(ledger?.ticket(of: key) ?? resident.ticket, at: now) ? resident : nil
    }

    /// The upper level's entry if it is fresh and nothing has voided it; else the lower level's, which then fills the upper.
    ///
    /// When the lower level fails, a stale entry of the upper one is returned if it may still be served.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        var errors: [any Error] = []
        var above: Entry<Value>?
        do {
            above = try await upper.entry(for: key, request)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            errors.append(error)
        }
        let start = MonotonicInstant.now
        above = above.flatMap { judged($0, key, at: start) }
        if let above, above.isFresh(at: start), !above.isSuspect { return above }
        try Task.checkCancellation()

        let ticket = fillGate.ticket(for: lower.fingerprint(of: key))
        do {
            guard let below = try await lower.entry(for: key, request) else { return nil }
            await fill(below, for: key, ticket, askedAt: start)
            return below
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            if let above, above.isUsable(at: .now) { return above }
            throw CacheError.combining(errors + [error])
        }
    }

    /// Asks the upper level for all keys, then the lower one for those that are missing, in one call each.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        var errors: [any Error] = []
        var entries: [Entry<Value>?]
        do {
            entries = try await upper.entries(for: keys, request)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            errors.append(error)
            entries = Array(repeating: nil, count: keys.count)
        }
        let start = MonotonicInstant.now
        for index in keys.indices { entries[index] = entries[index].flatMap { judged($0, keys[index], at: start) } }
        let missing = keys.indices.filter { index in
            entries[index].map { $0.isSuspect || !$0.isFresh(at: start) } ?? true
        }
        guard !missing.isEmpty else { return entries }
        try Task.checkCancellation()

        let tickets = missing.map { fillGate.ticket(for: lower.fingerprint(of: keys[$0])) }
        do {
            let below = try await lower.entries(for: missing.map { keys[$0] }, request)
            for (position, index) in missing.enumerated() {
                entries[index] = below[position]
                if let entry = below[position] {
                    await fill(entry, for: keys[index], tickets[position], askedAt: start)
                }
            }
            return entries
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            guard missing.allSatisfy({ entries[$0]?.isUsable(at: .now) == true }) else {
                throw CacheError.combining(errors + [error])
            }
            return entries
        }
    }

    // MARK: Writing

    /// Writes both levels.
    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        _ = try await commit(entry, for: key)
    }

    /// Writes the lower level, then the upper one; both are tried.
    ///
    /// When two writes of a key overlap, the upper level keeps neither: what it holds is never older than what the lower
    /// level holds.
    ///
    /// - Throws: The error of the level that failed; ``CacheError/Code/levelsFailed`` when both did.
    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        var errors: [any Error] = []
        let start = MonotonicInstant.now
        let before = fillGate.ticket(for: lower.fingerprint(of: key))
        var ticket: Ticket?
        do {
            ticket = try await lower.commit(entry, for: key)
        } catch {
            errors.append(error)
        }
        var kept = entry
        kept.ticket = ticket ?? fillGate.renew(before) ?? .void
        do {
            try await keep(kept, for: key, askedAt: start)
        } catch {
            errors.insert(error, at: 0)
        }
        try throwAny(errors)
        return lower.gate == nil ? nil : kept.ticket
    }

    /// Removes the key from both levels; both are tried.
    ///
    /// - Throws: The error of the level that failed; ``CacheError/Code/levelsFailed`` when both did.
    public func remove(_ key: Key) async throws {
        // Before: nobody sees the old value above any more. After: nor does anybody keep what was read until now.
        fillGate.void(lower.fingerprint(of: key))
        var errors: [any Error] = []
        do { try await removeAbove(key) } catch { errors.append(error) }
        do { try await lower.remove(key) } catch { errors.append(error) }
        fillGate.void(lower.fingerprint(of: key))
        try throwAny(errors)
    }

    /// Empties both levels; both are tried.
    ///
    /// - Throws: The error of the level that failed; ``CacheError/Code/levelsFailed`` when both did.
    public func removeAll() async throws {
        fillGate.voidAll()
        var errors: [any Error] = []
        do { try await upper.removeAll() } catch { errors.append(error) }
        do { try await lower.removeAll() } catch { errors.append(error) }
        fillGate.voidAll()
        try throwAny(errors)
    }

    /// Told to both levels.
    public func relieve(_ pressure: MemoryPressure) {
        upper.relieve(pressure)
        lower.relieve(pressure)
    }

    // MARK: Coherence

    /// The lower level's, if it has one.
    public var gate: FillGate? { lower.gate }

    /// The lower level's.
    public func fingerprint(of key: Key) -> UInt64 { lower.fingerprint(of: key) }

    /// Both levels.
    public var label: LevelLabel { LevelLabel("composed", parts: [upper.label, lower.label]) }

    // MARK: Inside

    /// The upper level's entry, marked when it cannot be relied on, `nil` when it is void.
    private func judged(_ entry: Entry<Value>, _ key: Key, at now: MonotonicInstant) -> Entry<Value>? {
        let ticket = ledger?.ticket(of: key) ?? entry.ticket
        guard fillGate.isLive(ticket) else { return nil }
        var entry = entry
        entry.isSuspect = !fillGate.admits(ticket, at: now)
        return entry
    }

    /// Keeps what the lower level had, unless its key has changed since; a failure is not the caller's.
    private func fill(
        _ entry: Entry<Value>,
        for key: Key,
        _ ticket: Ticket,
        askedAt start: MonotonicInstant
    ) async {
        var entry = entry
        if entry.ticket == .none { entry.ticket = ticket }
        guard fillGate.isLive(entry.ticket), !entry.isSuspect else { return }
        do { try await keep(entry, for: key, askedAt: start) } catch { failures.add() }
    }

    /// Stores an entry above while its ticket lives, and removes the key when it does not.
    private func keep(_ entry: Entry<Value>, for key: Key, askedAt start: MonotonicInstant) async throws {
        var entry = entry
        if entry.ticket.isTimed {
            entry.freshUntil = min(entry.freshUntil, start.advanced(by: fillGate.deafLifetime))
        }
        guard let ledger else {
            guard fillGate.isLive(entry.ticket) else { return try await upper.remove(key) }
            return try await upper.store(entry, for: key)
        }
        let displaced = try await ledger.exclusively(key) { () async throws -> Key? in
            guard fillGate.isLive(entry.ticket) else {
                try await upper.remove(key)
                return nil
            }
            let displaced = ledger.record(entry.ticket, for: key)
            try await upper.store(entry, for: key)
            return displaced
        }
        if let displaced { try await removeAbove(displaced) }
    }

    private func removeAbove(_ key: Key) async throws {
        guard let ledger else { return try await upper.remove(key) }
        try await ledger.exclusively(key) {
            try await upper.remove(key)
            ledger.forget(key)
        }
    }

    private func throwAny(_ errors: [any Error]) throws {
        if errors.contains(where: { $0 is CancellationError }) { throw CancellationError() }
        if !errors.isEmpty { throw CacheError.combining(errors) }
    }
}

extension CacheLevel {
    /// This level over another one: asked first, filled by it, written with it.
    public func compose<Lower: CacheLevel>(_ lower: Lower) -> Composed<Self, Lower>
    where Lower.Key == Key, Lower.Value == Value {
        Composed(upper: self, lower: lower)
    }
}

extension Composed {
    /// Puts another level below both: `a.compose(b).compose(c)` is built as `a` over (`b` over `c`).
    public func compose<Bottom: CacheLevel>(_ bottom: Bottom) -> Composed<Upper, Composed<Lower, Bottom>>
    where Bottom.Key == Key, Bottom.Value == Value {
        Composed<Upper, Composed<Lower, Bottom>>(
            upper: upper,
            lower: Composed<Lower, Bottom>(upper: lower, lower: bottom)
        )
    }
}
