internal import Strata

extension FetchingLevel {
    /// Competes for the lease until there is a value, this process fetches it, or nobody can.
    ///
    /// While another process leads, this one waits for something to happen to the key, and not for the lease: the value
    /// that is stored wakes it, an end without a value, or an invalidation. While changes are not told it looks again at
    /// random intervals. In any case it competes again when the lease has had its time.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - names: Its names.
    ///   - found: What lies in Redis, to be replaced.
    ///   - request: The read.
    ///   - waits: Whether another instance's fetch is waited for.
    ///   - seat: The key's part in a fetch of several; left when another instance fetches the key.
    /// - Returns: The entry, or that another instance fetches it.
    /// - Throws: ``SourceFailure``; `CancellationError`.
    func lead(
        _ key: Key,
        _ names: KeyNames,
        _ found: RedisLevel<Key, Value>.Finding,
        _ request: ReadRequest,
        waits: Bool,
        _ seat: Fetch<Key, Value>.Seat? = nil
    ) async throws -> Led {
        defer { seat?.leave() }
        do {
            return try await compete(key, names, found, request, waits: waits, seat)
        } catch is RedisError {
            return .entry(try await fetchUncoordinated(key, names, request, seat))
        }
    }

    private func compete(
        _ key: Key,
        _ names: KeyNames,
        _ found: RedisLevel<Key, Value>.Finding,
        _ request: ReadRequest,
        waits: Bool,
        _ seat: Fetch<Key, Value>.Seat?
    ) async throws -> Led {
        let start = MonotonicInstant.now
        let giveUp = start.advanced(by: options.waitLimit)
        var finding = found
        var waiting = Waiting(request: request, since: start)
        defer { waiting.end() }
        while .now < giveUp, !finding.belongsToNewerRelease {
            let number = level.shared.waiters.enter(names.value.bytes)
            defer { level.shared.waiters.leave(number) }
            let ticket = level.shared.gate.ticket(for: names.fingerprint)
            let pending = level.redis.outage.replay.reach(over: names, level.keyspace)
            switch try await Lease.readOrLead(
                level.redis,
                level.keyspace,
                names,
                duration: options.duration,
                replacing: finding.stamp
            ) {
            case .value(let bytes):
                finding = try await level.open(bytes, names, ticket, pending)
                if let entry = finding.entry, entry.isFresh(at: .now) { return .entry(entry) }
            case .leads(let lease, let failures):
                return try await fetch(key, lease, ticket, failures: failures, replacing: finding, request, seat)
            case .failed(let message, let retryAfter):
                throw SourceFailure(CacheError.sourceFailed(message, retryAfter: retryAfter))
            case .waits(let remaining, let holder):
                guard waits else { return .othersLead }
                seat?.leave()
                if !waiting.hasWaited { level.counters.add(\.waits) }
                waiting.begin(for: holder)
                let deadline = waiting.deadline(remaining, giveUp, level.shared)
                // What was asked for on the I/O thread counts only while no invalidation has yet to reach Redis.
                guard let news = try await level.shared.waiters.wait(number, until: deadline), pending == .nothing,
                    level.redis.outage.replay.reach(over: names, level.keyspace) == .nothing
                else { continue }
                finding = try await level.open(news.bytes, names, news.ticket, .nothing)
                if let entry = finding.entry, entry.isFresh(at: .now) { return .entry(entry) }
            }
        }
        return .entry(try await fetchUncoordinated(key, names, request, seat))
    }
}

/// The waiting of one caller for another process.
private struct Waiting {
    let request: ReadRequest
    let since: MonotonicInstant
    private(set) var hasWaited = false
    private var holder = ""
    private var pause = 2.0

    init(request: ReadRequest, since: MonotonicInstant) {
        self.request = request
        self.since = since
    }

    mutating func begin(for holder: String) {
        hasWaited = true
        self.holder = holder
    }

    /// When to compete again: when the lease has ended, with some jitter so that not all do at once; sooner where nobody tells
    /// of changes.
    mutating func deadline(
        _ remaining: Duration,
        _ giveUp: MonotonicInstant,
        _ coherence: KeyspaceCoherence
    ) -> MonotonicInstant {
        let lease = MonotonicInstant.now.advanced(by: remaining + .milliseconds(Int64.random(in: 1...20)))
        guard !coherence.isTrusted else { return min(lease, giveUp) }
        let look = MonotonicInstant.now.advanced(by: .milliseconds(pause * Double.random(in: 0.5...1)))
        pause = min(pause * 1.5, 100)
        return min(look, lease, giveUp)
    }

    func end() {
        guard hasWaited else { return }
        request.recorder?.step(.waited, at: .redis, from: since, to: .now, whom: holder)
    }
}
