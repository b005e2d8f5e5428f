public import Synchronization

/// A setting that is read often and changed seldom.
///
/// A reading is an atomic load and a look through a pointer: no lock, and nothing that readers write. What a change has
/// replaced is kept until the setting itself goes, for a reader may be looking at it; so each change costs the memory
/// of one value.
///
/// Proof of `Sendable`: nodes are written before they are published and never afterwards, and are freed with the
/// setting.
@safe
@usableFromInline
package final class Adjustable<Value: Sendable>: @unchecked Sendable {
    @safe
    @usableFromInline
    struct Node {
        @usableFromInline let value: Value
        let former: UnsafeMutablePointer<Node>?
    }

    @usableFromInline
    let newest: Atomic<UnsafeMutablePointer<Node>>

    /// A setting with its first value.
    package init(_ value: Value) {
        let node = UnsafeMutablePointer<Node>.allocate(capacity: 1)
        unsafe node.initialize(to: Node(value: value, former: nil))
        unsafe newest = Atomic(node)
    }

    deinit {
        var next: UnsafeMutablePointer<Node>? = unsafe newest.load(ordering: .acquiring)
        while let node = unsafe next {
            unsafe next = node.pointee.former
            unsafe node.deinitialize(count: 1)
            unsafe node.deallocate()
        }
    }

    /// What is in force now.
    @inlinable
    @inline(__always)
    package var value: Value { unsafe newest.load(ordering: .acquiring).pointee.value }

    /// Changes the value, and loses no change of another thread.
    ///
    /// - Parameter change: From the value in force to the next one; called again when another thread was faster.
    package func change(_ change: (inout Value) -> Void) {
        let node = UnsafeMutablePointer<Node>.allocate(capacity: 1)
        var former = unsafe newest.load(ordering: .acquiring)
        while true {
            var value = unsafe former.pointee.value
            change(&value)
            unsafe node.initialize(to: Node(value: value, former: former))
            let (exchanged, original) = unsafe newest.compareExchange(
                expected: former,
                desired: node,
                ordering: .acquiringAndReleasing
            )
            if exchanged { return }
            unsafe node.deinitialize(count: 1)
            unsafe former = original
        }
    }
}
