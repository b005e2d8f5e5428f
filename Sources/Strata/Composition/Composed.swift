internal import Logging

/// One level above another: ask the upper, then the lower, and fill the upper with what the lower had.
///
/// | operation | upper | lower |
/// |---|---|---|
/// | get | asked first; any error but a cancellation counts as a miss | asked on a miss; its error is the caller's |
/// | set | written when the lower has ended, also when that failed | written first |
/// | remove, clear | told | told, also when the upper failed |
///
/// Above Redis, and above a source that is written, a set that fails below removes the key above: others may have
/// changed it.
///
/// A fill counts only if no invalidation of its key came after the lower level was asked; see ``FillGate``. So a
/// running get never undoes a remove that has returned.
///
/// No caller gets an error of the upper level: it is counted (``failedReads``, ``failedFills``, ``lateFills``), logged
/// once in ten seconds, and stands in the read trace. Memory is filled at once. A get waits for other levels to be
/// filled for as long as `fillWaitLimit`; then the fill goes on in the background for up to ten seconds, 64 of them at
/// once. ``drain(within:)`` waits for them.
///
/// A level belongs to one composition. Composing is associative: `(a over b) over c` behaves as `a over (b over c)`.
public struct Composed<Upper: CacheLevel, Lower: CacheLevel>: AnsweringLevel
where Upper.Key == Lower.Key, Upper.Value == Lower.Value {
    public typealias Key = Lower.Key
    public typealias Value = Lower.Value

    /// The level that is asked first.
    public let upper: Upper
    /// The level that is asked when the upper one misses.
    public let lower: Lower
    /// The gate that voids the fills of the upper level.
    @usableFromInline
    let fillGate: FillGate
    /// Keeps the tickets of an upper level that loses them.
    @usableFromInline
    let ledger: FillLedger<Lower.Key>?
    @usableFromInline
    let hearing: Hearing
    /// How long a get waits for the upper level to be filled, if that is not memory.
    package var fillWaitLimit: Duration { fills.waitLimit }
    /// The upper level, if it counts hits that are not judged yet.
    private let counted: (any CountedLevel)?
    let failures: LevelFailures
    let fills: Fills
    let refreshes: Refreshes<Lower.Key, RefreshedEntry<Lower.Key>>
    @usableFromInline
    let time: CacheClock
    /// The observers of reads and fills of the upper level.
    @usableFromInline
    let events = EventHub()

    init(
        upper: Upper,
        lower: Lower,
        fillWaitLimit: Duration,
        logger: Logger?,
        rememberedFills: Int = 1 << 16
    ) {
        time = .common(upper.clock, lower.clock) ?? .current
        failures = LevelFailures(logger)
        fills = Fills(waitLimit: fillWaitLimit, time)
        refreshes = Refreshes(time, completionLimit: (lower.policy ?? FreshnessPolicy()).completionLimit)
        self.upper = upper
        self.lower = lower
        hearing = Hearing(upper: upper.gate, lower: lower.gate)
        fillGate = lower.gate ?? FillGate()
        counted = upper.counting
        if let counted {
            counted.reserveRoom(in: fillGate)
        } else {
            fillGate.reserve(for: nil)
        }
        // A level with a gate returns that gate's tickets, and so none that it was given.
        ledger = upper.keepsTickets && upper.gate == nil ? nil : FillLedger(capacity: rememberedFills)
    }

    /// How many reads of the upper level have failed since the start.
    public var failedReads: Int { failures.reads.count }

    /// How many fills of the upper level have failed since the start.
    public var failedFills: Int { failures.fills.count }

    /// How many fills of the upper level took longer than a get waits, since the start.
    public var lateFills: Int { failures.lateFills.count }

    // MARK: Reading

    /// A fresh value in the upper level's memory, if nothing has voided it.
    @inlinable
    public func resident(
        _ key: Key,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Value>? {
        // Before: what is found may be older than a fill that comes meanwhile.
        let fill = ledger?.fill(of: key)
        let isJudgedAbove = answers.isJudgedAbove
        answers.isJudgedAbove = true
        let found = upper.resident(key, at: now, &answers)
        answers.isJudgedAbove = isJudgedAbove
        guard let found else { return nil }
        let ticket = ledger == nil ? found.ticket : fill?.ticket ?? .none
        guard fillGate.admits(ticket, at: now), fill?.seal?.isLive != false,
            ledger == nil || fill != nil || !fillGate.isFed
        else {
            withdrawHit(isMiss: false)
            return nil
        }
        if events.wants(.hit), !isJudgedAbove { tellHit(key) }
        return found
    }

    /// The upper level has counted a hit that is none.
    @usableFromInline
    @inline(never)
    func withdrawHit(isMiss: Bool) { counted?.withdrawHit(isMiss: isMiss) }

    /// The upper level's entry if it is valid and may be served; otherwise the lower level's, which then fills the
    /// upper.
    ///
    /// A stale entry of the upper level is returned when the lower level fails and it may still be served; at once,
    /// with a refresh in the background, where the policy or the request says so.
    ///
    /// - Throws: The lower level's own error, whatever happened above; `CancellationError`.
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        if request.rights != nil { return try await claim([key], request)[0] }
        if request.awaited != nil { return try await awaited(key, request) }
        let request = try request.sourced(by: lower)
        var above: Entry<Value>?
        var isFailing = false
        var heard = heardTicket(key)
        let early = request.writesLater ? fillGate.ticket(for: lower.fingerprint(of: key)) : nil
        if request.leavesOut(upper) {
            request.skipped(upper)
        } else {
            let start = request.recorder == nil ? .distantPast : MonotonicInstant.now
            do {
                above = try await upper.entry(for: key, request.judged)
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                isFailing = failures.read(error, of: upper)
                request.failed(error, at: upper, since: start)
            }
        }
        let start = MonotonicInstant.now
        let now = time.now(at: start)
        let found = above
        above = above.flatMap { judged($0, key, heard, at: start) }
        var spare: Entry<Value>?
        let decision = above.map { verdict(on: $0, of: key, request, at: now) } ?? .useless
        if let found { note(decision, on: found, above, of: key, heard, request, at: now) }
        switch decision {
        case .serve:
            if request.options.source == .never { request.recorder?.stale(because: .notAsked) }
            return above
        case .serveAndRefresh:
            if let found {
                request.recorder?.stale(because: .refreshing)
                refresh(key, found, heard, for: request, early)
            }
            return above
        case .fallBack: spare = above
        case .useless: spare = nil
        }
        guard !request.spares(lower) else {
            request.skipped(lower)
            return nil
        }
        if let rights = await rightsAbove([key], request, isFailing: isFailing) {
            // The upper level may have begun to hear of changes while it was asked, which voids the earlier notes.
            heard = heardTicket(key)
            heard.rights = rights
        }
        try Task.checkCancellation()

        let ticket = early ?? fillGate.ticket(for: lower.fingerprint(of: key))
        // A change before this moment voids the old entry, a later one the new entry.
        if let found, above != nil, judged(found, key, heard, at: start) == nil { (above, spare) = (nil, nil) }
        var asked = request.having(above, asFallback: spare != nil).filling
        if spare != nil { asked.retryHint = RetryHint() }
        let left = LeftFlights()
        asked.left = left
        heard = heard.asking(upper.gate)
        // Even where the levels below have served something else.
        defer { collect([key], left, [ticket], [heard], request, askedAt: now) }
        do {
            guard let below = try await lower.entry(for: key, asked) else {
                if found != nil { await removeOutdated(key, ticket, request) }
                return nil
            }
            return await filling(below, for: key, ticket, heard, request, askedAt: now)
        } catch {
            // A source may throw it by itself.
            if error is CancellationError, Task.isCancelled { throw error }
            // An entry that has been voided since is not served in the place of an error: the read begins anew, without
            // it.
            if spare != nil, let found, judged(found, key, heard, at: start) == nil {
                return try await entry(for: key, request)
            }
            guard let spare, spare.isUsable(at: time.now) else {
                request.retryHint?.tell(asked.retryHint?.delay)
                throw error
            }
            // Until then it is useless to ask again.
            if let delay = asked.retryHint?.delay ?? (error as? CacheError)?.retryAfter {
                refreshes.pause(RefreshedEntry(key, spare), for: delay)
            }
            request.failed(error, at: lower, since: start)
            request.recorder?.stale(because: (error as? CacheError)?.code == .timeout ? .late : .failed)
            return spare
        }
    }

    /// Joins a running read of the lower level, if the upper one is memory and has no entry of the key.
    ///
    /// The caller that began the read fills the upper level; a caller that joined does so if that has not happened.
    @inlinable
    public func join(_ key: Key, if isSought: () -> Bool) async throws -> Joined<Value>? {
        // In other cases the upper level needs more than the entry's own ticket.
        guard ledger == nil, hearing == .lower else { return nil }
        let tagChanges = fillGate.tagChanges
        let start = time.coarse
        let joined = try await lower.join(key) { isSought() && upper.lacks(key, isRead: true) }
        if let joined, upper.lacks(key, isRead: false) { await fill(key, joined, tagChanges, askedAt: start) }
        return joined
    }

    // MARK: Writing

    /// Writes both levels.
    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        _ = try await commit(entry, for: key)
    }

    /// Writes the lower level, then the upper one; both are tried.
    ///
    /// When two writes of a key overlap, the upper level keeps neither: it never holds an older entry than the lower
    /// level.
    ///
    /// - Throws: The error of the level that failed; ``CacheError/Code/levelsFailed`` when both did.
    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        var errors: [any Error] = []
        let entry = lower.gate == nil ? entry : entry.withNewVersion()
        let start = time.now
        let before = fillGate.ticket(for: lower.fingerprint(of: key))
        let seal = fillGate.seal(entry.bearing(lower).tags)
        var ticket: Ticket?
        do {
            ticket = try await lower.commit(entry, for: key)
        } catch {
            errors.append(error)
            // A value that a source of truth has refused, or was not given, is not true. A failure of a plain level,
            // which may be full, leaves the level above as it is.
            if lower.gate != nil || lower.writesSource || error is CancellationError {
                ticket = .void
                // A concurrent read may return the entry that it replaces.
                fillGate.void(lower.fingerprint(of: key))
            }
        }
        var kept = dated(entry.bearing(lower), for: key, at: start)
        if lower.gate != nil, upper.gate != nil { kept.hasNewVersion = false }
        kept.seal = seal
        if !entry.tags.isEmpty, entry.rights?.areOvertaken(at: fillGate) == true { ticket = .void }
        kept.ticket = ticket ?? fillGate.renew(before, for: lower.fingerprint(of: key)) ?? .void
        var heard: Ticket?
        do {
            heard = try await keep(kept, for: key, askedAt: start)
        } catch {
            errors.insert(error, at: 0)
        }
        try throwAny(errors)
        return switch hearing {
        case .neither: nil
        case .upper: heard ?? .void
        case .lower: kept.ticket
        case .both: .void
        }
    }

    /// The entry as the upper level keeps it: one without a lifetime ends when it ends below.
    func dated(_ entry: Entry<Value>, for key: Key, at now: MonotonicInstant) -> Entry<Value> {
        guard entry.freshUntil == .distantFuture, let policy = lower.policy else { return entry }
        return policy.stamping(entry, fingerprint: lower.fingerprint(of: key), at: now)
    }

    /// Removes the key from both levels; both are tried.
    ///
    /// - Throws: The error of the level that failed; ``CacheError/Code/levelsFailed`` when both did.
    public func remove(_ key: Key) async throws {
        // Before: no read sees the old value above any more. After: no level keeps what was read until now.
        fillGate.void(lower.fingerprint(of: key))
        var errors: [any Error] = []
        do { try await removeAbove(key) } catch { errors.append(error) }
        do { try await lower.remove(key) } catch { errors.append(error) }
        fillGate.void(lower.fingerprint(of: key))
        try throwAny(errors)
    }

    /// Empties both levels; both are tried.
    ///
    /// - Throws: The error of the level that failed; ``CacheError/Code/levelsFailed`` when both did.
    public func removeAll() async throws {
        fillGate.voidAll()
        var errors: [any Error] = []
        do { try await upper.removeAll() } catch { errors.append(error) }
        do { try await lower.removeAll() } catch { errors.append(error) }
        fillGate.voidAll()
        try throwAny(errors)
    }

    public func relieve(_ pressure: MemoryPressure) {
        upper.relieve(pressure)
        lower.relieve(pressure)
    }

    /// Waits for refreshes and fills in the background, and for those of both levels.
    public func drain(within limit: Duration) async {
        let end = time.now.advanced(by: limit)
        await concurrently { [upper] in
            await upper.drain(within: limit)
        } and: {
            await concurrently { [refreshes] in
                await refreshes.drain(within: limit)
            } and: {
                await lower.drain(within: limit)
            }
            // The refreshes may have begun the last of these.
            await fills.drain(within: max(time.now.duration(to: end), .zero))
        }
    }

    // MARK: Coherence

    /// The gate of whichever level has one: the lower level's, if both have.
    ///
    /// When both have one, the levels above cannot keep what is returned: a ticket belongs to one gate only.
    public var gate: FillGate? { hearing == .upper ? upper.gate : lower.gate }

    /// The number by which the level whose gate it is knows the key.
    public func fingerprint(of key: Key) -> UInt64 {
        hearing == .upper ? upper.fingerprint(of: key) : lower.fingerprint(of: key)
    }

    /// Whether the lower level does.
    public var lacksSource: Bool { lower.lacksSource }

    /// What the lower level says.
    public func stored(tags: [String]) -> [String] { lower.stored(tags: tags) }

    /// What the lower level says.
    public var commonTags: [String] { lower.commonTags }

    /// The clock that both levels go by.
    public var clock: CacheClock? { time }

    /// Whether one of the levels says so.
    public var writesSource: Bool { upper.writesSource || lower.writesSource }

    /// The lower level's; the upper one's if that has none.
    public var policy: FreshnessPolicy? { lower.policy ?? upper.policy }
}
