extension Composed {
    /// Asks the upper level for all keys, then the lower one for those that are missing, in one call each.
    ///
    /// A key that fails or is excluded above counts as missing there; the other keys are not affected.
    ///
    /// - Throws: The lower level's own error; `CancellationError`.
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        if request.rights != nil { return try await claim(keys, request) }
        let request = try request.sourced(by: lower)
        var entries = [Entry<Value>?](repeating: nil, count: keys.count)
        var isFailing = false
        var heard = heardTickets(keys)
        let early = request.writesLater ? keys.map { fillGate.ticket(for: lower.fingerprint(of: $0)) } : nil
        if request.leavesOut(upper) {
            for key in keys { request.of(key).skipped(upper) }
        } else {
            let start = request.recorder == nil ? .distantPast : MonotonicInstant.now
            let notes = FailureNotes()
            do {
                entries = try await upper.entries(for: keys, request.going(on: notes).judged)
            } catch {
                notes.add(error)
            }
            let errors = notes.all
            // A read that its level cancels ends a batch, unless the batch leaves failures out.
            if !request.leavesOutFailures, errors.contains(where: { $0 is CancellationError }) || Task.isCancelled {
                throw CancellationError()
            }
            for error in errors {
                if failures.read(error, of: upper) { isFailing = true }
                request.failed(error, at: upper, since: start)
            }
        }
        let start = MonotonicInstant.now
        let now = time.now(at: start)
        var missing: [Int] = []
        var held: Set<Int> = []
        var old: [(index: Int, found: Entry<Value>)] = []
        for index in keys.indices {
            guard let found = entries[index] else {
                missing.append(index)
                continue
            }
            let (key, single) = (keys[index], request.of(keys[index]))
            let above = judged(found, key, heard[index], at: start)
            entries[index] = above
            let decision = above.map { verdict(on: $0, of: key, single, at: now) } ?? .useless
            note(decision, on: found, above, of: key, heard[index], single, at: now)
            if above != nil, decision == .fallBack || decision == .useless { old.append((index, found)) }
            switch decision {
            case .serve: continue
            case .serveAndRefresh:
                single.recorder?.stale(because: .refreshing)
                refresh(key, found, heard[index], for: request, early?[index])
            case .fallBack:
                held.insert(index)
                missing.append(index)
            case .useless:
                held.insert(index)
                entries[index] = nil
                missing.append(index)
            }
        }
        guard !missing.isEmpty else { return entries }
        guard !request.spares(lower) else {
            for index in missing {
                request.of(keys[index]).skipped(lower)
                entries[index] = nil
            }
            return entries
        }
        let wanted = missing.count == keys.count ? keys : missing.map { keys[$0] }
        if let rights = await rightsAbove(wanted, request, isFailing: isFailing) {
            for index in missing {
                heard[index] = heardTicket(keys[index])
                heard[index].rights = rights
            }
        }
        try Task.checkCancellation()

        let tickets = missing.map { early?[$0] ?? fillGate.ticket(for: lower.fingerprint(of: keys[$0])) }
        // A change before this moment voids old entries, a later one the new ones.
        var bases: [(Key, Entry<Value>)] = []
        for (index, found) in old {
            if let above = judged(found, keys[index], heard[index], at: start) {
                bases.append((keys[index], above))
            } else {
                entries[index] = nil
            }
        }
        let left = LeftFlights()
        if let gate = upper.gate { heard = heard.map { $0.asking(gate) } }
        defer {
            if !left.isEmpty { collect(wanted, left, tickets, missing.map { heard[$0] }, request, askedAt: now) }
        }
        do {
            var asked = request.filling
            asked.left = left
            asked.add(bases: bases)
            asked.hasFallback = asked.hasFallback || missing.allSatisfy { entries[$0] != nil }
            let notes = missing.contains { entries[$0] != nil } ? FailureNotes() : nil
            if let notes { asked = asked.going(on: notes) }
            let below = try await lower.entries(for: wanted, asked)
            var failed: Set<Int> = []
            if let notes {
                let isVoid = Set(
                    old.filter { judged($0.found, keys[$0.index], heard[$0.index], at: start) == nil }.map(\.index)
                )
                failed = try await spares(&entries, isVoid, at: missing, of: wanted, for: below, notes, request)
            }
            let found = Below(entries: below, tickets: tickets, places: missing).without(failed)
            await fill(&entries, with: found, of: keys, heard, request, askedAt: now)
            // Where it is not known which keys have failed, nothing is known of those without an entry.
            guard notes != nil || !request.leavesOutFailures else { return entries }
            guard !held.isEmpty else { return entries }
            let gone = found.places.indices.filter { found.entries[$0] == nil && held.contains(found.places[$0]) }
            await withTaskGroup { group in
                for number in gone {
                    let (key, ticket) = (keys[found.places[number]], found.tickets[number])
                    group.addTask { await removeOutdated(key, ticket, request) }
                }
            }
            return entries
        } catch {
            if error is CancellationError, Task.isCancelled { throw error }
            let now = time.now
            for index in missing where entries[index]?.isUsable(at: now) == false { entries[index] = nil }
            for (index, found) in old where judged(found, keys[index], heard[index], at: start) == nil {
                entries[index] = nil
            }
            guard request.leavesOutFailures || missing.allSatisfy({ entries[$0] != nil }) else { throw error }
            for index in missing {
                if entries[index] == nil { request.leftOut?.add(error, of: keys[index]) }
                let single = request.of(keys[index])
                single.failed(error, at: lower, since: start)
                if entries[index] != nil { single.recorder?.stale(because: Self.isLate(error) ? .late : .failed) }
            }
            return entries
        }
    }

    /// Keeps the old entries of keys that have failed below, where they may be served.
    ///
    /// - Parameters:
    ///   - entries: Those of the batch, with the old ones.
    ///   - isVoid: The places of old entries that were voided since: their keys are read anew, without them.
    ///   - places: The places of the keys that were asked for below.
    ///   - keys: Those keys.
    ///   - below: What the lower level has returned.
    ///   - notes: What has failed there.
    ///   - request: The read.
    /// - Returns: Which of the keys have failed.
    /// - Throws: The error of one without an old entry, unless the read leaves failures out.
    private func spares(
        _ entries: inout [Entry<Value>?],
        _ isVoid: Set<Int>,
        at places: [Int],
        of keys: [Key],
        for below: [Entry<Value>?],
        _ notes: FailureNotes,
        _ request: ReadRequest
    ) async throws -> Set<Int> {
        guard let first = notes.all.first else { return [] }
        // Where it is not known which keys have failed, each key without an entry may have.
        let errors = notes.errors(of: keys) ?? below.map { $0 == nil ? first : nil }
        let now = time.now
        var failed: Set<Int> = []
        for (number, place) in places.enumerated() {
            guard below[number] == nil, let error = errors[number] else { continue }
            failed.insert(number)
            if error is CancellationError, Task.isCancelled, !request.leavesOutFailures { throw error }
            if isVoid.contains(place), !Task.isCancelled {
                let key = keys[number]
                entries[place] = try await request.leavingOut(key) { try await entry(for: key, request.of(key)) }
                continue
            }
            guard entries[place]?.isUsable(at: now) != true else {
                request.of(keys[number]).recorder?.stale(because: Self.isLate(error) ? .late : .failed)
                continue
            }
            entries[place] = nil
            guard request.leavesOutFailures else { throw error }
            request.leftOut?.add(error, of: keys[number])
        }
        return failed
    }

    private static func isLate(_ error: any Error) -> Bool { (error as? CacheError)?.code == .timeout }
}
