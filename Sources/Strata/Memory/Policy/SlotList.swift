/// Numbers of slots, the last one first to be taken.
///
/// An array with a single owner, so no change asks whether it is shared: a write takes four of these, and there
/// is one victim as a rule. It never gives memory back.
@usableFromInline
package struct SlotList: ~Copyable, Sendable {
    @usableFromInline var slots = FlatArray<UInt32>(repeating: 0, count: 16)
    @usableFromInline package internal(set) var count = 0

    /// An empty list.
    @inlinable
    package init() {}

    @inlinable
    package subscript(place: Int) -> UInt32 {
        @inline(__always)
        get {
            assert(place < count)
            return slots[place]
        }
    }

    /// Complexity: O(1) amortised.
    @inlinable
    @inline(__always)
    package mutating func append(_ slot: UInt32) {
        if count == slots.count { slots.grow(to: count * 2, filling: 0) }
        slots[count] = slot
        count &+= 1
    }

    @inlinable
    @inline(__always)
    package mutating func popLast() -> UInt32? {
        guard count > 0 else { return nil }
        count &-= 1
        return slots[count]
    }

    /// Complexity: O(1).
    @inlinable
    package mutating func removeAll() { count = 0 }

    /// Takes out one slot, wherever it stands.
    ///
    /// Complexity: O(slots).
    @usableFromInline
    package mutating func remove(_ slot: UInt32) {
        var kept = 0
        for place in 0..<count where slots[place] != slot {
            slots[kept] = slots[place]
            kept += 1
        }
        count = kept
    }
}
