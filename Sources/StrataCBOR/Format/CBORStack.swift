/// A growing array of plain values that can start in memory lent by the caller.
///
/// The coders keep their bookkeeping in it: for a small value it all lies in one block. The owner calls ``release()``
/// at the end.
@safe
struct CBORStack<Element: BitwiseCopyable> {
    private(set) var base: UnsafeMutablePointer<Element>
    private(set) var count = 0
    private var capacity: Int
    private var isOwned: Bool

    /// Starts in lent memory, which has to stay valid until ``release()``.
    init(lent: UnsafeMutableRawBufferPointer) {
        let bound = unsafe lent.bindMemory(to: Element.self)
        // Without memory nothing is read through the address: the first append takes some.
        unsafe base =
            bound.baseAddress ?? UnsafeMutablePointer(bitPattern: MemoryLayout<Element>.alignment).unsafelyUnwrapped
        capacity = bound.count
        isOwned = false
    }

    /// Starts in memory of its own.
    init(capacity: Int) {
        unsafe base = .allocate(capacity: capacity)
        self.capacity = capacity
        isOwned = true
    }

    /// Appends an element.
    ///
    /// Amortized O(1).
    @inline(__always)
    mutating func append(_ element: Element) {
        if count == capacity { grow(1) }
        unsafe base[count] = element
        count &+= 1
    }

    /// Appends the elements of another stack from an index on.
    ///
    /// O(n) in their number.
    @inline(__always)
    mutating func append(from other: CBORStack<Element>, after first: Int) {
        let added = other.count - first
        if capacity - count < added { grow(added) }
        unsafe (base + count).update(from: other.base + first, count: added)
        count &+= added
    }

    /// Drops all elements from an index on.
    @inline(__always)
    mutating func truncate(to newCount: Int) {
        count = newCount
    }

    /// The elements from an index on.
    @inline(__always)
    func slice(from first: Int) -> UnsafeMutableBufferPointer<Element> {
        unsafe UnsafeMutableBufferPointer(start: base + first, count: count - first)
    }

    @inline(never)
    private mutating func grow(_ added: Int) {
        let newCapacity = max(capacity * 2, count + added, 8)
        let newBase = UnsafeMutablePointer<Element>.allocate(capacity: newCapacity)
        unsafe newBase.update(from: base, count: count)
        if isOwned { unsafe base.deallocate() }
        unsafe base = newBase
        capacity = newCapacity
        isOwned = true
    }

    /// Gives memory back and leaves the stack empty and usable.
    mutating func release() {
        if isOwned { unsafe base.deallocate() }
        // Nothing is read through the old address again: with no capacity the next append takes memory of its own.
        count = 0
        capacity = 0
        isOwned = false
    }
}
