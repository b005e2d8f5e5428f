internal import Synchronization

extension MemoryWriter {
    /// Takes everything out; the level starts anew with memory of its own.
    ///
    /// Complexity: O(slots) for the policy, and O(1) for keys and values: they go with what is returned.
    mutating func removeAll(because cause: RemovalCause, _ readers: borrowing ReaderRows) -> MemoryDiscardedStorage<
        Key, Value
    > {
        noteDepartures(because: cause)
        var tables: [UnsafeMutableBufferPointer<Atomic<UInt64>>] = unsafe []
        let old = unsafe UnsafeMutableBufferPointer(start: chunks, count: Chunk.most)
        let oldCount = chunkCount
        chunkCount = 0
        unsafe chunks = .allocate(capacity: Chunk.most)
        for number in 0..<partitionCount { close(number, readers) }
        for number in 0..<partitionCount {
            unsafe tables.append(partitions[number].pointee.removeAll(chunks: chunks))
            unsafe partitions.keyCount(number).pointee = 0
        }
        for number in 0..<partitionCount { open(number) }
        state.counts.add(state.policy.count, to: cause)
        state.removeAll()
        return unsafe MemoryDiscardedStorage(buckets: tables, chunks: old, chunkCount: oldCount)
    }

    /// Notes of some entries why they leave, as many as can be noted.
    private mutating func noteDepartures(because cause: RemovalCause) {
        guard state.lastSlot > 0 else { return }
        for number in 1...min(state.lastSlot, UInt32(state.departures.words.count))
        where state.policy.contains(number) {
            state.departures.note(unsafe slot(number).pointee.tag, cause)
        }
    }
}
