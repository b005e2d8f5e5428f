internal import Synchronization

/// The index and the slots of a level that was emptied, until they are let go.
///
/// Proof of `Sendable`: no other code has the pointers any more, and the value cannot be copied.
@safe
@usableFromInline
struct MemoryDiscardedStorage<Key: Hashable & Sendable, Value: Sendable>: ~Copyable, @unchecked Sendable {
    @usableFromInline typealias Chunk = MemoryChunk<Key, Value>

    private let buckets: [UnsafeMutableBufferPointer<Atomic<UInt64>>]
    private let chunks: UnsafeMutableBufferPointer<Chunk>
    private let chunkCount: Int

    init(
        buckets: [UnsafeMutableBufferPointer<Atomic<UInt64>>],
        chunks: UnsafeMutableBufferPointer<Chunk>,
        chunkCount: Int
    ) {
        unsafe self.buckets = buckets
        unsafe self.chunks = chunks
        self.chunkCount = chunkCount
    }

    deinit {
        forEachSlot { slot in
            let chunk = unsafe chunks[Chunk.chunk(of: slot)]
            let place = Chunk.place(of: slot)
            if unsafe chunk.slots[place].hasMetadata, let metadata = unsafe chunk.metadata {
                unsafe (metadata + place).deinitialize(count: 1)
            }
            unsafe (chunk.slots + place).deinitialize(count: 1)
        }
        for number in 0..<chunkCount { unsafe chunks[number].deallocate() }
        unsafe chunks.deallocate()
        for number in unsafe buckets.indices { unsafe buckets[number].deallocate() }
    }

    /// Calls `body` with each key and value.
    func visit(_ body: (Key, Value?) -> Void) {
        forEachSlot { slot in
            let content = unsafe chunks[Chunk.chunk(of: slot)].slots + Chunk.place(of: slot)
            unsafe body(content.pointee.key, content.pointee.value)
        }
    }

    private func forEachSlot(_ body: (UInt32) -> Void) {
        for number in unsafe buckets.indices {
            for place in unsafe buckets[number].indices {
                let slot = UInt32(truncatingIfNeeded: unsafe buckets[number][place].load(ordering: .relaxed))
                if slot != 0 { body(slot) }
            }
        }
    }
}
