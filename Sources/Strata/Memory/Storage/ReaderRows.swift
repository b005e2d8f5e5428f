public import Synchronization

#if canImport(Darwin)
public import Darwin
#elseif canImport(Musl)
public import Musl
#else
public import Glibc
#endif

/// Which threads are reading, and what was read lately: a row of memory for each thread, which no other thread
/// writes.
///
/// A lock that all readers take is a line of the processor's cache that moves from core to core with every read, which
/// costs more than the read. Here a reader announces itself in its own row, one word for each partition of the map, and
/// looks whether the partition is being changed. A writer raises the partition's mark and then waits until every row
/// has no reader inside. Either the reader sees the mark or the writer sees the reader: both sides write first and read
/// second, sequentially consistent (Dekker; as a lock it is known as the "big reader" lock of Linux 2.4).
///
/// A thread's row follows from its number. When there are more threads than rows, some share one: that is correct, and
/// slower.
///
/// The row also takes the slots that were hit, in a ring without any lock. What is overwritten before it is read
/// is lost.
///
/// Proof of `Sendable`: the pointers are set once, what they point to are atomics, the memory lives as long as the
/// value, which cannot be copied.
@safe
@frozen
@usableFromInline
struct ReaderRows: ~Copyable, @unchecked Sendable {
    /// Layout of a row, in words of 8 bytes: one a partition, then the position in the ring, the misses, and the
    /// hits that came late.
    ///
    /// Rows are 256 bytes apart, because processors fetch lines of 64 bytes in pairs.
    @usableFromInline static var rowWords: Int { 32 }
    @usableFromInline static var positionWord: Int { 16 }
    @usableFromInline static var missesWord: Int { 17 }
    @usableFromInline static var ringSize: Int { 64 }
    @usableFromInline static var maximumPartitions: Int { 16 }
    /// A reader that finds its ring full this many times asks for it to be emptied; writers empty it whenever they
    /// come.
    @usableFromInline static var drainInterval: UInt64 { 512 }

    @usableFromInline let words: UnsafeMutablePointer<Atomic<UInt64>>
    @usableFromInline let rings: UnsafeMutablePointer<Atomic<UInt32>>
    @usableFromInline let rowCount: Int
    @usableFromInline let key: pthread_key_t
    /// The highest number that any thread has: no row beyond it is in use.
    @usableFromInline let highest: UnsafeMutablePointer<Atomic<Int>>

    /// Rows for so many threads, rounded up to a power of two between 8 and 64.
    init(threads: Int) {
        var rounded = 8
        while rounded < min(threads, 64) { rounded *= 2 }
        rowCount = rounded
        key = ThreadNumber.key
        unsafe highest = ThreadNumber.highest
        let count = rounded * ReaderRows.rowWords
        let memory = UnsafeMutableRawPointer.allocate(byteCount: count * 8, alignment: 256)
        unsafe words = memory.bindMemory(to: Atomic<UInt64>.self, capacity: count)
        for word in 0..<count { unsafe (words + word).initialize(to: Atomic(0)) }
        let slots = rounded * ReaderRows.ringSize
        let ringMemory = UnsafeMutableRawPointer.allocate(byteCount: slots * 4, alignment: 256)
        unsafe rings = ringMemory.bindMemory(to: Atomic<UInt32>.self, capacity: slots)
        for slot in 0..<slots { unsafe (rings + slot).initialize(to: Atomic(0)) }
    }

    deinit {
        unsafe words.deinitialize(count: rowCount * ReaderRows.rowWords)
        unsafe UnsafeMutableRawPointer(words).deallocate()
        unsafe rings.deinitialize(count: rowCount * ReaderRows.ringSize)
        unsafe UnsafeMutableRawPointer(rings).deallocate()
    }

    /// The row of the thread that asks.
    @inlinable
    @inline(__always)
    var current: Row {
        let number = unsafe pthread_getspecific(key)
        let row = unsafe number == nil ? ThreadNumber.assign() : Int(bitPattern: number)
        return self.row((row &- 1) & (rowCount &- 1))
    }

    /// A row by its number.
    @inlinable
    @inline(__always)
    func row(_ number: Int) -> Row {
        unsafe Row(words: words + number &* ReaderRows.rowWords, ring: rings + number &* ReaderRows.ringSize)
    }

    /// How many rows may have been used so far.
    @inlinable
    var rowsInUse: Int { min(rowCount, unsafe highest.pointee.load(ordering: .sequentiallyConsistent)) }

    /// Waits until no reader is inside a partition.
    ///
    /// The partition's mark must be raised, or it may take for ever. Readers hold it for the time of one comparison
    /// of keys and one copy of a value.
    @inlinable
    func waitUntilEmpty(_ partition: Int) {
        for number in 0..<rowsInUse where row(number).isOccupied(partition) { waitLonger(number, partition) }
    }

    @usableFromInline
    func waitLonger(_ number: Int, _ partition: Int) {
        var rounds = 0
        while row(number).isOccupied(partition) {
            rounds += 1
            // The reader has been interrupted: let it run.
            if rounds > 200 { sched_yield() }
        }
    }

    /// Hits since the start, by what readers have noted.
    var hits: Int {
        var sum = 0
        for number in 0..<rowCount {
            for partition in 0..<ReaderRows.maximumPartitions { sum &+= row(number).hits(partition) }
            sum &+= row(number).lateHits
        }
        return sum
    }

    /// Misses since the start.
    var misses: Int {
        (0..<rowCount).reduce(0) { $0 &+ row($1).misses }
    }
}

extension ReaderRows {
    /// One thread's row.
    @frozen
    @safe
    @usableFromInline
    struct Row {
        @usableFromInline let words: UnsafeMutablePointer<Atomic<UInt64>>
        @usableFromInline let ring: UnsafeMutablePointer<Atomic<UInt32>>

        @inlinable
        init(words: UnsafeMutablePointer<Atomic<UInt64>>, ring: UnsafeMutablePointer<Atomic<UInt32>>) {
            unsafe self.words = words
            unsafe self.ring = ring
        }

        /// Announces a reader of a partition: the lower 16 bits of its word count those inside, the others all hits.
        @inlinable
        @inline(__always)
        func enter(_ partition: Int) {
            unsafe words[partition].wrappingAdd(1, ordering: .sequentiallyConsistent)
        }

        /// The reader is gone and has found something.
        @inlinable
        @inline(__always)
        func leaveWithHit(_ partition: Int) {
            unsafe words[partition].wrappingAdd(0xFFFF, ordering: .releasing)
        }

        /// The reader is gone.
        @inlinable
        @inline(__always)
        func leave(_ partition: Int) {
            unsafe words[partition].wrappingSubtract(1, ordering: .releasing)
        }

        @inlinable
        func isOccupied(_ partition: Int) -> Bool {
            unsafe words[partition].load(ordering: .sequentiallyConsistent) & 0xFFFF != 0
        }

        func hits(_ partition: Int) -> Int {
            Int(truncatingIfNeeded: unsafe words[partition].load(ordering: .relaxed) >> 16)
        }

        /// Notes which slot was hit, and returns whether the notes are due to be handled.
        ///
        /// Two threads in one row may overwrite each other's note, which loses one.
        @inlinable
        @inline(__always)
        func note(_ slot: UInt32) -> Bool {
            let position = position
            let place = Int(truncatingIfNeeded: position) & (ReaderRows.ringSize &- 1)
            unsafe ring[place].store(slot, ordering: .relaxed)
            unsafe words[ReaderRows.positionWord].store(position &+ 1, ordering: .relaxed)
            return position & (ReaderRows.drainInterval &- 1) == ReaderRows.drainInterval &- 1
        }

        /// How many slots were noted since the start.
        @inlinable
        var position: UInt64 { unsafe words[ReaderRows.positionWord].load(ordering: .relaxed) }

        /// What was noted at a position, unless something newer has taken its place.
        func noted(at position: UInt64) -> UInt32 {
            unsafe ring[Int(truncatingIfNeeded: position) & (ReaderRows.ringSize - 1)].load(ordering: .relaxed)
        }

        /// Counts a hit of a reader that leaves as if it had none.
        @inlinable
        func countHit() {
            unsafe words[ReaderRows.missesWord + 1].wrappingAdd(1, ordering: .relaxed)
        }

        /// Counts a read that found nothing.
        @inlinable
        func countMiss() {
            unsafe words[ReaderRows.missesWord].wrappingAdd(1, ordering: .relaxed)
        }

        var lateHits: Int {
            Int(truncatingIfNeeded: unsafe words[ReaderRows.missesWord + 1].load(ordering: .relaxed))
        }

        var misses: Int { Int(truncatingIfNeeded: unsafe words[ReaderRows.missesWord].load(ordering: .relaxed)) }
    }
}
