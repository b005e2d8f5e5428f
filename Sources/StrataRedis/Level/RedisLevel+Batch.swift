public import Strata

extension RedisLevel {
    /// The number of keys that are read together; more are read in pieces, one after the other.
    static var pieceSize: Int { 1000 }

    /// The entries of several keys, by one MGET, and one HMGET where tags' numbers have to be asked for.
    ///
    /// Of more than 1 000 keys each thousand is read by itself, with a budget of its own. In a cluster there is one
    /// MGET for each slot, and the failure of a node is the failure of its own keys alone.
    ///
    /// - Throws: ``RedisError``; in a cluster the error of the first key that failed, unless the request leaves out
    ///   failures. `CancellationError`.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        guard keys.count <= Self.pieceSize else {
            var (entries, rest) = ([Entry<Value>?](), keys[...])
            entries.reserveCapacity(keys.count)
            while !rest.isEmpty {
                entries += try await self.entries(for: Array(rest.prefix(Self.pieceSize)), request)
                rest = rest.dropFirst(Self.pieceSize)
            }
            return entries
        }
        if let rights = request.rights { return await claim(keys, rights) }
        guard !request.skipsReading(self) else { return request.skipped(self, for: keys) }
        if shared.arrival.isPending { await linkArrives() }
        let start = MonotonicInstant.now
        let names = keys.map { self.names(for: $0) }
        let tickets = names.map { shared.ticket(for: $0.fingerprint) }
        let found = try await redis.budgeted { try await look(up: names, tickets, request) }
        var entries: [Entry<Value>?] = []
        entries.reserveCapacity(keys.count)
        for (key, finding) in zip(keys, found) {
            note(finding, of: key, request, since: start)
            entries.append(try await request.leavingOut(key) { try finding.get().entry })
        }
        return entries
    }

    /// Takes down what was found of one of several keys, and tells those that observe the level.
    private func note(_ outcome: Outcome, of key: Key, _ request: ReadRequest, since start: MonotonicInstant) {
        switch outcome {
        case .success(let finding):
            note(finding, request.recorder?.part(of: key), since: start)
            tell(finding, key, request)
        case .failure(let error):
            request.recorder?.part(of: key)?.failed(error, at: .redis, from: start)
            tellFailure(error, key)
        }
    }

    /// What was found of one of several keys, or why that is not known.
    typealias Outcome = Result<Finding, any Error>

    /// Looks several keys up.
    ///
    /// - Returns: The outcome of each key. In a cluster some may have failed; a single server's failure is thrown.
    /// - Throws: ``RedisError``; `CancellationError`.
    func look(up names: [KeyNames], _ tickets: [Ticket], _ request: ReadRequest) async throws -> [Outcome] {
        let start = MonotonicInstant.now
        // The ticket shows a removal that comes later.
        let pending = names.map { redis.outage.replay.reach(over: $0, keyspace) }
        let outcomes: [Outcome]
        if shared.isDivided {
            let found = await look(upByParts: names, tickets, pending)
            outcomes = redis.readsReplicas ? await replacing(found, names, request) : found
            try Task.checkCancellation()
        } else {
            outcomes = try await look(upTogether: names, tickets, pending)
        }
        if request.bases != nil {
            for (name, outcome) in zip(names, outcomes) {
                if case .success(let finding) = outcome { forget(name, where: finding, request) }
            }
        }
        if let recorder = request.recorder, !recorder.isOfSeveral {
            let isComplete = outcomes.allSatisfy { (try? $0.get())?.entry != nil }
            recorder.step(isComplete ? .hit : .miss, at: .redis, from: start, to: .now)
        }
        return outcomes
    }

    /// Looks up keys of a keyspace without parts.
    private func look(
        upTogether names: [KeyNames],
        _ tickets: [Ticket],
        _ pending: [PendingInvalidations.Reach]
    ) async throws -> [Outcome] {
        let (found, asked) = try await counting { try await read(names) }
        guard !found.failures.isEmpty else {
            let decoded = try await decode(found.values, names, tickets, pending)
            let findings = try await admitted(decoded, of: nil, asked)
            count(findings)
            return findings.map { .success($0) }
        }
        // A value that is too large is the failure of its own key.
        let places = names.indices.filter { found.failures[$0] == nil }
        let decoded = try await decode(
            places.map { found.values[$0] },
            places.map { names[$0] },
            places.map { tickets[$0] },
            places.map { pending[$0] }
        )
        let findings = try await admitted(decoded, of: nil, asked)
        count(findings)
        var rest = findings.makeIterator()
        return names.indices.compactMap { place in
            found.failures[place].map { .failure($0) } ?? rest.next().map { .success($0) }
        }
    }

    /// Looks up the keys of all parts at once; each part has marks of its own.
    private func look(
        upByParts names: [KeyNames],
        _ tickets: [Ticket],
        _ pending: [PendingInvalidations.Reach]
    ) async -> [Outcome] {
        let parts = Array(Dictionary(grouping: names.indices, by: { names[$0].part }))
        let found = await CallBudget.together {
            await parts.outcomes { [self] part, places in
                let some = places.map { names[$0] }
                let (tickets, pending) = (places.map { tickets[$0] }, places.map { pending[$0] })
                return await CallBudget.apart { await look(up: some, of: part, tickets, pending) }
            }
        }
        var outcomes = [Outcome?](repeating: nil, count: names.count)
        for (part, outcome) in zip(parts, found) {
            for (place, position) in part.value.enumerated() { outcomes[position] = outcome.flatMap { $0[place] } }
        }
        return outcomes.compactMap { $0 }
    }

    /// Looks up keys of one part, whose values may lie in many slots and at several nodes.
    private func look(
        up names: [KeyNames],
        of part: KeyspacePart?,
        _ tickets: [Ticket],
        _ pending: [PendingInvalidations.Reach]
    ) async -> [Outcome] {
        let tags = shared.tags(of: part)
        tags.used()
        let values = names.map(\.value)
        let slots = redis.slots(of: values) ?? [Array(values.indices)]
        let found = await CallBudget.together {
            // The wait for other parts of a node is part of what the call may spend.
            let budget = CallBudget.current.map(\.left).flatMap { $0 > 0 ? Duration.nanoseconds($0) : nil }
            return await redis.outcomesBySlot(values, slots, timeout: budget) { [self] some, left in
                try await counting {
                    try await redis.guarded(.read, for: some[0]) {
                        try await redis.values(of: some, timeout: min($0, left)).outcomes
                    }
                }
            }
        }
        var outcomes: [Outcome] = []
        outcomes.reserveCapacity(names.count)
        for (index, bytes) in found.enumerated() {
            outcomes.append(
                await Result { try await decode(bytes.get().get(), names[index], tickets[index], pending[index]) }
            )
        }
        defer { count(outcomes.compactMap { try? $0.get() }) }
        let places = outcomes.indices.filter { (try? outcomes[$0].get())?.entry != nil }
        guard !places.isEmpty else {
            // As with every other read: values fetched for these keys are stored with the present number.
            if !tags.isKnown { _ = try? await tags.askBesideRead(redis) }
            return outcomes
        }
        let judged = await Result { try await admitted(places.map { try outcomes[$0].get() }, of: part, nil) }
        for (position, place) in places.enumerated() { outcomes[place] = judged.map { $0[position] } }
        return outcomes
    }
}
