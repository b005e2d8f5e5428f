/// An entry as it lies in memory, seen from outside.
package struct MemoryGlimpse<Value: Sendable>: Sendable {
    /// The entry, also one that has expired or is void.
    package let entry: Entry<Value>
    /// How long ago it was stored here, to the second.
    package let age: Duration
    /// How long it has been here at the least.
    package let leastAge: Duration
    /// How long it has been here at the most.
    package let mostAge: Duration
    /// Its weight towards the limit.
    package let weight: Int
    /// How often it was read lately, up to 15.
    package let frequency: Int
}

extension MemoryLevel {
    /// The entry of a key as it lies there; `nil` for none.
    ///
    /// The look counts as no use. Writers wait for it.
    ///
    /// Complexity: O(1).
    package func glimpse(_ key: Key) -> MemoryGlimpse<Value>? {
        let hash = hash(of: key)
        let number = partition(of: hash)
        let now = now
        return writer.withLock { writer in
            let slot = unsafe partitions[number].pointee.find(key, tag: tag(of: hash))
            guard slot != 0 else { return nil }
            return glimpse(in: slot, number, writer, at: now)
        }
    }

    /// The entry in a slot, under the writer's lock.
    func glimpse(
        in slot: UInt32,
        _ partition: Int,
        _ writer: borrowing Writer,
        at now: MonotonicInstant
    ) -> MemoryGlimpse<Value> {
        let content = unsafe partitions[partition].pointee.slot(slot)
        let servedUntil = unsafe content.pointee.servedUntil
        var entry = Entry<Value>(
            unsafe content.pointee.value.map { .value($0) } ?? .absent,
            freshUntil: servedUntil,
            origin: .memory,
            ticket: unsafe content.pointee.ticket,
            isSuspect: unsafe content.pointee.isSuspect
        )
        let place = MemoryChunk<Key, Value>.place(of: slot)
        let chunk = unsafe partitions[partition].pointee.chunks[MemoryChunk<Key, Value>.chunk(of: slot)]
        if unsafe content.pointee.hasMetadata, let metadata = unsafe chunk.metadata,
            let shortMetadata = unsafe chunk.shortMetadata
        {
            unsafe fill(&entry, metadata + place, shortMetadata[place], servedUntil)
        }
        return MemoryGlimpse(
            entry: entry,
            age: writer.state.age(ofStamp: writer.stamp(of: slot), at: now),
            leastAge: writer.state.leastAge(ofStamp: writer.stamp(of: slot), at: now),
            mostAge: writer.state.mostAge(ofStamp: writer.stamp(of: slot), at: now),
            weight: writer.state.policy.weight(of: slot),
            frequency: writer.state.policy.frequency(of: slot)
        )
    }
}
