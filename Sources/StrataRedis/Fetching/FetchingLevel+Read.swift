internal import Strata

extension FetchingLevel {
    /// Looks in Redis by one GET, and fetches when there is nothing that this read may be served.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - request: The read.
    ///   - flight: That of the read, unless it is not shared.
    /// - Returns: The entry; `nil` when there is none.
    /// - Throws: ``SourceFailure``; ``WaitLimitReached``; `CancellationError`.
    func read(_ key: Key, _ request: ReadRequest, _ flight: Flight?) async throws -> Entry<Value>? {
        let names = level.names(for: key)
        return try await level.redis.budgeted {
            try await produce(key, names, request, flight) { try await level.look(up: names, request) }
        }
    }

    /// Looks in Redis, and fetches when there is nothing that this read may be served.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - names: Its names.
    ///   - request: The read.
    ///   - flight: That of the read, unless it is not shared.
    ///   - slot: The key's part in a fetch of several.
    ///   - look: Looks in Redis.
    /// - Returns: The entry; `nil` when there is none.
    /// - Throws: ``SourceFailure``; ``WaitLimitReached``; `CancellationError`.
    func produce(
        _ key: Key,
        _ names: KeyNames,
        _ request: ReadRequest,
        _ flight: Flight?,
        _ slot: Fetch<Key, Value>.Slot? = nil,
        look: () async throws -> RedisLevel<Key, Value>.Finding
    ) async throws -> Entry<Value>? {
        defer { slot?.leave() }
        guard !request.options.skipsReading.contains(.redis) else {
            return try await fetchBeside(key, names, request, slot)
        }
        let finding: RedisLevel<Key, Value>.Finding
        let start = request.recorder == nil ? .distantPast : MonotonicInstant.now
        do {
            finding = try await look()
        } catch let error as RedisError {
            request.recorder?.failed(error, at: .redis, from: start)
            guard request.options.source != .never else { return nil }
            return try await share(key, names, request, sparing: nil, flight, slot) { [self] in
                .entry(try await fetchUncoordinated(key, names, request, slot))
            }
        }
        let found = finding.entry
        var spare: Entry<Value>?
        switch found.map({ request.verdict(on: $0, at: .now) }) ?? .useless {
        case .serve:
            if request.options.source == .never { request.recorder?.stale(because: .notAsked) }
            return found
        case .serveAndRefresh:
            request.recorder?.stale(because: .refreshing)
            fetches.launch(key, fingerprint: names.fingerprint) { [self] in
                try await level.redis.budgeted {
                    try await lead(key, names, finding, request, waits: false)
                }
            }
            return found
        case .fallBack: spare = found
        case .useless: break
        }
        guard request.options.source != .never else { return nil }
        guard !request.options.skipsFilling.contains(.redis) else {
            return try await fetchUncoordinated(key, names, request, slot)
        }
        do {
            // With an old value at hand nobody waits for another instance, unless the caller wants a new one.
            let waits = spare == nil || request.options.source == .always
            // A fetch that is given up for it must not end with this read.
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

    /// Fetches for all callers of this process at once.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - names: Its names.
    ///   - request: The read.
    ///   - spare: What is served while another instance fetches; `nil` to wait for that.
    ///   - flight: The read's flight, in whose task the work can be done; `nil` for a task of its own.
    ///   - slot: The key's part in a fetch of several; left when this one joins another's.
    ///   - work: Competes for the lease, or fetches without one.
    /// - Returns: The entry; `nil` when there is none.
    /// - Throws: What the work throws; ``WaitLimitReached``; `CancellationError`.
    private func share(
        _ key: Key,
        _ names: KeyNames,
        _ request: ReadRequest,
        sparing spare: Entry<Value>?,
        _ flight: Flight?,
        _ slot: Fetch<Key, Value>.Slot?,
        _ work: @escaping @Sendable () async throws -> Led
    ) async throws -> Entry<Value>? {
        // A flight's task has no task-local values of its callers: the budget goes with the work on purpose.
        let budget = CallBudget.current
        let limit = WaitLimit(
            sinceJoining: level.freshness.hardTimeout,
            sinceStart: spare == nil ? nil : level.freshness.softTimeout
        )
        while true {
            let led = try await fetches.join(
                key,
                fingerprint: names.fingerprint,
                limit: limit,
                within: flight,
                joined: { slot?.leave() },
                { try await CallBudget.$current.withValue(budget) { try await work() } }
            )
            switch led.output {
            case .entry(let entry): return led.role == .joined ? entry?.joined : entry
            case .stored(var entry, let renewal):
                entry.ticket = renewal.take()
                return led.role == .joined ? entry.joined : entry
            // Who has joined a competition of somebody less patient competes again.
            case .othersLead:
                guard let spare else { continue }
                request.recorder?.stale(because: .othersFetch)
                return spare
            }
        }
    }

    /// Fetches without serving what lies in Redis, and writes there what was fetched unless that is not wanted either.
    ///
    /// Nothing is written without a lease. While another instance has it, this one fetches beside it, and what it finds is
    /// kept by levels above at most.
    private func fetchBeside(
        _ key: Key,
        _ names: KeyNames,
        _ request: ReadRequest,
        _ slot: Fetch<Key, Value>.Slot?
    ) async throws -> Entry<Value>? {
        guard request.options.source != .never else { return nil }
        guard !request.options.skipsFilling.contains(.redis) else {
            return try await fetchUncoordinated(key, names, request, slot)
        }
        switch try await leadBeside(key, names, request, slot) {
        case .entry(let entry): return entry
        case .stored(var entry, let renewal):
            entry.ticket = renewal.take()
            return entry
        case .othersLead: return try await fetchUncoordinated(key, names, request, slot)
        }
    }

    /// A stale entry that may still be served.
    func usable(_ entry: Entry<Value>?) -> Entry<Value>? {
        entry.flatMap { $0.isUsable(at: .now) ? $0 : nil }
    }
}
