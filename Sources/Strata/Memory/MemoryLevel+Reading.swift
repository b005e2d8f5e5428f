public import Synchronization

extension MemoryLevel {
    /// A fresh value.
    ///
    /// On a clock that a test moves, that decides, and not the given instant.
    @inlinable
    public func resident(_ key: Key, at now: MonotonicInstant) -> Resident<Value>? {
        let found = found(key, at: now)
        if events.wants(.hit), found != nil { tell(.hit, of: key) }
        return found
    }

    /// A fresh value.
    @inlinable
    public func resident(
        _ key: Key,
        at now: MonotonicInstant,
        _ answers: inout ConditionAnswers
    ) -> Resident<Value>? {
        let found = found(key, at: now)
        if events.wants(.hit), found != nil, !answers.isJudgedAbove { tell(.hit, of: key) }
        return found
    }

    @inlinable
    @inline(__always)
    func found(_ key: Key, at now: MonotonicInstant) -> Resident<Value>? {
        let now = time.now(at: now)
        let hash = hash(of: key)
        let number = partition(of: hash)
        let row = readers.current
        let partition = unsafe partitions[number]
        row.enter(number)
        guard !partitions.isChanging(number) else {
            row.leave(number)
            return residentMeanwhile(key, hash, at: now)
        }
        let slot = unsafe partition.pointee.find(key, tag: tag(of: hash))
        guard slot != 0, let resident = unsafe resident(partition.pointee.slot(slot), slot, number, at: now)
        else {
            row.leave(number)
            return nil
        }
        row.leaveWithHit(number)
        if row.note(slot) { catchUp() }
        return resident
    }

    /// The content of a slot, if it is a fresh value.
    @inlinable
    @inline(__always)
    func resident(
        _ content: UnsafeMutablePointer<MemorySlot<Key, Value>>,
        _ slot: UInt32,
        _ partition: Int,
        at now: MonotonicInstant
    ) -> Resident<Value>? {
        guard unsafe now < content.pointee.servedUntil, let value = unsafe content.pointee.value else { return nil }
        if unsafe content.pointee.isMarked, unsafe content.pointee.isSuspect || !isSealLive(slot, partition) {
            return nil
        }
        if idleNanoseconds > 0, !use(slot, partition, at: now) { return nil }
        return Resident(value: value, ticket: unsafe content.pointee.ticket)
    }

    /// Whether no tag has voided the entry in a slot, while the caller keeps the writer out.
    @inlinable
    @inline(never)
    func isSealLive(_ slot: UInt32, _ partition: Int) -> Bool {
        let chunk = unsafe partitions[partition].pointee.chunks[MemoryChunk<Key, Value>.chunk(of: slot)]
        guard let metadata = unsafe chunk.metadata else { return true }
        return unsafe metadata[MemoryChunk<Key, Value>.place(of: slot)].label?.seal?.isLive != false
    }

    /// Notes a read of a slot; false when the last one is too long ago.
    @inlinable
    func use(_ slot: UInt32, _ partition: Int, at now: MonotonicInstant) -> Bool {
        let chunk = unsafe partitions[partition].pointee.chunks[MemoryChunk<Key, Value>.chunk(of: slot)]
        guard let uses = unsafe chunk.uses else { return true }
        let place = MemoryChunk<Key, Value>.place(of: slot)
        let last = MonotonicInstant(nanoseconds: unsafe uses[place].load(ordering: .relaxed))
        let pause = last.nanoseconds(to: now)
        guard pause < idleNanoseconds else { return false }
        // Not every time: all readers write here.
        if pause >= idleNanoseconds / 64 { unsafe uses[place].store(now.nanoseconds, ordering: .relaxed) }
        return true
    }

    /// Reads beside a writer: waits a moment for it to finish, and then for its lock.
    @inlinable
    @inline(never)
    func residentMeanwhile(_ key: Key, _ hash: UInt64, at now: MonotonicInstant) -> Resident<Value>? {
        let number = partition(of: hash)
        for _ in 0..<100 where !partitions.isChanging(number) {
            let row = readers.current
            row.enter(number)
            defer { row.leave(number) }
            if partitions.isChanging(number) { continue }
            let slot = unsafe partitions[number].pointee.find(key, tag: tag(of: hash))
            guard slot != 0 else { return nil }
            let content = unsafe partitions[number].pointee.slot(slot)
            guard let resident = unsafe resident(content, slot, number, at: now) else { return nil }
            row.countHit()
            _ = row.note(slot)
            return resident
        }
        return writer.withLock { writer in
            let slot = unsafe partitions[number].pointee.find(key, tag: tag(of: hash))
            guard slot != 0, let resident = unsafe resident(writer.slot(slot), slot, number, at: now) else {
                return nil
            }
            writer.state.counts.hits &+= 1
            writer.state.policy.recordHit(slot)
            return resident
        }
    }

    /// Handles the readers' notes and the due entries, unless another thread is busy here and will do that.
    @inlinable
    @inline(never)
    func catchUp() {
        var departures = Departures()
        let now = now
        writer.withLockIfFree { writer in
            writer.state.drain(readers)
            expire(&writer, at: now, &departures)
        }
        tell(departures)
    }

    /// The entry of a key, also when it is stale but may still be served.
    @inlinable
    public func entry(for key: Key, _ request: ReadRequest) async throws -> Entry<Value>? {
        if request.awaited != nil { return nil }
        guard !request.skipsReading(self) else {
            request.skipped(self)
            return nil
        }
        guard request.recorder != nil || events.wantsReads else { return entry(for: key, at: now) }
        let start = MonotonicInstant.now
        let entry = entry(for: key, at: now)
        note(entry, of: key, request, since: start)
        return entry
    }

    /// Whether there is no entry of a key, not even a stale one.
    ///
    /// False also while another thread changes the same part of the level.
    @inlinable
    public func lacks(_ key: Key, isRead: Bool) -> Bool {
        if isRead, now.nanoseconds >= nextLook.load(ordering: .relaxed) { catchUp() }
        let hash = hash(of: key)
        let number = partition(of: hash)
        let row = readers.current
        row.enter(number)
        let isLacking =
            unsafe !partitions.isChanging(number) && partitions[number].pointee.find(key, tag: tag(of: hash)) == 0
        row.leave(number)
        if isLacking, isRead {
            row.countMiss()
            if events.wants(.miss) { tell(.miss, of: key, because: reason(forMissing: key)) }
        }
        return isLacking
    }

    /// The entries of several keys.
    ///
    /// Nothing suspends.
    @inlinable
    public func entries(for keys: [Key], _ request: ReadRequest) async throws -> [Entry<Value>?] {
        guard !request.skipsReading(self) else { return request.skipped(self, for: keys) }
        let now = now
        guard request.recorder != nil || events.wantsReads else { return keys.map { operations.read(self, $0, now) } }
        return keys.map { entry(for: $0, among: request, at: now) }
    }

    @inlinable
    func entry(for key: Key, at now: MonotonicInstant) -> Entry<Value>? {
        if now.nanoseconds >= nextLook.load(ordering: .relaxed) { catchUp() }
        let hash = hash(of: key)
        let number = partition(of: hash)
        let row = readers.current
        row.enter(number)
        guard !partitions.isChanging(number) else {
            row.leave(number)
            return writer.withLock { writer in
                let slot = unsafe partitions[number].pointee.find(key, tag: tag(of: hash))
                let entry = slot == 0 ? nil : entry(in: slot, number, at: now)
                if let entry, entry.isFresh(at: now) {
                    writer.state.counts.hits &+= 1
                    writer.state.policy.recordHit(slot)
                } else {
                    writer.state.counts.misses &+= 1
                }
                return entry
            }
        }
        let slot = unsafe partitions[number].pointee.find(key, tag: tag(of: hash))
        guard slot != 0, let entry = entry(in: slot, number, at: now) else {
            row.leave(number)
            row.countMiss()
            return nil
        }
        if entry.isFresh(at: now) {
            row.leaveWithHit(number)
        } else {
            row.leave(number)
            row.countMiss()
        }
        if row.note(slot) { catchUp() }
        return entry
    }

    /// The whole entry in a slot, while the caller keeps the writer out; `nil` when it has expired or is void.
    @inlinable
    func entry(in slot: UInt32, _ partition: Int, at now: MonotonicInstant) -> Entry<Value>? {
        let content = unsafe partitions[partition].pointee.slot(slot)
        let place = MemoryChunk<Key, Value>.place(of: slot)
        let servedUntil = unsafe content.pointee.servedUntil
        var entry = Entry<Value>(
            unsafe content.pointee.value.map { .value($0) } ?? .absent,
            freshUntil: servedUntil,
            origin: .memory,
            ticket: unsafe content.pointee.ticket,
            isSuspect: unsafe content.pointee.isSuspect
        )
        if unsafe content.pointee.hasMetadata {
            let chunk = unsafe partitions[partition].pointee.chunks[MemoryChunk<Key, Value>.chunk(of: slot)]
            guard let metadata = unsafe chunk.metadata, let shortMetadata = unsafe chunk.shortMetadata else {
                return nil
            }
            unsafe fill(&entry, metadata + place, shortMetadata[place], servedUntil)
        }
        guard now < entry.staleUntil, entry.seal?.isLive != false, idleNanoseconds == 0 || use(slot, partition, at: now)
        else { return nil }
        return entry
    }

    @inlinable
    @inline(__always)
    func fill(
        _ entry: inout Entry<Value>,
        _ metadata: UnsafePointer<MemoryMetadata>,
        _ shortMetadata: MemoryShortMetadata,
        _ servedUntil: MonotonicInstant
    ) {
        entry.freshUntil = shortMetadata.freshUntil(servedUntil: servedUntil)
        entry.staleUntil = unsafe metadata.pointee.staleUntil(servedUntil: servedUntil)
        entry.revalidateUntil = shortMetadata.revalidateUntil(
            freshUntil: entry.freshUntil,
            staleUntil: entry.staleUntil
        )
        entry.fetchDuration = shortMetadata.fetchDuration
        entry.storedAt = unsafe metadata.pointee.storedAt(start: start)
        entry.version = unsafe metadata.pointee.version
        guard let label = unsafe metadata.pointee.label else { return }
        entry.tags = label.tags
        entry.seal = label.seal
        entry.asOf = label.asOf
    }
}
