public import Synchronization

extension MemoryLevel {
    /// Keeps an entry, and evicts others where it needs their room.
    ///
    /// - Throws: ``CacheError/Code/tooLarge`` when the entry alone exceeds the limit; an older entry of the key is then
    ///   removed.
    @inlinable
    public func store(_ entry: Entry<Value>, for key: Key) async throws {
        try operations.keep(self, entry, key)
    }

    /// Keeps a value for the level's own lifetime.
    ///
    /// - Throws: As ``store(_:for:)``.
    @inlinable
    @inline(__always)
    public func set(_ value: Value, for key: Key) async throws {
        try keep(value, for: key)
    }

    @inlinable
    func keep(_ value: Value, for key: Key) throws(CacheError) {
        let now = now
        let hash = hash(of: key)
        let slot = MemorySlot(
            key: key,
            servedUntil: lifetime.map { now.advanced(by: $0) } ?? .distantFuture,
            ticket: .none,
            value: value,
            tag: tag(of: hash),
            partition: UInt8(truncatingIfNeeded: partition(of: hash)),
            hasMetadata: false,
            isSuspect: false
        )
        try keep(consume slot, nil, hash, measure.weight(of: value), at: now)
    }

    /// Keeps an entry as ``store(_:for:)`` does.
    ///
    /// Of callers that joined one read, the first stores the entry, and the others find it stored.
    ///
    /// - Returns: `nil`: this level does not hear of changes made elsewhere.
    @inlinable
    public func commit(_ entry: Entry<Value>, for key: Key) async throws -> Ticket? {
        if !entry.isJoined || !holds(entry, for: key) { try operations.keep(self, entry, key) }
        return nil
    }

    /// Whether the key has this very entry, from the same write and with the same ticket, and may serve it.
    @inlinable
    @inline(never)
    func holds(_ entry: Entry<Value>, for key: Key) -> Bool {
        // What an in-process fetch has found has no version: it is known by its end, where this level has none of its
        // own.
        let isKnown = entry.version != .none
        guard isKnown || entry.freshUntil != .distantFuture && lifetime == nil else { return false }
        let hash = hash(of: key)
        let number = partition(of: hash)
        let row = readers.current
        row.enter(number)
        defer { row.leave(number) }
        guard !partitions.isChanging(number) else { return false }
        let slot = unsafe partitions[number].pointee.find(key, tag: tag(of: hash))
        guard slot != 0 else { return false }
        let content = unsafe partitions[number].pointee.slot(slot)
        let chunk = unsafe partitions[number].pointee.chunks[MemoryChunk<Key, Value>.chunk(of: slot)]
        guard isKnown else {
            let end = min(entry.refreshAt, entry.freshUntil)
            return unsafe content.pointee.ticket == entry.ticket && content.pointee.servedUntil == end && now < end
        }
        guard unsafe content.pointee.ticket == entry.ticket, unsafe content.pointee.hasMetadata,
            let metadata = unsafe chunk.metadata, unsafe now < content.pointee.servedUntil
        else { return false }
        return unsafe metadata[MemoryChunk<Key, Value>.place(of: slot)].version == entry.version
    }

    @inlinable
    @inline(__always)
    func keep(_ entry: Entry<Value>, for key: Key) throws(CacheError) {
        let now = now
        let entry = dated(entry, at: now)
        let hash = hash(of: key)
        let slot = slot(for: entry, key, hash)
        let weight = measure.weight(of: entry)
        if slot.hasMetadata {
            try keep(consume slot, EntryMetadata(entry), hash, weight, at: now, while: entry.filling)
        } else {
            try keep(consume slot, nil, hash, weight, at: now, while: entry.filling)
        }
    }

    /// The entry with this level's seal, and with the end that this level sets.
    @inlinable
    @inline(__always)
    func dated(_ entry: Entry<Value>, at now: MonotonicInstant) -> Entry<Value> {
        var entry = entry.tags.isEmpty ? entry : sealed(entry)
        if let lifetime {
            let end = now.advanced(by: lifetime)
            entry.shorten(to: end)
            if entry.staleUntil == .distantFuture { entry.staleUntil = end }
        }
        return entry
    }

    @inlinable
    @inline(__always)
    func slot(for entry: Entry<Value>, _ key: Key, _ hash: UInt64) -> MemorySlot<Key, Value> {
        MemorySlot(
            key: key,
            servedUntil: min(entry.refreshAt, entry.freshUntil),
            ticket: entry.ticket,
            value: entry.value,
            tag: tag(of: hash),
            partition: UInt8(truncatingIfNeeded: partition(of: hash)),
            hasMetadata: entry.hasMetadata,
            isSuspect: entry.isSuspect,
            isSealed: entry.seal != nil
        )
    }

    /// Keeps what is in the slot, unless it is a fill whose ticket is void in the gate that issued it.
    @inlinable
    @inline(never)
    func keep(
        _ slot: consuming MemorySlot<Key, Value>,
        _ metadata: EntryMetadata?,
        _ hash: UInt64,
        _ weight: Int,
        at now: MonotonicInstant,
        while gate: FillGate? = nil
    ) throws(CacheError) {
        let total = total.load(ordering: .relaxed)
        guard weight <= total, weight <= EvictionPolicy.maximumWeight else {
            let error = refuse(slot.key, hash, gate, slot.ticket)
            // A level that is switched off is no failure of what stands around it.
            guard total > 0 else { return }
            throw error
        }
        if measure.budget != nil { try makeRoom(slot.key, hash, weight, gate, slot.ticket) }
        var departures = Departures()
        let writer = unsafe self.writer.lock()
        // Here, where what voids the ticket and then stores comes after this or before it, and not between.
        guard gate?.isLive(slot.ticket) != false else { return self.writer.unlock() }
        unsafe writer.pointee.state.drain(readers)
        unsafe expire(&writer.pointee, at: now, &departures)
        unsafe writer.pointee.put(
            slot,
            metadata,
            hash: hash,
            weight: weight,
            at: now,
            readers,
            &departures
        )
        unsafe publishNextLook(&writer.pointee)
        unsafe writer.pointee.state.check()
        let isCrowded = unsafe measure.budget != nil && writer.pointee.state.isCrowded
        self.writer.unlock()
        tell(departures)
        if isCrowded { askForMore(0) }
    }

    /// Gets a larger allowance from the budget for an entry that is larger than the present one.
    @inlinable
    @inline(never)
    func makeRoom(
        _ key: Key,
        _ hash: UInt64,
        _ weight: Int,
        _ gate: FillGate?,
        _ ticket: Ticket
    ) throws(CacheError) {
        let allowance = writer.withLock { $0.state.policy.limit }
        guard weight > allowance else { return }
        askForMore(weight - allowance)
        guard writer.withLock({ weight > $0.state.policy.limit }) else { return }
        throw refuse(key, hash, gate, ticket)
    }

    /// Removes the old entry of the key, which is now out of date; not what was set after a fill had begun.
    @inlinable
    @inline(never)
    func refuse(_ key: Key, _ hash: UInt64, _ gate: FillGate?, _ ticket: Ticket) -> CacheError {
        var departures = Departures()
        writer.withLock { writer in
            writer.state.counts.refusals &+= 1
            guard gate?.isLive(ticket) != false else { return }
            writer.remove(key, tag: tag(of: hash), partition(of: hash), because: .removed, readers, &departures)
        }
        tell(departures)
        tell(.storeRefused, of: key, because: .tooLarge)
        return CacheError(code: .tooLarge, message: "the entry is larger than the memory level's limit")
    }

    /// Removes a key.
    @inlinable
    public func remove(_ key: Key) async throws {
        let hash = hash(of: key)
        let now = now
        var departures = Departures()
        writer.withLock { writer in
            writer.remove(key, tag: tag(of: hash), partition(of: hash), because: .removed, readers, &departures)
            expire(&writer, at: now, &departures)
            writer.state.check()
        }
        tell(departures)
    }

    /// Removes everything.
    public func removeAll() async throws {
        empty(because: .cleared)
    }

    // MARK: Expiry

    /// Removes a few of the due entries: an operation pays for the entry that it may have added, and some more.
    @inlinable
    func expire(_ writer: inout Writer, at now: MonotonicInstant, _ departures: inout Departures) {
        guard now.nanoseconds >= nextLook.load(ordering: .relaxed) else { return }
        writer.expire(at: now, most: 32, readers, &departures)
        publishNextLook(&writer)
    }

    /// Notes for readers when the wheel is due next.
    @inlinable
    @inline(__always)
    func publishNextLook(_ writer: inout Writer) {
        let next = writer.state.nextLook
        if next != nextLook.load(ordering: .relaxed) { nextLook.store(next, ordering: .relaxed) }
        if isTended, next < writer.state.visit {
            writer.state.visit = next
            callHousekeeper(at: next)
        }
    }
}
