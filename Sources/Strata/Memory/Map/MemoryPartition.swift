public import Synchronization

/// A part of a level's index, and the mark that keeps readers out while it is changed.
///
/// The index is written by the one writer while the mark is up and no reader is inside. 64 bytes, which is one line of the
/// processor's cache, so that partitions do not disturb each other.
@safe
@frozen
@usableFromInline
struct MemoryPartition<Key: Hashable & Sendable, Value: Sendable>: ~Copyable {
    @usableFromInline let mark: Atomic<UInt64>
    // A value of its own, because changing it is then no access to the mark, which others read meanwhile.
    @usableFromInline var index: MemoryIndex<Key, Value>
    private var padding: (UInt64, UInt64, UInt64) = (0, 0, 0)

    init(chunks: UnsafeMutablePointer<MemoryChunk<Key, Value>>) {
        mark = Atomic(0)
        unsafe index = MemoryIndex(chunks: chunks)
    }

    deinit {
        unsafe index.buckets.deallocate()
    }

    /// Whether a writer changes the partition at the moment.
    @inlinable
    @inline(__always)
    var isChanging: Bool { mark.load(ordering: .sequentiallyConsistent) != 0 }
}
