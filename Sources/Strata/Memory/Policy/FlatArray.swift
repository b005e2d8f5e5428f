/// Memory of its own for a number of plain elements, without reference counts or uniqueness checks on access.
///
/// The policy touches its arrays several times for each hit. An `Array` asks on every write whether it is shared;
/// this type cannot be shared, so it does not ask. Indexes are checked in debug builds only: every index that comes
/// from outside the policy is checked where it enters, the others are the policy's own links.
@usableFromInline
@safe
struct FlatArray<Element: BitwiseCopyable>: ~Copyable {
    @usableFromInline var base: UnsafeMutablePointer<Element>
    @usableFromInline var count: Int

    /// Memory for `count` elements, all equal to `element`, aligned to a line of the processor's cache.
    @inlinable
    init(repeating element: Element, count: Int) {
        let count = max(count, 1)
        unsafe base = FlatArray.allocate(count)
        unsafe base.initialize(repeating: element, count: count)
        self.count = count
    }

    @inlinable
    deinit {
        unsafe UnsafeMutableRawPointer(base).deallocate()
    }

    @inlinable
    static func allocate(_ count: Int) -> UnsafeMutablePointer<Element> {
        let bytes = count * MemoryLayout<Element>.stride
        let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 64)
        return unsafe memory.bindMemory(to: Element.self, capacity: count)
    }

    @inlinable
    subscript(index: Int) -> Element {
        @inline(__always)
        get {
            assert(index >= 0 && index < count)
            return unsafe base[index]
        }
        @inline(__always)
        _modify {
            assert(index >= 0 && index < count)
            yield unsafe &base[index]
        }
    }

    /// Makes room for `newCount` elements; those that are new are equal to `element`.
    ///
    /// Complexity: O(`newCount`).
    @usableFromInline
    mutating func grow(to newCount: Int, filling element: Element) {
        guard newCount > count else { return }
        let grown = unsafe FlatArray.allocate(newCount)
        unsafe grown.initialize(from: base, count: count)
        unsafe (grown + count).initialize(repeating: element, count: newCount - count)
        unsafe UnsafeMutableRawPointer(base).deallocate()
        unsafe base = grown
        count = newCount
    }

    /// Sets every element to `element`.
    ///
    /// Complexity: O(count).
    @usableFromInline
    mutating func fill(with element: Element) {
        unsafe base.update(repeating: element, count: count)
    }
}

// Proof: the memory is reachable through this value alone; the pointer is never handed out and the type cannot be
// copied, so the owner of the value owns the memory, and moving the value to another thread moves both.
extension FlatArray: @unchecked Sendable where Element: Sendable {}
