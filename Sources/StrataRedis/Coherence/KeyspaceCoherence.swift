internal import Strata
internal import Synchronization

/// Keeps the readers of one keyspace coherent with changes made elsewhere: its gate, its own writes, and its waiters.
///
/// In a cluster the keyspace has parts, each with marks and a trust of its own.
final class KeyspaceCoherence: PartListener {
    let gate: FillGate
    let waiters: KeyWaiters
    let arrival: LinkArrival
    /// `nil` if no replica is read.
    let changes: RecentChanges?
    /// `nil` if the mode of tracking is fixed.
    private let meter: TrackingMeter?
    /// Whether the keyspace has parts.
    let isDivided: Bool
    /// The invalidations of each part; of the whole keyspace where it has no parts.
    let parts: [KeyspaceTags]
    /// The parts whose links stand.
    private let standing = Locked<Set<KeyspacePart?>>([])
    private let keyspace: Keyspace
    /// Tells what is heard, and whether anything can be.
    private let events: EventHub
    private let changesHeard = Atomic<Int>(0)
    /// Whether the level has a link.
    private let isListener: Bool
    /// Reads the version of the value under a name and passes it on, on the I/O thread; `nil` when it cannot be read.
    private let look: @Sendable ([UInt8], @escaping @Sendable (EntryVersion?) -> Void) -> Void
    /// Reads the value under a name, on the I/O thread; `nil` for no value, or when it cannot be read.
    private let get: @Sendable ([UInt8], @escaping @Sendable ([UInt8]?) -> Void) -> Void
    private let ownWrites = Locked(OwnWrites())
    /// How long an own write may take.
    private let longestWrite: Duration
    /// New tickets of values with which levels above are being filled, and which may not be committed yet.
    let prepared = Locked<[PreparedTicket]>([])
    private let observers = Locked<[UInt64: @Sendable (KeyspaceChange) -> Void]>([:])
    private let feeds = Locked(Feeds())

    /// The streams of changes, each fed by an observer of its number.
    private struct Feeds {
        var open: [UInt64: AsyncStream<KeyspaceChange>.Continuation] = [:]
        /// Whether nothing more comes.
        var hasEnded = false
    }

    init(
        keyspace: Keyspace,
        clock: CacheClock = .current,
        events: EventHub = EventHub(),
        untrustedLifetime: Duration?,
        isAwaited: Bool = false,
        changes: RecentChanges? = nil,
        meter: TrackingMeter? = nil,
        longestWrite: Duration,
        look: @escaping @Sendable ([UInt8], @escaping @Sendable (EntryVersion?) -> Void) -> Void,
        get: @escaping @Sendable ([UInt8], @escaping @Sendable ([UInt8]?) -> Void) -> Void,
        parts: [KeyspacePart?] = [nil],
        tagLookout: (KeyspacePart?) -> KeyspaceTags.Lookout
    ) {
        self.keyspace = keyspace
        self.events = events
        waiters = KeyWaiters(clock)
        self.changes = changes
        self.meter = meter
        self.longestWrite = longestWrite
        self.look = look
        self.get = get
        isListener = untrustedLifetime != nil
        let gate = FillGate(untrustedLifetime: untrustedLifetime, parts: parts.count)
        self.gate = gate
        isDivided = parts.count > 1
        arrival = LinkArrival(isAwaited: isAwaited)
        self.parts = parts.map {
            KeyspaceTags(keyspace: keyspace, part: $0, gate: gate, lookout: tagLookout($0))
        }
        for tags in self.parts {
            clock.moved?.ask(tags)
            tags.onClear { [weak self, part = tags.part] in self?.cleared(part) }
        }
    }

    deinit { ended() }

    /// The invalidations of a part, or of the whole keyspace where it has no parts.
    func tags(of part: KeyspacePart?) -> KeyspaceTags { parts[part?.number ?? 0] }

    /// The highest invalidation number that is known, of the keyspace or of each part.
    var numbers: [UInt64] { parts.indices.map { gate.sequence(ofPart: $0) } }

    /// Whether entries of all parts can be judged without asking the server.
    var isKnown: Bool { parts.allSatisfy { $0.isKnown } }

    /// Whether the link stands that tells of changes of a key.
    ///
    /// Without a link, memory may be trusted all the same.
    func isTold(_ fingerprint: UInt64) -> Bool {
        isListener && .now < gate.trustedUntil(ofPart: gate.part(of: fingerprint))
    }

    /// A ticket for what is asked of the server from now on.
    func ticket(for fingerprint: UInt64) -> Ticket {
        meter?.reads(fingerprint)
        return gate.ticket(for: fingerprint)
    }

    private func part(of name: [UInt8]) -> KeyspacePart? { isDivided ? KeyspacePart(ofName: name) : nil }

    private func fingerprint(of name: [UInt8]) -> UInt64 { KeyNames.fingerprint(of: name, in: part(of: name)) }

    /// Whether a key belongs to a part.
    private func belongs(_ fingerprint: UInt64, to part: KeyspacePart?) -> Bool {
        gate.part(of: fingerprint) == part?.number ?? 0
    }

    // MARK: Own writes

    /// A write of this process is about to be sent.
    ///
    /// Its echo will be checked, and not taken for another process's change.
    func beginWrite(_ names: KeyNames, _ version: EntryVersion) {
        changes?.begins(names.fingerprint)
        // A script that writes reads what it has written.
        meter?.reads(names.fingerprint)
        guard isListener else { return }
        let fingerprint = names.fingerprint
        guard isTold(fingerprint) else { return }
        if ownWrites.withLock({ $0.begin(fingerprint, version) }) { gate.void(fingerprint, because: .changedElsewhere) }
    }

    /// The write did not happen.
    func abandonWrite(_ names: KeyNames, _ version: EntryVersion) {
        if ownWrites.withLock({ $0.abandon(names.fingerprint, version) }) {
            gate.void(names.fingerprint, because: .changedElsewhere)
        }
    }

    /// A write with which the level is filled has failed.
    ///
    /// Where it may have happened all the same, its echo may have been taken for that, and what is kept of the key is
    /// older.
    func failWrite(_ names: KeyNames, _ version: EntryVersion, _ error: any Error) {
        abandonWrite(names, version)
        guard (error as? RedisError)?.effect != .notApplied else { return }
        gate.void(names.fingerprint, because: .replaced)
    }

    /// Keeps the ticket of a value that this process has written and with which levels above are being filled.
    ///
    /// Whether or not they are, the older value is served no longer than the trust lasts that was given before the
    /// write.
    func prepare(_ ticket: PreparedTicket) {
        prepared.withLock { $0.append(ticket) }
    }

    // MARK: PartListener

    func established(_ part: KeyspacePart?, trustedUntil: MonotonicInstant) {
        // Everything that was read until now may have changed unnoticed, and is void. Trust comes last, or it would
        // cover that, too.
        tags(of: part).linkEstablished()
        gate.setTrustedUntil(trustedUntil, ofPart: part?.number ?? 0)
        waiters.wakeAll()
        let isWhole = standing.withLock { standing in
            standing.insert(part)
            return standing.count == parts.count
        }
        guard isWhole else { return }
        arrival.end()
        report(.listening)
        events.tell(.linkEstablished) { CacheEvent($0, at: .redis) }
    }

    func trusted(_ part: KeyspacePart?, until: MonotonicInstant, told: MonotonicInstant) {
        commitPrepared(part, begunBefore: told)
        ownWrites.withLock { writes in
            writes.told(begunBefore: told.advanced(by: .zero - longestWrite)) { belongs($0, to: part) }
        }
        gate.setTrustedUntil(until, ofPart: part?.number ?? 0)
        tags(of: part).linkTrusted(told: told)
        meter?.look(at: .coarse)
    }

    func lost(_ part: KeyspacePart?) {
        gate.setTrustedUntil(.distantPast, ofPart: part?.number ?? 0)
        tags(of: part).linkLost()
        commitPrepared(part, begunBefore: .distantFuture)
        removeOwnWrites(part)
        waiters.wakeAll()
        arrival.end()
        let wasWhole = standing.withLock { standing in
            defer { standing.remove(part) }
            return standing.count == parts.count
        }
        report(.untrusted)
        if wasWhole { events.tell(.linkLost) { CacheEvent($0, at: .redis) } }
    }

    private func removeOwnWrites(_ part: KeyspacePart?) {
        ownWrites.withLock { writes in writes.removeAll { belongs($0, to: part) } }
    }

    func changed(_ name: [UInt8]) {
        let fingerprint = fingerprint(of: name)
        changes?.heard(fingerprint)
        meter?.changed(fingerprint, toldTo: self)
        switch ownWrites.withLock({ $0.notice(fingerprint) }) {
        case .changed: changedElsewhere(name, fingerprint)
        case .look(let version): look(at: name, fingerprint, for: version)
        case .held: break
        }
        wakeWaiters(for: name, fingerprint)
        report(.changed(RedisKey(name)))
    }

    /// How many changes of keys, tags and all keys Redis has told of that voided something here, or may have.
    var heard: Int { changesHeard.load(ordering: .relaxed) }

    private func changedElsewhere(_ name: [UInt8], _ fingerprint: UInt64) {
        gate.void(fingerprint, because: .changedElsewhere)
        tellOfChange("a key", RedisKey(name))
    }

    /// Tells those that observe the level that Redis has told of a change.
    private func tellOfChange(_ what: String, _ name: RedisKey? = nil) {
        changesHeard.wrappingAdd(1, ordering: .relaxed)
        events.tell(.invalidationHeard) { CacheEvent($0, at: .redis, key: name, detail: what) }
    }

    /// Finds out whether an own write is still the one that is stored.
    private func look(at name: [UInt8], _ fingerprint: UInt64, for version: EntryVersion) {
        look(name) { [self] found in
            switch ownWrites.withLock({ $0.looked(fingerprint, for: version, found: found) }) {
            case .nothing: break
            case .changed: changedElsewhere(name, fingerprint)
            case .look(let version): look(at: name, fingerprint, for: version)
            }
        }
    }

    /// Wakes the waiters of a key with the value that is stored now: reading it here saves each of them two changes of
    /// thread.
    private func wakeWaiters(for name: [UInt8], _ fingerprint: UInt64) {
        let awaiting = waiters.awaiting(name)
        guard !awaiting.isEmpty else { return waiters.wake(name) }
        let ticket = gate.ticket(for: fingerprint)
        get(name) { [self] bytes in
            waiters.wake(awaiting, with: bytes.map { .init(bytes: $0, ticket: ticket) })
            // A waiter that had only entered, or has come since, competes anew.
            waiters.wake(name)
        }
    }

    /// Commits the tickets of writes that began before an instant, before trust is extended up to it.
    ///
    /// Later writes have until the next call; until then the older value may still be served.
    private func commitPrepared(_ part: KeyspacePart?, begunBefore instant: MonotonicInstant) {
        let due = prepared.withLock { prepared in
            let rest = prepared.partition { $0.begun < instant && belongs($0.fingerprint, to: part) }
            defer { prepared.removeSubrange(rest...) }
            return prepared[rest...]
        }
        for next in due { gate.commit(next.ticket, for: next.fingerprint) }
    }

    func everythingChanged(_ part: KeyspacePart?) {
        changes?.heardOfAll()
        tags(of: part).everythingChanged()
        removeOwnWrites(part)
        waiters.wakeAll()
        report(.everythingChanged)
        tellOfChange("everything")
    }

    func marksChanged(_ part: KeyspacePart?) {
        guard isDivided == (part != nil) else { return }
        tags(of: part).hashChanged()
    }

    func event(_ message: [UInt8], _ part: KeyspacePart?) {
        if TagEvent.isMeant(by: message) {
            // Of a part it is told on the part's own channel.
            return isDivided == (part != nil) ? tagEvent(message, part) : ()
        }
        guard let first = message.first, let event = KeyspaceEvent(rawValue: first) else { return }
        let name = Array(message.dropFirst())
        guard name.starts(with: keyspace.values) else { return }
        switch event {
        case .invalidated:
            // The server sends no notice for a value that did not exist, but memory may hold an older one.
            let fingerprint = fingerprint(of: name)
            changes?.heard(fingerprint)
            ownWrites.withLock { $0.believe(fingerprint) }
            changedElsewhere(name, fingerprint)
            report(.changed(RedisKey(name)))
        case .ended: break
        }
        waiters.wake(name)
    }

    private func tagEvent(_ message: [UInt8], _ part: KeyspacePart?) {
        let effects = tags(of: part).heard(message)
        if !effects.voided.isEmpty {
            report(.tagsChanged)
            tellOfChange(effects.voided.count == 1 ? "a tag" : "\(effects.voided.count) tags")
        }
        if effects.voidsEverything { cleared(part) }
    }

    /// Everything in the keyspace, or in the part, is void.
    private func cleared(_ part: KeyspacePart?) {
        changes?.heardOfAll()
        removeOwnWrites(part)
        waiters.wakeAll()
        report(.everythingChanged)
        tellOfChange("everything")
    }

    // MARK: Observers

    func addObserver(_ observer: @escaping @Sendable (KeyspaceChange) -> Void) -> UInt64 {
        let number = UInt64.random(in: 0 ... .max)
        observers.withLock { $0[number] = observer }
        return number
    }

    func removeObserver(_ number: UInt64) {
        observers.withLock { $0[number] = nil }
    }

    /// The changes from now on, for a reader; see ``RedisLevel/changes(bufferingNewest:)``.
    func stream(bufferingNewest limit: Int) -> AsyncStream<KeyspaceChange> {
        let (stream, feed) = AsyncStream.makeStream(of: KeyspaceChange.self, bufferingPolicy: .bufferingNewest(limit))
        let number = addObserver { feed.yield($0) }
        feed.onTermination = { [weak self] _ in
            self?.removeObserver(number)
            _ = self?.feeds.withLock { $0.open.removeValue(forKey: number) }
        }
        let hasEnded = feeds.withLock { feeds in
            if !feeds.hasEnded { feeds.open[number] = feed }
            return feeds.hasEnded
        }
        if hasEnded { feed.finish() }
        return stream
    }

    /// Ends what reads changes: the client, or the level, has ended.
    func ended() {
        let left = feeds.withLock { feeds in
            feeds.hasEnded = true
            return exchange(&feeds.open, with: [:])
        }
        for feed in left.values { feed.finish() }
    }

    private func report(_ change: KeyspaceChange) {
        let all = observers.withLock { $0.isEmpty ? [] : Array($0.values) }
        for observer in all { observer(change) }
    }
}

extension KeyspaceCoherence: LinkListener {
    func linkEstablished(trustedUntil: MonotonicInstant) { established(nil, trustedUntil: trustedUntil) }

    func linkTrusted(until: MonotonicInstant, told: MonotonicInstant) { trusted(nil, until: until, told: told) }

    func linkLost() { lost(nil) }

    func everythingChanged() { everythingChanged(nil) }
}
