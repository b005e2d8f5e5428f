public import Synchronization

/// The one writer of a memory level: changes the index, the slots, the policy and the wheel together.
///
/// It is behind the level's lock. Before it touches what readers look at, it raises the mark of that partition and
/// waits until no reader is there; the policy's work is done before, while readers go on. A new key alone is added
/// beside readers (``MemoryIndex``).
///
/// Proof of `Sendable`: the pointers are reached through this value alone and by readers of the level, who announce
/// themselves as ``ReaderRows`` has it; the memory is freed with the value, which cannot be copied.
@safe
@usableFromInline
struct MemoryWriter<Key: Hashable & Sendable, Value: Sendable>: ~Copyable, @unchecked Sendable {
    @usableFromInline typealias Chunk = MemoryChunk<Key, Value>
    @usableFromInline typealias Departures = MemoryDepartures<Key, Value>

    @usableFromInline var state: MemoryState
    @usableFromInline let partitions: MemoryPartitions<Key, Value>
    @usableFromInline let partitionCount: Int
    @usableFromInline var chunks: UnsafeMutablePointer<Chunk>
    @usableFromInline var chunkCount = 0
    /// The most keys that a partition is expected to hold.
    @usableFromInline var partitionLimit: Int
    /// After how many nanoseconds without a read an entry leaves; 0 is never.
    @usableFromInline let idleNanoseconds: Int64

    init(_ state: consuming MemoryState, partitionCount: Int, partitionLimit: Int, idleNanoseconds: Int64) {
        self.state = state
        self.partitionCount = partitionCount
        self.partitionLimit = partitionLimit
        self.idleNanoseconds = idleNanoseconds
        unsafe chunks = .allocate(capacity: Chunk.most)
        unsafe partitions = MemoryPartitions(count: partitionCount, chunks: chunks)
    }

    deinit {
        for number in 0..<partitionCount {
            let partition = unsafe partitions[number]
            for place in 0..<(unsafe partition.pointee.capacity) {
                let slot = UInt32(truncatingIfNeeded: unsafe partition.pointee.bucket(place))
                if slot != 0 { unsafe Self.destroy(slot, in: chunks) }
            }
        }
        partitions.deallocate()
        for number in 0..<chunkCount { unsafe chunks[number].deallocate() }
        unsafe chunks.deallocate()
    }

    private static func destroy(_ slot: UInt32, in chunks: UnsafeMutablePointer<Chunk>) {
        let chunk = unsafe chunks[Chunk.chunk(of: slot)]
        let place = Chunk.place(of: slot)
        if unsafe chunk.slots[place].hasMetadata { unsafe (chunk.metadata! + place).deinitialize(count: 1) }
        unsafe (chunk.slots + place).deinitialize(count: 1)
    }

    // MARK: Readers

    /// Keeps readers out of a partition.
    @inlinable
    @inline(__always)
    func close(_ partition: Int, _ readers: borrowing ReaderRows) {
        unsafe partitions.mark(partition).pointee.store(1, ordering: .sequentiallyConsistent)
        readers.waitUntilEmpty(partition)
    }

    /// Lets readers in again.
    @inlinable
    @inline(__always)
    func open(_ partition: Int) {
        unsafe partitions.mark(partition).pointee.store(0, ordering: .releasing)
    }

    // MARK: Slots

    @inlinable
    func slot(_ number: UInt32) -> UnsafeMutablePointer<MemorySlot<Key, Value>> {
        unsafe chunks[Chunk.chunk(of: number)].slots + Chunk.place(of: number)
    }

    /// The metadata of a slot that has some.
    @inlinable
    func metadata(_ number: UInt32) -> UnsafeMutablePointer<MemoryMetadata> {
        unsafe chunks[Chunk.chunk(of: number)].metadata! + Chunk.place(of: number)
    }

    /// When the slot was filled.
    @inlinable
    func stamp(of number: UInt32) -> UInt32 {
        unsafe chunks[Chunk.chunk(of: number)].stamps[Chunk.place(of: number)]
    }

    /// Fills in what stands beside the slot itself, while no reader looks at it.
    @inlinable
    @inline(__always)
    mutating func fillBeside(_ number: UInt32, _ metadata: EntryMetadata?, at now: MonotonicInstant) {
        let (index, place) = (Chunk.chunk(of: number), Chunk.place(of: number))
        unsafe chunks[index].stamps[place] = state.stamp(at: now)
        guard unsafe chunks[index].slots[place].hasMetadata, let metadata else { return }
        let servedUntil = unsafe chunks[index].slots[place].servedUntil
        let label = metadata.label ?? state.label(asOf: metadata.asOf)
        unsafe (chunks[index].metadata! + place)
            .initialize(to: MemoryMetadata(metadata, label, servedUntil: servedUntil, start: state.start))
        unsafe chunks[index].shortMetadata![place] = MemoryShortMetadata(metadata, servedUntil: servedUntil)
    }

    /// When an entry is of no more use.
    @inlinable
    func end(of number: UInt32) -> MonotonicInstant {
        let servedUntil = unsafe slot(number).pointee.servedUntil
        guard unsafe slot(number).pointee.hasMetadata else { return servedUntil }
        return unsafe metadata(number).pointee.staleUntil(servedUntil: servedUntil)
    }

    /// Until when an entry is fresh.
    func freshUntil(of number: UInt32) -> MonotonicInstant {
        let servedUntil = unsafe slot(number).pointee.servedUntil
        let chunk = unsafe chunks[Chunk.chunk(of: number)]
        guard unsafe slot(number).pointee.hasMetadata, let shortMetadata = unsafe chunk.shortMetadata else {
            return servedUntil
        }
        return unsafe shortMetadata[Chunk.place(of: number)].freshUntil(servedUntil: servedUntil)
    }

    /// Sees to it that a slot has memory.
    @inlinable
    @inline(__always)
    mutating func prepare(_ number: UInt32, hasMetadata: Bool, _ readers: borrowing ReaderRows) {
        let index = Chunk.chunk(of: number)
        if index >= chunkCount {
            unsafe (chunks + index).initialize(to: Chunk(index, countsUses: idleNanoseconds > 0))
            chunkCount = index + 1
        }
        if hasMetadata, unsafe chunks[index].metadata == nil { allocateMetadata(index, readers) }
    }

    /// Gives a chunk room for metadata, once in its life: all readers look at the table of chunks, so they are kept
    /// out.
    @usableFromInline
    @inline(never)
    mutating func allocateMetadata(_ index: Int, _ readers: borrowing ReaderRows) {
        for partition in 0..<partitionCount { close(partition, readers) }
        unsafe chunks[index].allocateMetadata(index)
        for partition in 0..<partitionCount { open(partition) }
    }

    /// The version of the entry in a slot, which gets one if it has none.
    mutating func versioned(_ number: UInt32, _ readers: borrowing ReaderRows) -> EntryVersion {
        let hasMetadata = unsafe slot(number).pointee.hasMetadata
        if hasMetadata, unsafe metadata(number).pointee.version != .none {
            return unsafe metadata(number).pointee.version
        }
        let servedUntil = unsafe slot(number).pointee.servedUntil
        prepare(number, hasMetadata: true, readers)
        let partition = Int(unsafe slot(number).pointee.partition)
        let version = EntryVersion.random()
        close(partition, readers)
        defer { open(partition) }
        let (index, place) = (Chunk.chunk(of: number), Chunk.place(of: number))
        guard !hasMetadata else {
            let old = unsafe metadata(number).pointee
            unsafe metadata(number).pointee = MemoryMetadata(version, of: old)
            return version
        }
        // What a slot without metadata stands for.
        let plain = EntryMetadata(Entry<Value>(.absent, freshUntil: servedUntil, version: version))
        unsafe (chunks[index].metadata! + place)
            .initialize(to: MemoryMetadata(plain, nil, servedUntil: servedUntil, start: state.start))
        unsafe chunks[index].shortMetadata![place] = MemoryShortMetadata(plain, servedUntil: servedUntil)
        unsafe slot(number).pointee.hasMetadata = true
        return version
    }

    // MARK: Changing

    /// Takes an entry in, in place of any other of its key, and takes out what has to go for it.
    ///
    /// - Returns: Whether the entry is inside.
    @inlinable
    mutating func put(
        _ new: consuming MemorySlot<Key, Value>,
        _ metadata: EntryMetadata?,
        hash: UInt64,
        weight: Int,
        at now: MonotonicInstant,
        _ readers: borrowing ReaderRows,
        _ departures: inout Departures
    ) {
        let partition = Int(new.partition)
        state.counts.insertions &+= 1
        lookAhead()
        let (old, place) = unsafe partitions[partition].pointee.search(new.key, tag: new.tag)
        if old != 0 {
            state.policy.recordHit(old)
            if state.policy.isWeighted { state.policy.reweigh(old, to: weight, victims: &state.victims) }
            replace(old, new, metadata, at: now, readers, &departures)
            removeVictims(because: .size, readers, &departures)
            return
        }
        let number = state.takeSlot()
        guard state.policy.insert(number, hash: hash, weight: weight, victims: &state.victims) else {
            state.victims.remove(number)
            state.free.append(number)
            state.counts.add(1, to: .size)
            state.departures.note(new.tag, .size)
            removeVictims(because: .size, readers, &departures)
            departures.add(new, .size)
            return
        }
        let before = unsafe partitions.keyCount(partition).pointee
        removeVictims(because: .size, readers, &departures)
        let count = unsafe partitions.keyCount(partition).pointee
        var isUnmoved = count == before
        prepare(number, hasMetadata: new.hasMetadata, readers)
        let tag = new.tag
        let end = new.hasMetadata ? metadata?.staleUntil ?? new.servedUntil : new.servedUntil
        unsafe slot(number).initialize(to: new)
        fillBeside(number, metadata, at: now)
        schedule(number, end: end, at: now)
        if unsafe partitions[partition].pointee.isFull(count) {
            grow(partition, readers)
            isUnmoved = false
        }
        unsafe partitions[partition].pointee.insert(number, tag: tag, at: isUnmoved ? place : nil)
        unsafe partitions.keyCount(partition).pointee &+= 1
    }

    /// Reads what an eviction would need of the entry that is next to go, so that it is at hand a moment later.
    @inlinable
    @inline(__always)
    mutating func lookAhead() {
        let next = state.policy.nextCandidate
        guard next != 0 else { return }
        let content = unsafe slot(next)
        let bucket = unsafe partitions[Int(content.pointee.partition)].pointee.peek(content.pointee.tag)
        state.policy.touched &+= bucket
    }

    @inlinable
    @inline(never)
    func grow(_ partition: Int, _ readers: borrowing ReaderRows) {
        close(partition, readers)
        unsafe partitions[partition].pointee.grow(partitions.keyCount(partition).pointee, most: partitionLimit)
        open(partition)
    }

    @inlinable
    mutating func replace(
        _ number: UInt32,
        _ new: consuming MemorySlot<Key, Value>,
        _ metadata: EntryMetadata?,
        at now: MonotonicInstant,
        _ readers: borrowing ReaderRows,
        _ departures: inout Departures
    ) {
        let partition = Int(new.partition)
        prepare(number, hasMetadata: new.hasMetadata, readers)
        let end = new.hasMetadata ? metadata?.staleUntil ?? new.servedUntil : new.servedUntil
        close(partition, readers)
        if unsafe slot(number).pointee.hasMetadata { unsafe self.metadata(number).deinitialize(count: 1) }
        let old = unsafe slot(number).move()
        unsafe slot(number).initialize(to: new)
        fillBeside(number, metadata, at: now)
        open(partition)
        schedule(number, end: end, at: now)
        state.counts.add(1, to: .replaced)
        departures.add(old, .replaced)
    }

    /// Sets when the entry comes up for leaving.
    @inlinable
    mutating func schedule(_ number: UInt32, end: MonotonicInstant, at now: MonotonicInstant) {
        var end = end
        if idleNanoseconds > 0 {
            unsafe chunks[Chunk.chunk(of: number)].uses?[Chunk.place(of: number)]
                .store(now.nanoseconds, ordering: .relaxed)
            end = min(end, now.advanced(byNanoseconds: idleNanoseconds))
        }
        if end == .distantFuture {
            if state.wheel.count > 0 { state.wheel.cancel(number) }
        } else {
            state.wheel.schedule(number, at: end.nanoseconds)
        }
    }

    /// Takes out the slots that the policy has given up.
    @inlinable
    mutating func removeVictims(
        because cause: RemovalCause,
        _ readers: borrowing ReaderRows,
        _ departures: inout Departures
    ) {
        for place in 0..<state.victims.count {
            takeOut(state.victims[place], because: cause, readers, &departures)
        }
        state.victims.removeAll()
    }

    /// Takes out an entry that the policy does not hold any more.
    @inlinable
    mutating func takeOut(
        _ number: UInt32,
        because cause: RemovalCause,
        _ readers: borrowing ReaderRows,
        _ departures: inout Departures
    ) {
        let partition = Int(unsafe slot(number).pointee.partition)
        close(partition, readers)
        unsafe partitions[partition].pointee.remove(number, tag: slot(number).pointee.tag)
        unsafe partitions.keyCount(partition).pointee &-= 1
        if unsafe slot(number).pointee.hasMetadata { unsafe metadata(number).deinitialize(count: 1) }
        let old = unsafe slot(number).move()
        open(partition)
        state.departures.note(old.tag, cause)
        if state.wheel.count > 0 { state.wheel.cancel(number) }
        state.free.append(number)
        state.counts.add(1, to: cause)
        departures.add(old, cause)
    }

    /// Removes a key.
    @inlinable
    mutating func remove(
        _ key: Key,
        tag: UInt32,
        _ partition: Int,
        because cause: RemovalCause,
        _ readers: borrowing ReaderRows,
        _ departures: inout Departures
    ) {
        let number = unsafe partitions[partition].pointee.find(key, tag: tag)
        guard number != 0 else { return }
        state.policy.remove(number)
        takeOut(number, because: cause, readers, &departures)
    }

    /// Takes out entries whose time is over.
    ///
    /// - Parameters:
    ///   - now: The present time.
    ///   - most: How many to look at.
    ///   - readers: The level's readers.
    ///   - departures: Takes what has left.
    @inlinable
    mutating func expire(
        at now: MonotonicInstant,
        most: Int,
        _ readers: borrowing ReaderRows,
        _ departures: inout Departures
    ) {
        state.wheel.expire(upTo: now.nanoseconds, most: most, into: &state.victims)
        for place in 0..<state.victims.count {
            let number = state.victims[place]
            let end = end(of: number)
            var cause = RemovalCause.expired
            if end > now {
                // It came up because it did not seem to be read. Readers only note the time, and one may have.
                let lastUse = lastUse(of: number)
                let idleEnd = lastUse.advanced(byNanoseconds: idleNanoseconds)
                guard idleNanoseconds > 0, idleEnd <= now else {
                    state.wheel.schedule(number, at: min(end, idleEnd).nanoseconds)
                    continue
                }
                cause = .idle
            }
            state.policy.remove(number)
            takeOut(number, because: cause, readers, &departures)
        }
        state.victims.removeAll()
    }

    @inlinable
    func lastUse(of number: UInt32) -> MonotonicInstant {
        let uses = unsafe chunks[Chunk.chunk(of: number)].uses
        guard let uses = unsafe uses else { return .distantFuture }
        return MonotonicInstant(nanoseconds: unsafe uses[Chunk.place(of: number)].load(ordering: .relaxed))
    }
}
