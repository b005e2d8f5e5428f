internal import Strata

extension FetchingLevel {
    /// Competes for the lease until there is a value, or this process fetches it.
    ///
    /// While another process has the lease, this one waits for an event of the key, and not for the lease: the stored
    /// value, an end without a value, or an invalidation. Without the link it looks again at random intervals. In any
    /// case it competes again when the lease could have ended. It fetches nothing beside a lease that stands: a caller
    /// that has waited for ``LeaseOptions/waitLimit`` gives up. The exception is one that has waited for five leases in
    /// turn which brought no value that it may use: the source says that its answers are not to be kept, and all
    /// instances would fetch one after the other.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - names: Its names.
    ///   - found: The value in Redis that the fetch replaces.
    ///   - request: The read.
    ///   - waits: Whether to wait for another instance's fetch.
    ///   - slot: The key's part in a fetch of several; left when another instance fetches the key.
    /// - Returns: The entry, or that another instance fetches it.
    /// - Throws: ``SourceFailure``; ``WaitLimitReached``; `CancellationError`.
    func lead(
        _ key: Key,
        _ names: KeyNames,
        _ found: RedisLevel<Key, Value>.Finding,
        _ request: ReadRequest,
        waits: Bool,
        _ slot: Fetch<Key, Value>.Slot? = nil
    ) async throws -> Led {
        defer { slot?.leave() }
        do {
            return try await compete(key, names, found, request, waits: waits, slot)
        } catch is RedisError {
            return .entry(try await fetchUncoordinated(key, names, request, slot))
        }
    }

    private func compete(
        _ key: Key,
        _ names: KeyNames,
        _ found: RedisLevel<Key, Value>.Finding,
        _ request: ReadRequest,
        waits: Bool,
        _ slot: Fetch<Key, Value>.Slot?
    ) async throws -> Led {
        var finding = found
        var waiting = Waiting(request, upTo: options.waitLimit, waitDurations, time)
        defer { waiting.end() }
        while !finding.belongsToNewerRelease {
            let number = level.shared.waiters.enter(names.value.bytes)
            defer { level.shared.waiters.leave(number) }
            let ticket = level.shared.ticket(for: names.fingerprint)
            let pending = level.redis.outage.replay.reach(over: names, level.keyspace)
            let mode: Lease.Mode = request.insists(on: Value.self) ? .exclusive : .ordinary
            // Redis has answered so far; a long wait must not spend the budget of the call.
            let answer =
                if waiting.hasWaited {
                    try await level.redis.budgeted {
                        try await ask(key, names, replacing: finding.stamp, mode, request)
                    }
                } else {
                    try await ask(key, names, replacing: finding.stamp, mode, request)
                }
            switch answer {
            case .value(let bytes):
                finding = try await noting(key, request) { try await level.open(bytes, names, ticket, pending) }
                if let entry = finding.entry, isServed(entry, request) { return .entry(entry) }
            case .leads(let lease, let failures):
                // What this instance fetches is no part of its wait for others.
                waiting.end()
                guard await mayReplace(lease, found: finding.stamp) else {
                    return .entry(try await fetchUncoordinated(key, names, request, slot))
                }
                return try await fetch(key, lease, ticket, failures: failures, replacing: finding, request, slot)
            case .failed(let message, let retryAfter):
                let failure = sourceFailure(key, message, retryAfter: retryAfter)
                request.recorder?.backedOff(failure.cause, since: .now)
                throw failure
            case .waits(_, let holder) where waits && level.redis.leases.isToFill(holder.token):
                // The read that waits may be the one that fills a level above this one when it has got an answer here.
                waiting.end()
                return .entry(try await fetchUncoordinated(key, names, request, slot))
            case .waits(let remaining, let holder):
                guard waits else { return .othersLead }
                slot?.leave()
                if !waiting.hasWaited { level.counters.add(\.waits) }
                let deadline = try waiting.deadline(holder, remaining, isTold: level.shared.isTold(names.fingerprint))
                guard waiting.leases <= Waiting.mostLeases else {
                    waiting.end()
                    return .entry(try await fetchUncoordinated(key, names, request, slot))
                }
                // A value that was read on the I/O thread counts only while no invalidation is pending.
                guard let news = try await level.shared.waiters.wait(number, until: deadline), pending == .nothing,
                    level.redis.outage.replay.reach(over: names, level.keyspace) == .nothing
                else { continue }
                finding = try await noting(key, request) {
                    try await level.open(news.bytes, names, news.ticket, .nothing)
                }
                if let entry = finding.entry, isServed(entry, request) { return .entry(entry) }
            }
        }
        waiting.end()
        return .entry(try await fetchUncoordinated(key, names, request, slot))
    }

    /// Whether a read that has waited for a value is served with what has come.
    private func isServed(_ entry: Entry<Value>, _ request: ReadRequest) -> Bool {
        let now = time.now
        guard !request.isTooOld(entry, at: now) else { return false }
        guard !entry.isFresh(at: now) else { return true }
        // Its source gives what is stale at once: another fetch would bring no better one.
        guard request.verdict(on: entry, at: now) == .serveAndRefresh else { return false }
        request.recorder?.stale(because: .refreshing)
        return true
    }

    /// Asks for the value or the lease.
    ///
    /// A failure counts as one of Redis.
    private func ask(
        _ key: Key,
        _ names: KeyNames,
        replacing stamp: [UInt8]?,
        _ mode: Lease.Mode,
        _ request: ReadRequest
    ) async throws -> Lease.Answer {
        try await noting(key, request) {
            try await level.counting {
                try await level.redis.inTurn(for: names.value) {
                    try await Lease.readOrLead(
                        level.redis,
                        level.keyspace,
                        names,
                        duration: options.duration,
                        replacing: stamp,
                        mode,
                        traceParent: request.recorder.traceParent
                    )
                }
            }
        }
    }

    /// Asks Redis on the way to a lease; a failure is a step of the read, and an event.
    private func noting<Answer>(
        _ key: Key,
        _ request: ReadRequest,
        _ ask: () async throws -> Answer
    ) async throws -> Answer {
        let start = request.recorder == nil ? .distantPast : MonotonicInstant.now
        do {
            return try await ask()
        } catch let error as RedisError {
            request.recorder?.failed(error, at: .redis, from: start)
            level.tellFailure(error, key)
            throw error
        }
    }

    /// Fetches for a read that must not use the value in Redis, and stores the result if no other instance fetches.
    ///
    /// - Returns: The entry; or that another instance fetches, a newer release wrote the value, or Redis cannot be
    ///   asked.
    /// - Throws: ``SourceFailure``; `CancellationError`.
    func leadBeside(
        _ key: Key,
        _ names: KeyNames,
        _ request: ReadRequest,
        _ slot: Fetch<Key, Value>.Slot?
    ) async throws -> Led {
        let ticket = level.shared.ticket(for: names.fingerprint)
        let answer: Lease.Answer
        do {
            let mode: Lease.Mode = request.insists(on: Value.self) ? .exclusive : .beside
            answer = try await ask(key, names, replacing: nil, mode, request)
        } catch is RedisError {
            return .othersLead
        }
        switch answer {
        case .leads(let lease, let failures):
            guard await mayReplace(lease) else { return .othersLead }
            return try await fetch(key, lease, ticket, failures: failures, replacing: .nothing, request, slot)
        case .failed(let message, let retryAfter):
            let failure = sourceFailure(key, message, retryAfter: retryAfter)
            request.recorder?.backedOff(failure.cause, since: .now)
            throw failure
        case .waits, .value: return .othersLead
        }
    }

    /// Whether a fetch under a lease may replace what is there: a newer release's value stays, and the lease ends.
    ///
    /// - Parameters:
    ///   - lease: The lease.
    ///   - stamp: The version stamp of the value that was judged before, as one that is void.
    /// - Returns: Whether it may.
    private func mayReplace(_ lease: Lease, found stamp: [UInt8]? = nil) async -> Bool {
        guard let header = lease.replacedHeader, Envelope.stamp(of: header) != stamp,
            (try? await level.holdsNewerRelease(header, lease.names)) ?? true
        else { return true }
        await lease.end(.withoutValue)
        return false
    }
}

extension FetchingLevel {
    /// The failure of a fetch during its back-off: the error itself if this process threw it, otherwise what another
    /// process recorded of it.
    private func sourceFailure(_ key: Key, _ message: String, retryAfter: Duration) -> SourceFailure {
        let told = CacheError.sourceFailed(message, retryAfter: retryAfter)
        // Another process may have failed since with another error.
        guard let own = sourceErrors.left(for: key, at: time.now)?.reason,
            message.hasPrefix(TransferredError.text(of: own).prefix(Self.comparedLength))
        else { return SourceFailure(told) }
        return SourceFailure(own, retryAfter: retryAfter)
    }

    /// The length up to which a failure's text comes back from Redis unchanged.
    private static var comparedLength: Int { 24 }
}

/// The waiting of one caller for other processes, by the running time.
private struct Waiting {
    private let request: ReadRequest
    private let clock: CacheClock
    private let since: MonotonicInstant
    private let giveUp: MonotonicInstant
    /// After as many leases that have brought nothing the next one will bring nothing either.
    static let mostLeases = 5

    private let durations: WorkDurations
    private(set) var hasWaited = false
    private var isOver = false
    /// How many leases were waited for.
    private(set) var leases = 0
    private var holder = Lease.Holder()
    /// Since when the present holder is waited for.
    private var begin: MonotonicInstant
    private var pause = 2.0

    init(_ request: ReadRequest, upTo limit: Duration, _ durations: WorkDurations, _ clock: CacheClock) {
        self.request = request
        self.durations = durations
        self.clock = clock
        since = clock.running
        giveUp = since.advanced(by: limit)
        begin = since
    }

    /// When to compete again: after the end of the lease, with some jitter so that not all instances do at once.
    ///
    /// Sooner without a link, and once more when the caller has waited for its limit.
    ///
    /// - Throws: ``WaitLimitReached`` after that.
    mutating func deadline(
        _ holder: Lease.Holder,
        _ remaining: Duration,
        isTold: Bool
    ) throws -> MonotonicInstant {
        let now = clock.running
        if !hasWaited || holder != self.holder { leases += 1 }
        if hasWaited, holder != self.holder { note(until: now) }
        hasWaited = true
        self.holder = holder
        guard now < giveUp else { throw WaitLimitReached() }
        let look = now.advanced(by: .milliseconds(pause * Double.random(in: 0.5...1)))
        pause = min(pause * 1.5, 100)
        let lease = now.advanced(by: remaining + .milliseconds(Int64.random(in: 1...20)))
        return min(isTold ? max(lease, look) : look, giveUp)
    }

    /// Takes down how long the caller has waited in all; once.
    mutating func end() {
        guard hasWaited, !isOver else { return }
        isOver = true
        let now = clock.running
        durations.tell(.wait, since.nanoseconds(to: now))
        note(until: now)
    }

    /// Takes down how long the present holder was waited for.
    private mutating func note(until now: MonotonicInstant) {
        request.recorder?.waited(for: holder.name, holder.traceParent, at: .redis, from: begin, to: now)
        begin = now
    }
}
