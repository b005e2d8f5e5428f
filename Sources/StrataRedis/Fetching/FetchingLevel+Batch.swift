public import Strata

extension FetchingLevel {
    /// The number of keys that are read together; more are read in pieces, one after the other.
    static var pieceSize: Int { RedisLevel<Key, Value>.pieceSize }

    /// The entries of several keys: one MGET, one round of scripts for the leases of the missing keys, and one fetch of
    /// the keys whose lease this instance got, if the source takes several.
    ///
    /// The MGET answers the keys that it finds. Each other key has a flight of its own: while Redis answers, batches
    /// that overlap, and single reads, fetch no key twice. Callers that read the same keys in the same order at the
    /// same time share the MGET. Batches of more than 1 000 keys are read in pieces of that size, with limits and a
    /// budget for each.
    ///
    /// - Returns: The entries in the order of the keys; a key that is named twice is read once.
    /// - Throws: The first key's failure, unless the request leaves out failures; `CancellationError`.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        if request.rights != nil { return try await level.entries(for: keys, request) }
        let request = try request.sourced(by: self)
        if keys.count <= Self.pieceSize {
            let piece = Piece(keys, level, request)
            if piece.isDistinct { return try await readPiece(piece) }
        }
        var found: [Key: Entry<Value>?] = [:]
        var rest = keys.withoutRepetitions()[...]
        while !rest.isEmpty {
            let piece = Piece(Array(rest.prefix(Self.pieceSize)), level, request)
            rest = rest.dropFirst(Self.pieceSize)
            for (key, entry) in zip(piece.keys, try await readPiece(piece)) { found[key] = entry }
        }
        return keys.map { found[$0] ?? nil }
    }

    private func readPiece(_ piece: Piece<Key, Value>) async throws -> [Entry<Value>?] {
        guard !piece.keys.isEmpty else { return [] }
        try Task.checkCancellation()
        if level.shared.arrival.isPending { await level.linkArrives() }
        // Between the look and the flights of its keys a batch is in no other table.
        return try await flights.during { try await readEntered(piece) }
    }

    private func readEntered(_ entered: Piece<Key, Value>) async throws -> [Entry<Value>?] {
        var piece = entered
        let (keys, request) = (piece.keys, piece.request)
        var entries = [Entry<Value>?](repeating: nil, count: keys.count)
        var rest = Array(keys.indices)
        if !request.options.skipsReading.contains(.redis) {
            do {
                let look = try await look(up: piece)
                piece.look = look
                let now = time.now
                rest = rest.filter { index in
                    entries[index] = served(index, of: piece, look, at: now)
                    return entries[index] == nil
                }
            } catch {
                guard !Task.isCancelled else { throw CancellationError() }
                let error = error is WaitLimitReached ? CacheError.late(since: piece.since, by: time) : error
                try await request.leaveOut(keys, error)
                return entries
            }
        }
        guard !rest.isEmpty else { return entries }
        let slots = source.slots(rest.count, limiter, for: request.callBatch(of: Key.self, Value.self))
        try await withThrowingTaskGroup(of: (Int, Entry<Value>?).self) { [piece] group in
            for (position, index) in rest.enumerated() {
                let slot = slots?[position]
                group.addTask {
                    (index, try await request.leavingOut(keys[index]) { try await self.read(index, of: piece, slot) })
                }
            }
            for try await (index, entry) in group { entries[index] = entry }
        }
        return entries
    }

    // MARK: What Redis has

    /// Looks the keys up, or waits for another caller that does.
    ///
    /// - Throws: ``WaitLimitReached``; `CancellationError`, also when a drain has ended the look.
    private func look(up piece: Piece<Key, Value>) async throws -> BatchLook<Key, Value> {
        let start = MonotonicInstant.now
        // The look may be shared, a record is a caller's own.
        var request = piece.request
        request.recorder = nil
        let work: @Sendable () async throws -> BatchLook<Key, Value> = { [level, names = piece.names, request] in
            try await BatchLook(level, names, request)
        }
        var look: BatchLook<Key, Value>
        if request.isShareable {
            let limit = level.freshness.waitLimit(request).shortened(by: piece.begin.duration(to: time.now))
            let joined = try await looks.join(piece.keys, limit: limit) { _ in try await work() }
            look = joined.output
            if joined.role == .joined { look.joined(at: start, level.shared.gate) }
        } else {
            look = try await work()
        }
        if let recorder = piece.request.recorder, !recorder.isOfSeveral {
            recorder.step(look.isComplete ? .hit : .miss, at: .redis, from: start, to: .now)
        }
        return look
    }

    /// The entry of a key, when the MGET has one that the read is served; begins its refresh where that is due.
    private func served(
        _ index: Int,
        of piece: Piece<Key, Value>,
        _ look: BatchLook<Key, Value>,
        at now: MonotonicInstant
    ) -> Entry<Value>? {
        guard case .success(.entry(let entry, let bytes))? = look.outcome(at: index, level.shared.gate) else {
            return nil
        }
        let verdict = piece.request.verdict(on: entry, at: now)
        guard verdict == .serve || verdict == .serveAndRefresh else {
            // The look has counted it, once for all who have joined.
            if !look.isJoined { level.withdrawHit(of: entry) }
            return nil
        }
        let key = piece.keys[index]
        // A read that joins has read nothing itself.
        if !look.isJoined { level.tellHit(key, piece.request) }
        guard piece.request.recorder != nil || verdict == .serveAndRefresh else {
            return look.isJoined ? entry.joined : entry
        }
        let (finding, request) = (RedisLevel<Key, Value>.Finding.entry(entry, bytes: bytes), piece.request.of(key))
        if look.isJoined {
            request.recorder?.step(.joined, at: entry.origin, from: look.startedAt, to: .now)
        } else {
            piece.note(finding, request, level, since: look.startedAt)
        }
        _ = serve(finding, by: verdict, key, piece.names[index], request)
        return look.isJoined ? entry.joined : entry
    }

    // MARK: What Redis does not have

    private func read(
        _ index: Int,
        of piece: Piece<Key, Value>,
        _ slot: Fetch<Key, Value>.Slot?
    ) async throws -> Entry<Value>? {
        let start = MonotonicInstant.now
        let (key, names) = (piece.keys[index], piece.names[index])
        let request = piece.request.of(key, in: Value.self)
        let work: @Sendable (Flight?) async throws -> Entry<Value>? = { [self] flight in
            try await level.redis.budgeted {
                try await produce(key, names, request, flight, slot, lookedAt: piece.look?.startedAt) {
                    try await finding(index, of: piece, request)
                }
            }
        }
        do {
            let limit = level.freshness.waitLimit(request).shortened(by: piece.begin.duration(to: time.now))
            guard request.isShareable else { return try await alone(request, since: start, limit: limit, work) }
            let (entry, role) = try await flights.join(
                key,
                fingerprint: names.fingerprint,
                limit: limit,
                joined: { slot?.leave() },
                work
            )
            return try received(entry, role, since: start, request.recorder)
        } catch let failure as SourceFailure {
            request.retryHint?.tell(failure.retryAfter)
            throw failure.cause
        } catch let limit as WaitLimitReached {
            request.left?.add(limit)
            throw CacheError.late(since: piece.since, by: time)
        }
    }

    /// What the MGET has found of a key; the key is read again where that may be older than a change of it.
    ///
    /// - Returns: What was found, and whether it was read again, which counts by itself.
    /// - Throws: The error of the key's own slot in a cluster, of the MGET otherwise; `CancellationError`.
    private func finding(
        _ index: Int,
        of piece: Piece<Key, Value>,
        _ request: ReadRequest
    ) async throws -> (RedisLevel<Key, Value>.Finding, isCounted: Bool) {
        if let look = piece.look { CallBudget.current?.spend(look.spent) }
        // A read that joins this flight came after it began, and it began after the look: so no tag of the value may
        // have been invalidated since the look.
        guard let look = piece.look, let outcome = look.outcome(at: index, level.shared.gate),
            (try? outcome.get().entry)?.tags.isEmpty != false || look.tagChanges == level.shared.gate.tagChanges
        else {
            let names = piece.names[index]
            return (try await level.redis.inTurn(for: names.value) { try await level.look(up: names, request) }, true)
        }
        let finding = try outcome.get()
        piece.note(finding, request, level, since: look.startedAt)
        return (finding, false)
    }
}

/// Keys that are read together.
private struct Piece<Key: KeyRepresentable, Value: Sendable>: Sendable {
    let keys: [Key]
    let names: [KeyNames]
    let request: ReadRequest
    /// When its read began, by the running time and by the clock that limits are counted by.
    let since, begin: MonotonicInstant
    /// What the MGET has found; `nil` for a read that leaves Redis out.
    var look: BatchLook<Key, Value>?

    init(_ keys: [Key], _ level: RedisLevel<Key, Value>, _ request: ReadRequest) {
        (self.keys, self.request) = (keys, request)
        (since, begin) = (level.redis.clock.running, level.redis.clock.now)
        names = keys.map { level.names(for: $0) }
    }

    /// Whether no key is named twice, as far as names tell: those of different keys may be equal.
    var isDistinct: Bool { Set(names.map(\.fingerprint)).count == names.count }

    /// Takes down what was found of a key that has a record of its own; where keys have none, the MGET has one.
    func note(
        _ finding: RedisLevel<Key, Value>.Finding,
        _ single: ReadRequest,
        _ level: RedisLevel<Key, Value>,
        since start: MonotonicInstant
    ) {
        if request.recorder?.isOfSeveral == true { level.note(finding, single.recorder, since: start) }
    }
}

/// What one MGET has found, with the rights to keep it.
struct BatchLook<Key: KeyRepresentable, Value: Sendable>: Sendable {
    /// Taken before Redis was asked, as are the next two.
    private var tickets: [Ticket?]
    let tagChanges: UInt64
    let startedAt = MonotonicInstant.now
    private let outcomes: [RedisLevel<Key, Value>.Outcome]
    /// How long Redis was waited for, in nanoseconds.
    let spent: Int64
    /// Whether another caller has asked.
    private(set) var isJoined = false

    /// Asks Redis.
    ///
    /// - Throws: `CancellationError`; a failure of Redis is the outcome of each key.
    init(_ level: RedisLevel<Key, Value>, _ names: [KeyNames], _ request: ReadRequest) async throws {
        tagChanges = level.shared.gate.tagChanges
        let tickets = names.map { level.shared.ticket(for: $0.fingerprint) }
        self.tickets = tickets
        do {
            outcomes = try await level.redis.budgeted { try await level.look(up: names, tickets, request) }
        } catch let error as RedisError {
            outcomes = Array(repeating: .failure(error), count: names.count)
        }
        spent = startedAt.nanoseconds(to: .now)
    }

    /// Forgets what a caller must not get that has come later than Redis was asked.
    mutating func joined(at now: MonotonicInstant, _ gate: FillGate) {
        isJoined = true
        tickets = tickets.map { ticket in
            ticket.flatMap { gate.lets($0, from: startedAt, joinAt: now) ? $0 : nil }
        }
    }

    /// Whether all keys were found.
    var isComplete: Bool { outcomes.allSatisfy { (try? $0.get())?.entry != nil } }

    /// The outcome of a key; `nil` if it may be older than a change of the key.
    func outcome(at index: Int, _ gate: FillGate) -> RedisLevel<Key, Value>.Outcome? {
        if case .failure = outcomes[index] { return outcomes[index] }
        guard let ticket = tickets[index], gate.isLive(ticket) else { return nil }
        return outcomes[index]
    }
}
