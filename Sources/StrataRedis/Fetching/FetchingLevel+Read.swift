internal import Strata
internal import Synchronization

extension FetchingLevel {
    /// Reads Redis by one GET, and fetches when there is no value that this read may use.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - request: The read.
    ///   - flight: The flight of the read; `nil` for a read that is not shared.
    /// - Returns: The entry; `nil` when there is none.
    /// - Throws: ``SourceFailure``; ``WaitLimitReached``; `CancellationError`.
    func read(_ key: Key, _ request: ReadRequest, _ flight: Flight?) async throws -> Entry<Value>? {
        let names = level.names(for: key)
        return try await level.redis.budgeted {
            try await produce(key, names, request, flight) { (try await level.look(up: names, request), true) }
        }
    }

    /// Reads Redis, and fetches when there is no value that this read may use.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - names: Its names.
    ///   - request: The read.
    ///   - flight: The flight of the read; `nil` for a read that is not shared.
    ///   - slot: The key's part in a fetch of several.
    ///   - lookedAt: When the look began, if it was before; then it has failed for other keys, too.
    ///   - look: Reads Redis; tells whether what it has found counts as a hit of this read.
    /// - Returns: The entry; `nil` when there is none.
    /// - Throws: ``SourceFailure``; ``WaitLimitReached``; `CancellationError`.
    func produce(
        _ key: Key,
        _ names: KeyNames,
        _ request: ReadRequest,
        _ flight: Flight?,
        _ slot: Fetch<Key, Value>.Slot? = nil,
        lookedAt: MonotonicInstant? = nil,
        look: () async throws -> (RedisLevel<Key, Value>.Finding, isCounted: Bool)
    ) async throws -> Entry<Value>? {
        defer { slot?.leave() }
        guard !request.options.skipsReading.contains(.redis) else {
            request.skipped(level)
            return try await fetchBeside(key, names, request, slot)
        }
        let (finding, isCounted): (RedisLevel<Key, Value>.Finding, Bool)
        let start = request.recorder == nil ? .distantPast : lookedAt ?? .now
        do {
            (finding, isCounted) = try await look()
        } catch let error as RedisError {
            request.recorder?.failed(error, at: .redis, from: start)
            level.tellFailure(error, key)
            guard request.options.source != .never else { return nil }
            let work: @Sendable () async throws -> Led = { [self] in
                .entry(try await fetchUncoordinated(key, names, request, slot))
            }
            guard request.options.waitsForOthers else {
                return try await leadAlone(key, names, request, sparing: nil, slot, work)
            }
            return try await share(key, names, request, sparing: nil, flight, slot, work)
        }
        let found = finding.entry
        let now = time.now
        let verdict = found.map { request.verdict(on: $0, at: now) } ?? .useless
        note(verdict, on: finding, key, request, at: now)
        if isCounted, let found, verdict == .fallBack || verdict == .useless { level.withdrawHit(of: found) }
        if let served = serve(finding, by: verdict, key, names, request) { return served }
        let spare = verdict == .fallBack ? found : nil
        guard request.options.source != .never else {
            request.recorder?.step(.skipped, at: .source, from: now, to: now, reason: .skipped)
            return nil
        }
        do {
            guard !request.options.skipsFilling.contains(.redis) else {
                return try await fetchApart(key, names, request, sparing: spare, slot)
            }
            guard request.options.waitsForOthers else {
                let spare = request.options.source == .always ? nil : spare
                return try await leadAlone(key, names, request, sparing: spare, slot) { [self] in
                    try await lead(key, names, finding, request, waits: false, slot)
                }
            }
            // With an old value at hand a read does not wait for another instance, unless its caller wants a new value.
            let waits = spare == nil || request.options.source == .always
            // Its callers may not wait for as long as it does.
            if let spare { (flight as? Delivery<Entry<Value>?>)?.offer(spare) }
            // The fetch must not end with this read.
            let flight = spare == nil ? flight : nil
            return try await share(key, names, request, sparing: waits ? nil : spare, flight, slot) { [self] in
                try await lead(key, names, finding, request, waits: waits, slot)
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            guard let spare = usable(spare) else { throw error }
            request.recorder?.stale(because: error is WaitLimitReached ? .late : .failed)
            return spare
        }
    }

    /// The entry that a verdict lets the read have, with its refresh begun if that is due; `nil` if it lets it have
    /// none.
    func serve(
        _ finding: RedisLevel<Key, Value>.Finding,
        by verdict: Verdict,
        _ key: Key,
        _ names: KeyNames,
        _ request: ReadRequest
    ) -> Entry<Value>? {
        switch verdict {
        case .serve:
            if request.options.source == .never { request.recorder?.stale(because: .notAsked) }
            return finding.entry
        case .serveAndRefresh:
            request.recorder?.stale(because: .refreshing)
            fetches.launch(key, fingerprint: names.fingerprint, priority: request.options.priority) { [self] in
                try await level.redis.budgeted {
                    try await lead(key, names, finding, request, waits: false)
                }
            }
            return finding.entry
        case .fallBack, .useless: return nil
        }
    }

    /// Fetches for all callers of this process at once.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - names: Its names.
    ///   - request: The read.
    ///   - spare: The entry to return while another instance fetches; `nil` to wait for that instance.
    ///   - flight: The read's flight, in whose task the work can be done; `nil` for a task of its own.
    ///   - slot: The key's part in a fetch of several; left when this read joins another flight.
    ///   - work: Competes for the lease, or fetches without one.
    /// - Returns: The entry; `nil` when there is none.
    /// - Throws: The error of the work; ``WaitLimitReached``; `CancellationError`.
    private func share(
        _ key: Key,
        _ names: KeyNames,
        _ request: ReadRequest,
        sparing spare: Entry<Value>?,
        _ flight: Flight?,
        _ slot: Fetch<Key, Value>.Slot?,
        _ work: @escaping @Sendable () async throws -> Led
    ) async throws -> Entry<Value>? {
        // A flight's task has no task-local values of its callers, so the budget goes with the work.
        let budget = CallBudget.current
        // The flight of a read is its callers', who have limits of their own.
        let hasFallback = spare != nil || !request.isShareable && request.hasFallback
        let limit = level.freshness.waitLimit(request, hasFallback: hasFallback)
        while true {
            let start = request.recorder == nil ? .distantPast : MonotonicInstant.now
            let led = try await fetches.join(
                key,
                fingerprint: names.fingerprint,
                limit: limit,
                priority: request.options.priority,
                within: flight,
                joined: { slot?.leave() },
                { try await CallBudget.$current.withValue(budget) { try await work() } }
            )
            if led.role == .joined { request.recorder?.step(.joined, at: .source, from: start, to: .now) }
            switch led.output {
            case .entry, .stored: return led.role == .joined ? taken(led.output)?.joined : taken(led.output)
            // A caller that joined a competition with a shorter limit competes again.
            case .othersLead:
                guard let spare else { continue }
                request.recorder?.stale(because: .othersFetch)
                return spare
            }
        }
    }

    /// Fetches for a read that waits for no other, and for all reads that come meanwhile.
    ///
    /// While others fetch, it gets the spare entry, or fetches beside them: then nothing is stored in Redis, and the
    /// levels above keep the value unless the key changes meanwhile.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - names: Its names.
    ///   - request: The read.
    ///   - spare: The entry to return while others fetch; `nil` to fetch beside them.
    ///   - slot: The key's part in a fetch of several.
    ///   - work: Takes the lease if it is free and fetches, or fetches without one.
    /// - Returns: The entry; `nil` when there is none.
    /// - Throws: As `share`.
    private func leadAlone(
        _ key: Key,
        _ names: KeyNames,
        _ request: ReadRequest,
        sparing spare: Entry<Value>?,
        _ slot: Fetch<Key, Value>.Slot?,
        _ work: @escaping @Sendable () async throws -> Led
    ) async throws -> Entry<Value>? {
        let budget = CallBudget.current
        let led = try await fetches.begin(
            key,
            fingerprint: names.fingerprint,
            limit: level.freshness.waitLimit(request, hasFallback: spare != nil || request.hasFallback),
            priority: request.options.priority
        ) { _ in try await CallBudget.$current.withValue(budget) { try await work() } }
        switch led {
        case .entry?, .stored?: return led.flatMap { taken($0) }
        case .othersLead?, nil: break
        }
        if let spare = usable(spare) {
            request.recorder?.stale(because: .othersFetch)
            return spare
        }
        return try await fetchApart(key, names, request, slot)
    }

    /// Fetches past Redis, under this process's limit of such fetches.
    private func fetchApart(
        _ key: Key,
        _ names: KeyNames,
        _ request: ReadRequest,
        sparing spare: Entry<Value>? = nil,
        _ slot: Fetch<Key, Value>.Slot?
    ) async throws -> Entry<Value>? {
        try await apart(request, sparing: spare) { [self] in
            .entry(try await fetchUncoordinated(key, names, request, slot))
        }
    }

    /// Fetches without using the value in Redis, and stores the result there unless the request excludes that, too.
    ///
    /// Writes nothing without a lease. While another instance has it, this one fetches beside it, and at most the
    /// levels above keep the result.
    private func fetchBeside(
        _ key: Key,
        _ names: KeyNames,
        _ request: ReadRequest,
        _ slot: Fetch<Key, Value>.Slot?
    ) async throws -> Entry<Value>? {
        guard request.options.source != .never else { return nil }
        guard !request.options.skipsFilling.contains(.redis) else {
            return try await fetchApart(key, names, request, slot)
        }
        return try await apart(request) { [self] in
            let led = try await leadBeside(key, names, request, slot)
            guard case .othersLead = led else { return led }
            return .entry(try await fetchUncoordinated(key, names, request, slot))
        }
    }

    /// Does a read that no other joins: in a task of its own where it says how long it waits, for that covers the look
    /// in Redis.
    func alone(
        _ request: ReadRequest,
        since start: MonotonicInstant,
        limit: WaitLimit,
        _ work: @escaping @Sendable (Flight?) async throws -> Entry<Value>?
    ) async throws -> Entry<Value>? {
        guard request.options.hardTimeout != nil else { return try await work(nil) }
        let (entry, role) = try await limited.join(nextNumber(), limit: limit, priority: request.options.priority, work)
        return try received(entry, role, since: start, request.recorder)
    }

    private func nextNumber() -> UInt64 { lastNumber.wrappingAdd(1, ordering: .relaxed).newValue }

    /// Runs a fetch that no other read joins, in a task of its own, for as long as the read waits.
    private func apart(
        _ request: ReadRequest,
        sparing spare: Entry<Value>? = nil,
        _ work: @escaping @Sendable () async throws -> Led
    ) async throws -> Entry<Value>? {
        let (budget, number) = (CallBudget.current, nextNumber())
        let led = try await apart.join(
            number,
            limit: level.freshness.waitLimit(request, hasFallback: spare != nil || request.hasFallback),
            priority: request.options.priority
        ) { _ in try await CallBudget.$current.withValue(budget) { try await work() } }
        return taken(led.output)
    }

    /// The entry of a fetch, with the ticket of what was stored; its caller fills the levels above.
    func taken(_ led: Led) -> Entry<Value>? {
        switch led {
        case .entry(let entry): return entry
        case .stored(var entry, let renewal):
            entry.ticket = renewal.take()
            return entry
        case .othersLead: return nil
        }
    }

    /// Takes down whether what Redis has is served, and why not, and tells those that observe the cache.
    func note(
        _ verdict: Verdict,
        on finding: RedisLevel<Key, Value>.Finding,
        _ key: Key,
        _ request: ReadRequest,
        at now: MonotonicInstant
    ) {
        guard let entry = finding.entry, verdict == .fallBack || verdict == .useless else {
            return level.tell(finding, key, request)
        }
        let reason = request.reason(notToServe: entry, at: now)
        request.recorder?.reject(because: reason, at: .redis)
        level.events.tell(.miss) { CacheEvent($0, at: .redis, key: key, reason: reason) }
    }

    /// A stale entry that may still be served.
    func usable(_ entry: Entry<Value>?) -> Entry<Value>? {
        entry.flatMap { $0.isUsable(at: time.now) ? $0 : nil }
    }
}
