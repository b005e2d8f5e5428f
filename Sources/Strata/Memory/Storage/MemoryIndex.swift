public import Synchronization

/// An open-addressing table with linear probing (Knuth, TAOCP 3, 6.4) from keys to slots.
///
/// A bucket is a number of 64 bits: the key's tag above, the slot below; 0 is empty. So a look-up compares keys only
/// where 32 bits of their hashes agree, and reads one line of the processor's cache before it goes to the slot.
/// Removing moves later keys up, and leaves no tombstones.
///
/// A key is added while readers look: it takes a bucket that was empty, after its slot was filled in (released by the
/// writer, acquired by readers), so a search finds it or ends where it would have ended before. Everything else moves
/// what readers may be looking for, and needs the partition closed.
///
/// The buckets belong to the partition, which frees them and counts the keys: what stands here changes in a closed
/// partition only, and adding a key does not change it.
@safe
@frozen
@usableFromInline
struct MemoryIndex<Key: Hashable & Sendable, Value: Sendable> {
    @usableFromInline var buckets: UnsafeMutablePointer<Atomic<UInt64>>
    @usableFromInline var capacity: Int
    /// The storage of all partitions' slots.
    @usableFromInline var chunks: UnsafeMutablePointer<MemoryChunk<Key, Value>>

    init(chunks: UnsafeMutablePointer<MemoryChunk<Key, Value>>) {
        capacity = 8
        unsafe buckets = Self.emptyBuckets(8)
        unsafe self.chunks = chunks
    }

    @inlinable
    static func emptyBuckets(_ capacity: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        let buckets = UnsafeMutablePointer<Atomic<UInt64>>.allocate(capacity: capacity)
        for place in 0..<capacity { unsafe (buckets + place).initialize(to: Atomic(0)) }
        return unsafe buckets
    }

    @inlinable
    @inline(__always)
    func bucket(_ place: Int) -> UInt64 { unsafe buckets[place].load(ordering: .acquiring) }

    /// Where the search for a tag begins: the tag scaled to the table, so that its size need not be a power of two.
    @inlinable
    @inline(__always)
    func home(of tag: UInt32) -> Int {
        Int(truncatingIfNeeded: (UInt64(tag) &* UInt64(truncatingIfNeeded: capacity)) &>> 32)
    }

    /// The slot of a key, or 0.
    @inlinable
    @inline(__always)
    func find(_ key: Key, tag: UInt32) -> UInt32 { search(key, tag: tag).slot }

    /// The slot of a key, or 0 and the empty bucket that the key would take.
    @inlinable
    @inline(__always)
    func search(_ key: Key, tag: UInt32) -> (slot: UInt32, place: Int) {
        var place = home(of: tag)
        while true {
            let bucket = bucket(place)
            let slot = UInt32(truncatingIfNeeded: bucket)
            if slot == 0 { return (0, place) }
            if UInt32(truncatingIfNeeded: bucket &>> 32) == tag, unsafe self.slot(slot).pointee.key == key {
                return (slot, place)
            }
            place &+= 1
            if place == capacity { place = 0 }
        }
    }

    /// The slot where the search for a tag begins, read only to have its bucket at hand a moment later.
    @inlinable
    @inline(__always)
    func peek(_ tag: UInt32) -> UInt32 { UInt32(truncatingIfNeeded: bucket(home(of: tag))) }

    /// The memory of a slot.
    @inlinable
    @inline(__always)
    func slot(_ number: UInt32) -> UnsafeMutablePointer<MemorySlot<Key, Value>> {
        unsafe chunks[MemoryChunk<Key, Value>.chunk(of: number)].slots
            + MemoryChunk<Key, Value>.place(of: number)
    }

    // MARK: By the writer

    /// Whether the table must grow before a key is added to so many.
    ///
    /// Three quarters of the buckets are in use at most.
    @inlinable
    func isFull(_ count: Int) -> Bool { (count &+ 1) &* 4 > capacity &* 3 }

    /// Adds a key that is not in the table, which is not full; readers may be inside.
    ///
    /// Complexity: O(1).
    ///
    /// - Parameters:
    ///   - slot: The key's slot, filled in.
    ///   - tag: The key's tag.
    ///   - place: The bucket that a search for the key has ended at; `nil` if anything was taken out or moved since.
    @inlinable
    func insert(_ slot: UInt32, tag: UInt32, at place: Int?) {
        let bucket = UInt64(tag) &<< 32 | UInt64(slot)
        if let place {
            unsafe buckets[place].store(bucket, ordering: .releasing)
        } else {
            self.place(bucket)
        }
    }

    @inlinable
    func place(_ bucket: UInt64) {
        var place = home(of: UInt32(truncatingIfNeeded: bucket &>> 32))
        while self.bucket(place) != 0 {
            place &+= 1
            if place == capacity { place = 0 }
        }
        unsafe buckets[place].store(bucket, ordering: .releasing)
    }

    /// Doubles the table, or gives it the size that the most keys it will ever hold need, where that is less.
    ///
    /// Complexity: O(keys).
    @inlinable
    @inline(never)
    mutating func grow(_ count: Int, most: Int) {
        let old = unsafe buckets
        let oldCapacity = capacity
        let enough = max(most + most / 2, (count + 1) * 3 / 2) + 8
        capacity = min(oldCapacity * 2, enough)
        unsafe buckets = Self.emptyBuckets(capacity)
        for place in 0..<oldCapacity {
            let bucket = unsafe old[place].load(ordering: .relaxed)
            if bucket != 0 { self.place(bucket) }
        }
        unsafe old.deallocate()
    }

    /// Takes a slot out of the table.
    ///
    /// Complexity: O(1) on average.
    @inlinable
    func remove(_ slot: UInt32, tag: UInt32) {
        let bucket = UInt64(tag) &<< 32 | UInt64(slot)
        var hole = home(of: tag)
        while self.bucket(hole) != bucket {
            precondition(self.bucket(hole) != 0, "a slot that is not in the index")
            hole &+= 1
            if hole == capacity { hole = 0 }
        }
        var next = hole
        while true {
            next &+= 1
            if next == capacity { next = 0 }
            let moved = self.bucket(next)
            if moved == 0 { break }
            // A key may move up to the hole unless the search for it begins behind the hole.
            let home = home(of: UInt32(truncatingIfNeeded: moved &>> 32))
            let isBehind = hole <= next ? hole < home && home <= next : hole < home || home <= next
            if !isBehind {
                unsafe buckets[hole].store(moved, ordering: .relaxed)
                hole = next
            }
        }
        unsafe buckets[hole].store(0, ordering: .relaxed)
    }

    /// Starts anew with an empty table and other slots, and hands out the old table.
    mutating func removeAll(
        chunks: UnsafeMutablePointer<MemoryChunk<Key, Value>>
    ) -> UnsafeMutableBufferPointer<Atomic<UInt64>> {
        let old = unsafe UnsafeMutableBufferPointer(start: buckets, count: capacity)
        capacity = 8
        unsafe buckets = Self.emptyBuckets(8)
        unsafe self.chunks = chunks
        return unsafe old
    }
}
