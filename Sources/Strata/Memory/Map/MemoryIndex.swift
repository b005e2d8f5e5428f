/// An open-addressing table with linear probing (Knuth, TAOCP 3, 6.4) from keys to slots.
///
/// A bucket is a number of 64 bits: the key's tag above, the slot below; 0 is empty. So a look-up compares keys only where 32
/// bits of their hashes agree, and reads one line of the processor's cache before it goes to the slot. Removing moves later
/// keys up, and leaves no tombstones.
///
/// The buckets belong to the partition, which frees them.
@safe
@frozen
@usableFromInline
struct MemoryIndex<Key: Hashable & Sendable, Value: Sendable> {
    @usableFromInline var buckets: UnsafeMutablePointer<UInt64>
    @usableFromInline var capacity: Int
    /// The storage of all partitions' slots.
    @usableFromInline var chunks: UnsafeMutablePointer<MemoryChunk<Key, Value>>
    @usableFromInline var count: Int

    init(chunks: UnsafeMutablePointer<MemoryChunk<Key, Value>>) {
        capacity = 8
        unsafe buckets = Self.emptyBuckets(8)
        unsafe self.chunks = chunks
        count = 0
    }

    @inlinable
    static func emptyBuckets(_ capacity: Int) -> UnsafeMutablePointer<UInt64> {
        let buckets = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity)
        unsafe buckets.initialize(repeating: 0, count: capacity)
        return unsafe buckets
    }

    /// Where the search for a tag begins: the tag scaled to the table, so that its size need not be a power of two.
    @inlinable
    @inline(__always)
    func home(of tag: UInt32) -> Int {
        Int(truncatingIfNeeded: (UInt64(tag) &* UInt64(truncatingIfNeeded: capacity)) &>> 32)
    }

    /// The slot of a key, or 0.
    @inlinable
    @inline(__always)
    func find(_ key: Key, tag: UInt32) -> UInt32 {
        var place = home(of: tag)
        while true {
            let bucket = unsafe buckets[place]
            let slot = UInt32(truncatingIfNeeded: bucket)
            if slot == 0 { return 0 }
            if UInt32(truncatingIfNeeded: bucket &>> 32) == tag, unsafe self.slot(slot).pointee.key == key {
                return slot
            }
            place &+= 1
            if place == capacity { place = 0 }
        }
    }

    /// The memory of a slot.
    @inlinable
    @inline(__always)
    func slot(_ number: UInt32) -> UnsafeMutablePointer<MemorySlot<Key, Value>> {
        unsafe chunks[MemoryChunk<Key, Value>.chunk(of: number)].slots
            + MemoryChunk<Key, Value>.place(of: number)
    }

    // MARK: By the writer

    /// Adds a key that is not in the table.
    ///
    /// Three quarters of the buckets are in use at most.
    ///
    /// Complexity: O(1) amortised.
    @inlinable
    mutating func insert(_ slot: UInt32, tag: UInt32, most: Int) {
        if (count &+ 1) &* 4 > capacity &* 3 { grow(most: most) }
        place(UInt64(tag) &<< 32 | UInt64(slot))
        count &+= 1
    }

    @inlinable
    mutating func place(_ bucket: UInt64) {
        var place = home(of: UInt32(truncatingIfNeeded: bucket &>> 32))
        while unsafe buckets[place] != 0 {
            place &+= 1
            if place == capacity { place = 0 }
        }
        unsafe buckets[place] = bucket
    }

    /// Doubles the table, or gives it the size that the most keys it will ever hold need, where that is less.
    @inlinable
    @inline(never)
    mutating func grow(most: Int) {
        let old = unsafe buckets
        let oldCapacity = capacity
        let enough = max(most + most / 2, (count + 1) * 3 / 2) + 8
        capacity = min(oldCapacity * 2, enough)
        unsafe buckets = Self.emptyBuckets(capacity)
        for place in 0..<oldCapacity where unsafe old[place] != 0 { unsafe self.place(old[place]) }
        unsafe old.deallocate()
    }

    /// Takes a slot out of the table.
    ///
    /// Complexity: O(1) on average.
    @inlinable
    mutating func remove(_ slot: UInt32, tag: UInt32) {
        let bucket = UInt64(tag) &<< 32 | UInt64(slot)
        var hole = home(of: tag)
        while unsafe buckets[hole] != bucket {
            precondition(unsafe buckets[hole] != 0, "a slot that is not in the index")
            hole &+= 1
            if hole == capacity { hole = 0 }
        }
        var next = hole
        while true {
            next &+= 1
            if next == capacity { next = 0 }
            let moved = unsafe buckets[next]
            if moved == 0 { break }
            // A key may move up to the hole unless the search for it begins behind the hole.
            let home = home(of: UInt32(truncatingIfNeeded: moved &>> 32))
            let isBehind = hole <= next ? hole < home && home <= next : hole < home || home <= next
            if !isBehind {
                unsafe buckets[hole] = moved
                hole = next
            }
        }
        unsafe buckets[hole] = 0
        count &-= 1
    }

    /// Starts anew with an empty table and other slots, and hands out the old table.
    mutating func removeAll(chunks: UnsafeMutablePointer<MemoryChunk<Key, Value>>) -> UnsafeMutableBufferPointer<UInt64>
    {
        let old = unsafe UnsafeMutableBufferPointer(start: buckets, count: capacity)
        capacity = 8
        unsafe buckets = Self.emptyBuckets(8)
        unsafe self.chunks = chunks
        count = 0
        return unsafe old
    }
}
