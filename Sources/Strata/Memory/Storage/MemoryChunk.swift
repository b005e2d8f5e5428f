public import Synchronization

/// The storage of a run of slots.
///
/// It never moves, so nothing is copied when a level grows.
///
/// The first chunk has 256 slots, as has the second, and each further one as many as all before it. So 24 chunks are
/// enough for 2³¹ slots, the chunk of a slot follows from its highest bit, and the table of chunks never moves either.
@safe
@frozen
@usableFromInline
struct MemoryChunk<Key: Hashable & Sendable, Value: Sendable> {
    @usableFromInline let slots: UnsafeMutablePointer<MemorySlot<Key, Value>>
    /// When each slot was filled, as ``MemoryState/stamp(at:)`` has it.
    @usableFromInline let stamps: UnsafeMutablePointer<UInt32>
    /// Allocated, with `shortMetadata`, for the first entry that has any.
    @usableFromInline var metadata: UnsafeMutablePointer<MemoryMetadata>?
    @usableFromInline var shortMetadata: UnsafeMutablePointer<MemoryShortMetadata>?
    /// When each slot was last asked for, where entries expire when idle.
    @usableFromInline let uses: UnsafeMutablePointer<Atomic<Int64>>?

    @usableFromInline static var most: Int { 24 }

    /// The number of the chunk in which a slot lies.
    @inlinable
    @inline(__always)
    static func chunk(of slot: UInt32) -> Int { 32 &- (slot &>> 8).leadingZeroBitCount }

    /// Where in its chunk a slot lies.
    @inlinable
    @inline(__always)
    static func place(of slot: UInt32) -> Int {
        let start = (0x80 as UInt32) &<< UInt32(truncatingIfNeeded: chunk(of: slot))
        return Int(truncatingIfNeeded: slot < 256 ? slot : slot &- start)
    }

    /// How many slots a chunk has.
    @inlinable
    static func size(_ number: Int) -> Int { number == 0 ? 256 : 128 << number }

    @inlinable
    init(_ number: Int, countsUses: Bool) {
        let size = Self.size(number)
        unsafe slots = .allocate(capacity: size)
        unsafe stamps = .allocate(capacity: size)
        unsafe metadata = nil
        unsafe shortMetadata = nil
        unsafe uses = countsUses ? .allocate(capacity: size) : nil
        guard let uses = unsafe uses else { return }
        for place in 0..<size { unsafe (uses + place).initialize(to: Atomic(0)) }
    }

    /// Makes room for metadata.
    mutating func allocateMetadata(_ number: Int) {
        unsafe metadata = .allocate(capacity: Self.size(number))
        unsafe shortMetadata = .allocate(capacity: Self.size(number))
    }

    /// Frees the memory; no slot may be in use any more.
    func deallocate() {
        unsafe slots.deallocate()
        unsafe stamps.deallocate()
        unsafe metadata?.deallocate()
        unsafe shortMetadata?.deallocate()
        unsafe uses?.deallocate()
    }
}
