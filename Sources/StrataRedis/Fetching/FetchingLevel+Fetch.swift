internal import Strata

extension FetchingLevel {
    /// Fetches under a lease and stores what was fetched.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - lease: The lease; ended in any case.
    ///   - ticket: The right to keep the value, taken before the lease was asked for.
    ///   - failures: How many fetches have failed in a row before.
    ///   - finding: The value in Redis.
    ///   - request: The read.
    ///   - slot: The key's part in a fetch of several.
    /// - Returns: The entry; `nil` for an absence that is not remembered.
    /// - Throws: ``SourceFailure``; `CancellationError`.
    func fetch(
        _ key: Key,
        _ lease: Lease,
        _ ticket: Ticket,
        failures: Int,
        replacing finding: RedisLevel<Key, Value>.Finding,
        _ request: ReadRequest,
        _ slot: Fetch<Key, Value>.Slot?
    ) async throws -> Led {
        try await lease.held(upTo: options.renewalLimit) { ending in
            // Before the source is asked.
            await level.shared.tags(of: lease.names.part)
                .learn(
                    level.redis,
                    isUnread: request.options.skipsReading.contains(.redis)
                )
            var fetched: Fetched<Value>
            do {
                fetched = try await callSource(key, lease.names, finding.entry, request, slot)
            } catch let failure as SourceFailure {
                ending = self.ending(of: key, after: failure, failures: failures)
                throw failure
            }
            // An absence is not kept, but still removes the old value.
            if fetched.entry == nil, lease.replacedHeader != nil {
                (fetched.entry, fetched.use) = (briefAbsence(of: lease.names), .keep)
            }
            guard var entry = fetched.entry, fetched.use != .handOut else {
                refused(.notKept, key, request.recorder, since: .now)
                return .entry(fetched.entry)
            }
            entry.ticket = ticket
            let bytes = fetched.use == .extend ? finding.bytes : nil
            return try await level.redis.inTurn(for: lease.names.value) {
                // What the fetch has waited for before, such as room, is no part of the value's age.
                let start = max(lease.askedAt, fetched.begunAt)
                return try await store(entry, key, lease, since: start, extending: bytes, request.recorder, &ending)
            }
        }
    }

    /// An absence that lives for as short a time as Redis can keep something.
    private func briefAbsence(of names: KeyNames) -> Entry<Value> {
        let lifetime = EntryLifetime(freshFor: .milliseconds(1), staleFor: .zero)
        return level.freshness.stamping(Entry(.absent), fingerprint: names.fingerprint, lifetime, at: time.now)
    }

    /// Tells all waiting callers that the fetch failed, and starts its back-off.
    ///
    /// Other processes learn only its type, and its code if it can travel: its text may hold what others must not read.
    /// Callers of this process get the error itself during the back-off.
    private func ending(of key: Key, after failure: SourceFailure, failures: Int) -> Lease.Ending {
        let factor = 1 << min(failures, 20)
        let doubled = options.failureBackOff.map {
            $0.lowerBound < $0.upperBound / factor ? $0.lowerBound * factor : $0.upperBound
        }
        guard let backOff = failure.retryAfter ?? doubled, backOff > .zero else { return .withoutValue }
        sourceErrors.pause(key, for: backOff, because: failure.cause)
        return .failure(TransferredError.text(of: failure.cause), attempts: failures + 1, backOff: backOff)
    }

    /// Stores what was fetched.
    ///
    /// The caller gets its value in any case.
    ///
    /// - Parameters:
    ///   - entry: What was fetched.
    ///   - key: Its key.
    ///   - lease: The lease.
    ///   - start: No later than the source was asked.
    ///   - bytes: The envelope that is to be made fresh again; `nil` to write a whole one.
    ///   - recorder: Takes down the outcome.
    ///   - ending: How the lease is to end; changed when the server has answered, which ends it by itself.
    /// - Returns: The entry, with its right to be kept above.
    /// - Throws: `CancellationError`.
    private func store(
        _ entry: Entry<Value>,
        _ key: Key,
        _ lease: Lease,
        since start: MonotonicInstant,
        extending bytes: [UInt8]?,
        _ recorder: ReadTraceRecorder?,
        _ ending: inout Lease.Ending
    ) async throws -> Led {
        var unsealed = entry
        unsealed.ticket = .void
        let begin = recorder == nil ? .distantPast : MonotonicInstant.now
        let sealed: RedisLevel<Key, Value>.Sealed
        do {
            sealed =
                if let bytes {
                    try await level.reseal(bytes, entry, lease.names, fetchedSince: start)
                } else {
                    try await level.seal(entry, lease.names, fetchedSince: start)
                }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            level.counters.add(\.failures)
            refused(by: error, key, recorder, since: begin)
            return .entry(unsealed)
        }
        var kept = sealed.entry
        kept.ticket = .void
        let renewal = TicketRenewal(level.shared, of: entry.ticket, for: lease.names.fingerprint)
        level.shared.beginWrite(lease.names, kept.version)
        do {
            let outcome =
                if let bytes {
                    try await lease.extend(sealed.bytes, expiry: sealed.expiry, replacing: Envelope.stamp(of: bytes))
                } else {
                    try await lease.store(sealed.bytes, expiry: sealed.expiry)
                }
            ending = .ended
            switch outcome {
            case .stored:
                // A later read gets what was stored, and nothing that was read before.
                looks.voidAll()
                recorder?.step(.stored, at: .redis, from: begin, to: .now)
                level.counters.add(\.stores)
                let seal = level.shared.tags(of: lease.names.part).seal(kept)
                // The table does not know of an invalidation that has failed meanwhile, and is to be repeated.
                let pending = level.redis.outage.replay.reach(over: lease.names, level.keyspace)
                kept.seal = pending.covers(kept.tags) ? nil : seal
                return .stored(kept, renewal)
            case .outOfMemory:
                level.counters.add(\.failures)
                kept.ticket = entry.ticket
            case .leaseLost, .changedMeanwhile: level.counters.add(\.refusedStores)
            }
            if let refusal = outcome.refusal { refused(refusal, key, recorder, since: begin) }
            level.shared.abandonWrite(lease.names, kept.version)
        } catch {
            level.shared.failWrite(lease.names, kept.version, error)
            if error is CancellationError { throw CancellationError() }
            level.counters.add(\.failures)
            refused(by: error, key, recorder, since: begin)
        }
        return .entry(kept)
    }

    /// Takes down that Redis has not stored what was fetched, and tells those that observe the cache.
    private func refused(
        _ reason: ReadTrace.Reason,
        _ key: Key,
        _ recorder: ReadTraceRecorder?,
        since start: MonotonicInstant
    ) {
        recorder?.step(.refused, at: .redis, from: start, to: .now, reason: reason)
        level.events.tell(.storeRefused) { CacheEvent($0, at: .redis, key: key, reason: reason) }
    }

    /// The same for a value that could not be stored.
    private func refused(
        by error: any Error,
        _ key: Key,
        _ recorder: ReadTraceRecorder?,
        since start: MonotonicInstant
    ) {
        recorder?.failed(error, at: .redis, from: start)
        level.events.tell(.storeRefused) { kind in
            let (reason, name) = (ReadTrace.Reason(error), CacheError.name(of: error))
            return CacheEvent(kind, at: .redis, key: key, reason: reason, error: name)
        }
    }

    /// Fetches without a lease, under this process's limit.
    ///
    /// A fetch of several keys counts as one. A key whose slot was left, because another instance was fetching it, is
    /// fetched alone.
    func fetchUncoordinated(
        _ key: Key,
        _ names: KeyNames,
        _ request: ReadRequest,
        _ slot: Fetch<Key, Value>.Slot? = nil
    ) async throws -> Entry<Value>? {
        if !request.insists(on: Value.self), let (left, reason) = sourceErrors.left(for: key, at: time.now), let reason
        {
            request.recorder?.backedOff(reason, since: .now)
            throw SourceFailure(reason, retryAfter: left)
        }
        let ticket = level.shared.ticket(for: names.fingerprint)
        // Before the source is asked: what is changed from now on has to be told.
        let isTold = await level.isTold(of: names, ticket)
        let fetched: Fetched<Value>
        do {
            fetched = try await callSource(key, names, nil, request, slot, isLed: false)
        } catch let failure as SourceFailure {
            if failure.retryAfter ?? options.failureBackOff?.lowerBound ?? .zero > .zero {
                sourceErrors.pause(key, for: failure.retryAfter, because: failure.cause)
            }
            throw failure
        }
        guard var entry = fetched.entry else { return nil }
        if fetched.use != .handOut { entry.ticket = isTold ? ticket : .void }
        return entry
    }

    /// Asks the source; counts the fetch when that begins.
    private func callSource(
        _ key: Key,
        _ names: KeyNames,
        _ old: Entry<Value>?,
        _ request: ReadRequest,
        _ slot: Fetch<Key, Value>.Slot? = nil,
        isLed: Bool = true
    ) async throws -> Fetched<Value> {
        let began: @Sendable () -> Void = { [counters = level.counters] in
            counters.add(\.fetches)
            if !isLed { counters.add(\.uncoordinatedFetches) }
        }
        // Taken before the source is asked: an invalidation from now on voids its answer.
        let asOf = level.shared.tags(of: names.part).asOf
        do {
            let old = old ?? request.basis as? Entry<Value>
            var fetched = try await source(
                key,
                fingerprint: names.fingerprint,
                old: old,
                request.recorder,
                slot,
                within: isLed ? nil : limiter,
                for: request.callSource(of: Value.self, for: key),
                request.options,
                began: began
            )
            fetched.entry?.asOf = asOf
            sourceErrors.end(key)
            return fetched
        } catch let failure as SourceFailure {
            level.counters.add(\.failedFetches)
            throw failure
        }
    }
}
