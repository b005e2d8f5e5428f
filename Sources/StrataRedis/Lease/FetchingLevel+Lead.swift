internal import Strata

extension FetchingLevel {
    /// What one flight does: looks in Redis, and competes for the lease when there is nothing fresh.
    func produce(_ key: Key, _ names: KeyNames, _ request: ReadRequest) async throws -> Entry<Value>? {
        try await level.redis.budgeted { try await obtain(key, names, request) }
    }

    private func obtain(_ key: Key, _ names: KeyNames, _ request: ReadRequest) async throws -> Entry<Value>? {
        let start = MonotonicInstant.now
        do {
            let finding = try await level.look(up: names, request)
            if let entry = finding.entry, entry.isFresh(at: .now) { return entry }
            return try await lead(key, names, finding, request, since: start)
        } catch let failure as SourceFailure {
            throw failure.cause
        } catch is RedisError {
            return try await fetchUncoordinated(key, names, request)
        }
    }

    /// Competes for the lease until there is a value, this process fetches it, or nobody can.
    ///
    /// While another process leads, this one waits for something to happen to the key, and not for the lease: the value
    /// that is stored wakes it, an end without a value, or an invalidation. While changes are not told it looks again at
    /// random intervals. In any case it competes again when the lease has had its time.
    private func lead(
        _ key: Key,
        _ names: KeyNames,
        _ found: RedisLevel<Key, Value>.Finding,
        _ request: ReadRequest,
        since start: MonotonicInstant
    ) async throws -> Entry<Value>? {
        let giveUp = start.advanced(by: options.waitLimit)
        var finding = found
        var waiting = Waiting(request: request, since: start)
        defer { waiting.end() }
        while .now < giveUp, !finding.belongsToOtherRelease {
            let number = level.shared.waiters.enter(names.value.bytes)
            defer { level.shared.waiters.leave(number) }
            let ticket = level.shared.gate.ticket(for: names.fingerprint)
            switch try await Lease.readOrLead(
                level.redis,
                level.keyspace,
                names,
                duration: options.duration,
                replacing: finding.stamp
            ) {
            case .value(let bytes):
                finding = try await level.open(bytes, names, ticket)
                if let entry = finding.entry, entry.isFresh(at: .now) { return entry }
            case .leads(let lease, let failures):
                return try await fetch(key, lease, ticket, failures: failures, instead: finding.entry, request)
            case .failed(let message, let retryAfter):
                if let stale = usable(finding.entry) { return stale }
                throw SourceFailure(cause: CacheError.sourceFailed(message, retryAfter: retryAfter))
            case .waits(let remaining, let holder):
                if let stale = usable(finding.entry) { return stale }
                if !waiting.hasWaited { level.counters.add(\.waits) }
                waiting.begin(for: holder)
                try await level.shared.waiters.wait(number, until: waiting.deadline(remaining, giveUp, level.shared))
            }
        }
        if let stale = usable(finding.entry) { return stale }
        return try await fetchUncoordinated(key, names, request)
    }

    /// A stale entry that may still be served.
    func usable(_ entry: Entry<Value>?) -> Entry<Value>? {
        entry.flatMap { $0.isUsable(at: .now) ? $0 : nil }
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

/// Keeps an error of the source apart from those of Redis, until it leaves the level: a source may be Redis, too.
struct SourceFailure: Error {
    let cause: any Error
}
