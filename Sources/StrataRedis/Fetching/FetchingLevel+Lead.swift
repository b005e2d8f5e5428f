internal import Strata

extension FetchingLevel {
    /// Competes for the lease until there is a value, or this process fetches it.
    ///
    /// While another process leads, this one waits for something to happen to the key, and not for the lease: the value
    /// that is stored wakes it, an end without a value, or an invalidation. While changes are not told it looks again at
    /// random intervals. In any case it competes again when the lease has had its time. Beside a lease that stands nothing is
    /// fetched: who has waited for ``LeaseOptions/waitLimit`` gives up.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - names: Its names.
    ///   - found: What lies in Redis, to be replaced.
    ///   - request: The read.
    ///   - waits: Whether another instance's fetch is waited for.
    ///   - seat: The key's part in a fetch of several; left when another instance fetches the key.
    /// - Returns: The entry, or that another instance fetches it.
    /// - Throws: ``SourceFailure``; ``WaitLimitReached``; `CancellationError`.
    func lead(
        _ key: Key,
        _ names: KeyNames,
        _ found: RedisLevel<Key, Value>.Finding,
        _ request: ReadRequest,
        waits: Bool,
        _ seat: Fetch<Key, Value>.Slot? = nil
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
        _ seat: Fetch<Key, Value>.Slot?
    ) async throws -> Led {
        var finding = found
        var waiting = Waiting(request, upTo: options.waitLimit)
        defer { waiting.end() }
        while !finding.belongsToNewerRelease {
            let number = level.shared.waiters.enter(names.value.bytes)
            defer { level.shared.waiters.leave(number) }
            let ticket = level.shared.gate.ticket(for: names.fingerprint)
            let pending = level.redis.outage.replay.reach(over: names, level.keyspace)
            // Redis has answered each time before; a long wait must not spend what the call has for it.
            let answer =
                if waiting.hasWaited {
                    try await level.redis.budgeted { try await ask(names, replacing: finding) }
                } else {
                    try await ask(names, replacing: finding)
                }
            switch answer {
            case .value(let bytes):
                finding = try await level.open(bytes, names, ticket, pending)
                if let entry = finding.entry, entry.isFresh(at: .now) { return .entry(entry) }
            case .leads(let lease, let failures):
                return try await fetch(key, lease, ticket, failures: failures, replacing: finding, request, seat)
            case .failed(let message, let retryAfter):
                throw sourceFailure(key, message, retryAfter: retryAfter)
            case .waits(let remaining, let holder):
                guard waits else { return .othersLead }
                seat?.leave()
                if !waiting.hasWaited { level.counters.add(\.waits) }
                let deadline = try waiting.deadline(holder, remaining, isTold: level.shared.isTold(names.fingerprint))
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

    private func ask(
        _ names: KeyNames,
        replacing finding: RedisLevel<Key, Value>.Finding
    ) async throws -> Lease.Answer {
        try await Lease.readOrLead(
            level.redis,
            level.keyspace,
            names,
            duration: options.duration,
            replacing: finding.stamp
        )
    }

    /// Fetches for a read that wants nothing of what lies in Redis, and stores what was fetched if nobody else fetches.
    ///
    /// - Returns: The entry; that others lead, also when a newer release does, or Redis cannot be asked.
    /// - Throws: ``SourceFailure``; `CancellationError`.
    func leadBeside(
        _ key: Key,
        _ names: KeyNames,
        _ request: ReadRequest,
        _ seat: Fetch<Key, Value>.Slot?
    ) async throws -> Led {
        let ticket = level.shared.gate.ticket(for: names.fingerprint)
        let answer: Lease.Answer
        do {
            answer = try await Lease.readOrLead(
                level.redis,
                level.keyspace,
                names,
                duration: options.duration,
                replacing: nil,
                .beside
            )
        } catch is RedisError {
            return .othersLead
        }
        switch answer {
        case .leads(let lease, let failures):
            guard lease.replacedHeader.map({ level.isOfNewerRelease($0) }) != true else {
                await lease.end(.withoutValue)
                return .othersLead
            }
            return try await fetch(key, lease, ticket, failures: failures, replacing: .nothing, request, seat)
        case .failed(let message, let retryAfter):
            throw SourceFailure(CacheError.sourceFailed(message, retryAfter: retryAfter))
        case .waits, .value: return .othersLead
        }
    }
}

extension FetchingLevel {
    /// The failure of a fetch that is not to be repeated yet: as it was thrown, if that was in this process, else as much of it
    /// as has travelled.
    private func sourceFailure(_ key: Key, _ message: String, retryAfter: Duration) -> SourceFailure {
        let told = CacheError.sourceFailed(message, retryAfter: retryAfter)
        // Another process may have failed since, in another way.
        guard let own = sourceErrors.left(for: key, at: .now)?.reason,
            message.hasPrefix(TransferredError.text(of: own).prefix(Self.comparedLength))
        else { return SourceFailure(told) }
        return SourceFailure(own, retryAfter: retryAfter)
    }

    /// How much of a failure's text is sure to come back from Redis as it was sent.
    private static var comparedLength: Int { 24 }
}

/// The waiting of one caller for another process.
private struct Waiting {
    private let request: ReadRequest
    private let since = MonotonicInstant.now
    private let giveUp: MonotonicInstant
    private(set) var hasWaited = false
    private var holder = ""
    private var pause = 2.0

    init(_ request: ReadRequest, upTo limit: Duration) {
        self.request = request
        giveUp = since.advanced(by: limit)
    }

    /// When to compete again: when the lease has ended, with some jitter so that not all do at once.
    ///
    /// Sooner where nobody tells of changes; and once more when the caller has waited long enough.
    ///
    /// - Throws: ``WaitLimitReached`` when that is over, too.
    mutating func deadline(
        _ holder: String,
        _ remaining: Duration,
        isTold: Bool
    ) throws -> MonotonicInstant {
        hasWaited = true
        self.holder = holder
        let now = MonotonicInstant.now
        guard now < giveUp else { throw WaitLimitReached() }
        let look = now.advanced(by: .milliseconds(pause * Double.random(in: 0.5...1)))
        pause = min(pause * 1.5, 100)
        let lease = now.advanced(by: remaining + .milliseconds(Int64.random(in: 1...20)))
        return min(isTold ? max(lease, look) : look, giveUp)
    }

    func end() {
        guard hasWaited else { return }
        request.recorder?.step(.waited, at: .redis, from: since, to: .now, whom: holder)
    }
}
