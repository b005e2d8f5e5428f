internal import Strata

/// Keeps the readers of one keyspace coherent with changes made elsewhere: its gate, its own writes, and its waiters.
final class KeyspaceCoherence: LinkListener {
    let gate: FillGate
    let waiters = KeyWaiters()
    let arrival: LinkArrival
    let tags: KeyspaceTags
    private let keyspace: Keyspace
    /// Whether the level has a link.
    private let isListener: Bool
    /// Reads the version of the value under a name and passes it on, on the I/O thread; `nil` when it cannot be read.
    private let look: @Sendable ([UInt8], @escaping @Sendable (EntryVersion?) -> Void) -> Void
    /// Reads the value under a name, on the I/O thread; `nil` for no value, or when it cannot be read.
    private let get: @Sendable ([UInt8], @escaping @Sendable ([UInt8]?) -> Void) -> Void
    private let ownWrites = Locked(OwnWrites())
    /// New tickets of values with which levels above are being filled, and which may not be committed yet.
    private let prepared = Locked<[PreparedTicket]>([])
    private let observers = Locked<[UInt64: @Sendable (KeyspaceChange) -> Void]>([:])

    init(
        keyspace: Keyspace,
        untrustedLifetime: Duration?,
        isAwaited: Bool = false,
        look: @escaping @Sendable ([UInt8], @escaping @Sendable (EntryVersion?) -> Void) -> Void,
        get: @escaping @Sendable ([UInt8], @escaping @Sendable ([UInt8]?) -> Void) -> Void,
        tagLookout: @escaping KeyspaceTags.Lookout
    ) {
        self.keyspace = keyspace
        self.look = look
        self.get = get
        isListener = untrustedLifetime != nil
        gate = FillGate(untrustedLifetime: untrustedLifetime)
        arrival = LinkArrival(isAwaited: isAwaited)
        tags = KeyspaceTags(keyspace: keyspace, gate: gate, lookout: tagLookout)
        tags.onClear { [weak self] in self?.cleared() }
    }

    /// Whether the link stands.
    ///
    /// Without a link, memory may be trusted all the same.
    var isTold: Bool { isListener && .now < gate.trustedUntil }

    // MARK: Own writes

    /// A write of this process is about to be sent.
    ///
    /// Its echo will be checked, and not taken for another process's change.
    func beginWrite(_ names: KeyNames, _ version: EntryVersion) {
        guard isTold else { return }
        if ownWrites.withLock({ $0.begin(names.fingerprint, version) }) { gate.void(names.fingerprint) }
    }

    /// The write did not happen.
    func abandonWrite(_ names: KeyNames, _ version: EntryVersion) {
        if ownWrites.withLock({ $0.abandon(names.fingerprint, version) }) { gate.void(names.fingerprint) }
    }

    /// Keeps the ticket of a value that this process has written and with which levels above are being filled.
    ///
    /// Whether or not they are, the older value is served no longer than the trust lasts that was given before the
    /// write.
    func prepare(_ ticket: PreparedTicket) {
        prepared.withLock { $0.append(ticket) }
    }

    // MARK: LinkListener

    func linkEstablished(trustedUntil: MonotonicInstant) {
        // Everything that was read until now may have changed unnoticed, and is void. Trust comes last, or it would
        // cover that, too.
        tags.linkEstablished()
        gate.setTrustedUntil(trustedUntil)
        waiters.wakeAll()
        arrival.end()
        report(.listening)
    }

    func linkTrusted(until: MonotonicInstant, told: MonotonicInstant) {
        commitPrepared(begunBefore: told)
        gate.setTrustedUntil(until)
        tags.linkTrusted()
    }

    func linkLost() {
        gate.setTrustedUntil(.distantPast)
        tags.linkLost()
        commitPrepared(begunBefore: .distantFuture)
        ownWrites.withLock { $0.removeAll() }
        waiters.wakeAll()
        arrival.end()
        report(.untrusted)
    }

    func changed(_ name: [UInt8]) {
        let fingerprint = KeyNames.fingerprint(of: name)
        switch ownWrites.withLock({ $0.notice(fingerprint) }) {
        case .changed: gate.void(fingerprint)
        case .look(let version):
            look(name) { [self] found in
                let isChange = ownWrites.withLock { $0.looked(fingerprint, for: version, found: found) }
                if isChange { gate.void(fingerprint) }
            }
        }
        wakeWaiters(for: name, fingerprint)
        report(.changed(RedisKey(name)))
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
    private func commitPrepared(begunBefore instant: MonotonicInstant) {
        let due = prepared.withLock { prepared in
            let rest = prepared.partition { $0.begun < instant }
            defer { prepared.removeSubrange(rest...) }
            return prepared[rest...]
        }
        for next in due { gate.commit(next.ticket, for: next.fingerprint) }
    }

    func everythingChanged() {
        tags.everythingChanged()
        ownWrites.withLock { $0.removeAll() }
        waiters.wakeAll()
        report(.everythingChanged)
    }

    func marksChanged() {
        tags.hashChanged()
    }

    func event(_ message: [UInt8]) {
        if TagEvent.isMeant(by: message) { return tagEvent(message) }
        guard let first = message.first, let event = KeyspaceEvent(rawValue: first) else { return }
        let name = Array(message.dropFirst())
        guard name.starts(with: keyspace.values) else { return }
        switch event {
        case .invalidated:
            // The server sends no notice for a value that did not exist, but memory may hold an older one.
            let fingerprint = KeyNames.fingerprint(of: name)
            ownWrites.withLock { $0.believe(fingerprint) }
            gate.void(fingerprint)
            report(.changed(RedisKey(name)))
        case .ended: break
        }
        waiters.wake(name)
    }

    private func tagEvent(_ message: [UInt8]) {
        let effects = tags.heard(message)
        if !effects.voided.isEmpty { report(.tagsChanged) }
        if effects.voidsEverything { cleared() }
    }

    /// Everything in the keyspace is void.
    private func cleared() {
        ownWrites.withLock { $0.removeAll() }
        waiters.wakeAll()
        report(.everythingChanged)
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

    private func report(_ change: KeyspaceChange) {
        let all = observers.withLock { $0.isEmpty ? [] : Array($0.values) }
        for observer in all { observer(change) }
    }
}
