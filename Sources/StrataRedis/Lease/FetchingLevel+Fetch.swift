internal import Strata

extension FetchingLevel {
    /// Fetches under a lease and stores what was fetched.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - lease: The lease; ended here in any case.
    ///   - ticket: The right to keep what is fetched, taken before the lease was asked for.
    ///   - failures: How many fetches have failed in a row before.
    ///   - stale: Served when the source fails, if it may still be.
    ///   - request: The read.
    /// - Returns: The entry; `nil` when there is no value and its absence is not to be remembered.
    /// - Throws: ``SourceFailure``; `CancellationError`.
    func fetch(
        _ key: Key,
        _ lease: Lease,
        _ ticket: Ticket,
        failures: Int,
        instead stale: Entry<Value>?,
        _ request: ReadRequest
    ) async throws -> Entry<Value>? {
        let fetched: Entry<Value>?
        do {
            fetched = try await lease.held(upTo: options.renewalLimit) { [self] in
                try await callSource(key, request)
            }
        } catch let failure as SourceFailure where !(failure.cause is CancellationError) {
            await end(lease, after: failure, failures: failures)
            if let stale = usable(stale) { return stale }
            throw failure
        } catch {
            try? await lease.end()
            throw error
        }
        guard var entry = fetched else {
            try? await lease.end()
            return nil
        }
        entry.ticket = ticket
        return try await store(entry, lease)
    }

    /// Tells everybody who waits that the fetch has failed, and that it is not to be tried again at once.
    ///
    /// Of the error only its type is told: its text may hold what others must not read.
    private func end(_ lease: Lease, after failure: SourceFailure, failures: Int) async {
        guard let range = options.failureBackOff else {
            try? await lease.end()
            return
        }
        let doubled = range.lowerBound * (1 << min(failures, 20))
        try? await lease.end(
            failing: "\(type(of: failure.cause))",
            attempts: failures + 1,
            backOff: min(doubled, range.upperBound)
        )
    }

    /// Stores what was fetched.
    ///
    /// Whatever happens there, the caller gets its value.
    private func store(_ entry: Entry<Value>, _ lease: Lease) async throws -> Entry<Value> {
        var unsealed = entry
        unsealed.ticket = .void
        let sealed: RedisLevel<Key, Value>.Sealed
        do {
            sealed = try await level.seal(entry, lease.names)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            level.counters.add(\.failures)
            try? await lease.end()
            return unsealed
        }
        var kept = sealed.entry
        kept.ticket = .void
        level.shared.beginWrite(lease.names, kept.version)
        do {
            switch try await lease.store(sealed.bytes, expiry: sealed.expiry) {
            case .stored:
                level.counters.add(\.stores)
                kept.ticket = level.shared.gate.renew(entry.ticket) ?? .void
                kept.seal = level.shared.tags.seal(kept)
                return kept
            case .outOfMemory:
                level.counters.add(\.failures)
                kept.ticket = entry.ticket
            case .refused: level.counters.add(\.refusedStores)
            }
        } catch is CancellationError {
            level.shared.abandonWrite(lease.names, kept.version)
            throw CancellationError()
        } catch {
            level.counters.add(\.failures)
        }
        level.shared.abandonWrite(lease.names, kept.version)
        return kept
    }

    /// Fetches without a lease, under this process's limit.
    func fetchUncoordinated(_ key: Key, _ names: KeyNames, _ request: ReadRequest) async throws -> Entry<Value>? {
        level.counters.add(\.uncoordinatedFetches)
        let ticket = level.shared.gate.ticket(for: names.fingerprint)
        let fetched: Entry<Value>?
        do {
            fetched = try await limiter.run { try await callSource(key, request) }
        } catch let failure as SourceFailure {
            throw failure.cause
        }
        guard var entry = fetched else { return nil }
        let lifetimes = level.freshness.lifetimes(of: entry.content, fingerprint: names.fingerprint)
        entry.freshUntil = MonotonicInstant.now.advanced(by: lifetimes.fresh)
        entry.staleUntil = MonotonicInstant.now.advanced(by: lifetimes.kept)
        entry.ticket = ticket
        return entry
    }

    /// Asks the source.
    ///
    /// `nil` when there is no value and its absence is not to be remembered.
    private func callSource(_ key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        level.counters.add(\.fetches)
        let asOf = level.shared.tags.asOf
        let start = MonotonicInstant.now
        do {
            let value = try await source(key)
            let end = MonotonicInstant.now
            request.recorder?.step(.fetched, at: .source, from: start, to: end)
            guard value != nil || level.freshness.absentFor > .zero else { return nil }
            return Entry(value.map { .value($0) } ?? .absent, fetchDuration: start.duration(to: end), asOf: asOf)
        } catch {
            level.counters.add(\.failedFetches)
            throw SourceFailure(cause: error)
        }
    }
}
