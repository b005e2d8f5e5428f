public import Synchronization

/// The parts of a level's index, each with a mark that keeps readers out while it is changed.
///
/// An index is written by the one writer while its mark is up and no reader is inside. Mark and index stand in one line
/// of the processor's cache, and no two partitions do. They are two values and not one, because changing a value is an
/// access to all of it, and the mark is read meanwhile.
///
/// Does not free its memory: the writer does.
///
/// Proof of `Sendable`: the pointer is set once. Marks are atomics; an index is read by those who have announced
/// themselves (``ReaderRows``) or have the writer's lock, and changed by the writer when no reader does; its buckets
/// are atomics, and a key is added beside readers. The count of keys is the writer's.
@safe
@frozen
@usableFromInline
struct MemoryPartitions<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
    @usableFromInline static var lineBytes: Int { 64 }
    @usableFromInline static var indexOffset: Int { 8 }
    @usableFromInline static var countOffset: Int { 56 }

    @usableFromInline let memory: UnsafeMutableRawPointer
    @usableFromInline let count: Int

    init(count: Int, chunks: UnsafeMutablePointer<MemoryChunk<Key, Value>>) {
        self.count = count
        unsafe memory = .allocate(byteCount: count * Self.lineBytes, alignment: Self.lineBytes)
        for number in 0..<count {
            let line = unsafe memory + number * Self.lineBytes
            unsafe line.bindMemory(to: Atomic<UInt64>.self, capacity: 1).initialize(to: Atomic(0))
            unsafe (line + Self.indexOffset).bindMemory(to: MemoryIndex<Key, Value>.self, capacity: 1)
                .initialize(to: MemoryIndex(chunks: chunks))
            unsafe (line + Self.countOffset).bindMemory(to: Int.self, capacity: 1).initialize(to: 0)
        }
    }

    /// Frees the indexes, and not what their slots hold.
    func deallocate() {
        for number in 0..<count {
            unsafe self[number].pointee.buckets.deallocate()
            unsafe mark(number).deinitialize(count: 1)
        }
        unsafe memory.deallocate()
    }

    /// A partition's index.
    @inlinable
    subscript(number: Int) -> UnsafeMutablePointer<MemoryIndex<Key, Value>> {
        @inline(__always)
        get {
            unsafe (memory + (number &* Self.lineBytes &+ Self.indexOffset))
                .assumingMemoryBound(to: MemoryIndex<Key, Value>.self)
        }
    }

    /// How many keys a partition has; the writer's alone.
    @inlinable
    @inline(__always)
    func keyCount(_ number: Int) -> UnsafeMutablePointer<Int> {
        unsafe (memory + (number &* Self.lineBytes &+ Self.countOffset)).assumingMemoryBound(to: Int.self)
    }

    @inlinable
    @inline(__always)
    func mark(_ number: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        unsafe (memory + number &* Self.lineBytes).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    /// Whether a writer changes the partition at the moment.
    @inlinable
    @inline(__always)
    func isChanging(_ number: Int) -> Bool {
        unsafe mark(number).pointee.load(ordering: .sequentiallyConsistent) != 0
    }
}
