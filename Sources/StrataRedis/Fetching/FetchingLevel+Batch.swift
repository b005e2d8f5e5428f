public import Strata

extension FetchingLevel {
    /// The number of keys that are read together; more are read in pieces, one after the other.
    static var pieceSize: Int { 1000 }

    /// The entries of several keys: one MGET, one round of scripts for the leases of the missing keys, and one fetch of
    /// the keys whose lease this instance got, if the source takes several.
    ///
    /// Each key has a flight of its own, so batches that overlap, and single reads, fetch no key twice. Batches of more
    /// than 1 000 keys are read in pieces of that size.
    ///
    /// - Returns: The entries in the order of the keys; a key that is named twice is read once.
    /// - Throws: The first key's failure, unless the request leaves out failures; `CancellationError`.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        if request.rights != nil { return try await level.entries(for: keys, request) }
        let request = try request.sourced(by: self)
        var found: [Key: Entry<Value>?] = [:]
        var rest = Set<Key>(keys).count == keys.count ? keys[...] : keys.withoutRepetitions()[...]
        while !rest.isEmpty {
            try Task.checkCancellation()
            let piece = Array(rest.prefix(Self.pieceSize))
            rest = rest.dropFirst(Self.pieceSize)
            for (key, entry) in zip(piece, try await readPiece(piece, request)) { found[key] = entry }
        }
        return keys.map { found[$0] ?? nil }
    }

    private func readPiece(_ keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        if level.shared.arrival.isPending { await level.linkArrives() }
        let names = keys.map { level.names(for: $0) }
        let looks = SharedLooks(level, names, request)
        let slots = source.slots(keys.count, limiter)
        return try await withThrowingTaskGroup(of: (Int, Entry<Value>?).self) { group in
            for (index, key) in keys.enumerated() {
                let (names, slot) = (names[index], slots?[index])
                group.addTask {
                    (index, try await request.leavingOut(key) { try await self.read(key, names, request, slot, looks) })
                }
            }
            var entries = [Entry<Value>?](repeating: nil, count: keys.count)
            for try await (index, entry) in group { entries[index] = entry }
            return entries
        }
    }

    private func read(
        _ key: Key,
        _ names: KeyNames,
        _ request: ReadRequest,
        _ slot: Fetch<Key, Value>.Slot?,
        _ looks: SharedLooks<Key, Value>
    ) async throws -> Entry<Value>? {
        let since = time.running
        let work: @Sendable (Flight?) async throws -> Entry<Value>? = { [self] flight in
            try await level.redis.budgeted {
                try await produce(key, names, request, flight, slot) { try await looks.finding(of: names) }
            }
        }
        do {
            guard request.isShareable else { return try await work(nil) }
            let (entry, role) = try await flights.join(
                key,
                fingerprint: names.fingerprint,
                limit: level.freshness.waitLimit(request),
                joined: { slot?.leave() },
                work
            )
            return role == .joined ? entry?.joined : entry
        } catch let failure as SourceFailure {
            request.retryHint?.tell(failure.retryAfter)
            throw failure.cause
        } catch is WaitLimitReached {
            throw CacheError.late(since: since, by: time)
        }
    }
}

/// One MGET that the flights of the keys share.
private final class SharedLooks<Key: KeyRepresentable, Value: Sendable>: Sendable {
    private let level: RedisLevel<Key, Value>
    private let shared: SharedRead<KeyNames, RedisLevel<Key, Value>.Outcome>
    private let tickets: [KeyNames: Ticket]
    private let request: ReadRequest

    init(_ level: RedisLevel<Key, Value>, _ names: [KeyNames], _ request: ReadRequest) {
        self.level = level
        self.request = request
        tickets = Dictionary(names.map { ($0, level.shared.gate.ticket(for: $0.fingerprint)) }) { first, _ in first }
        shared = SharedRead(names) { [tickets] names in
            // This task has a budget of its own; what a key waits for it is charged to the key's.
            try await level.redis.budgeted {
                try await level.look(up: names, names.map { tickets[$0] ?? .void }, request)
            }
        }
    }

    /// The MGET's value of a key; the key is read again where that may be older than a change of it.
    ///
    /// - Throws: The error of the key's own slot in a cluster, of the MGET otherwise; `CancellationError`.
    func finding(of names: KeyNames) async throws -> RedisLevel<Key, Value>.Finding {
        guard let ticket = tickets[names], level.shared.gate.isLive(ticket),
            let outcome = try await CallBudget.charge({ try await shared.output(of: names) })
        else { return try await level.look(up: names, request) }
        return try outcome.get()
    }
}

extension Array where Element: Hashable {
    /// The elements in their order, each once.
    fileprivate func withoutRepetitions() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
