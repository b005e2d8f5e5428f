/// An entry that has left a memory level.
public struct MemoryRemoval<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The key.
    public let key: Key
    /// The value; `nil` when the entry was a remembered absence.
    public let value: Value?
    /// Why it has left.
    public let cause: RemovalCause

    @inlinable
    init(key: Key, value: Value?, cause: RemovalCause) {
        self.key = key
        self.value = value
        self.cause = cause
    }
}

/// The entries that an operation has removed: they are released, and reported, after the level's lock.
///
/// The first one has a place of its own, because most operations remove one, and an array is an allocation. It is
/// stored in its parts: the compiler releases an optional key in place, and an optional slot through the type's table
/// of functions, which takes longer than all else here.
@usableFromInline
struct MemoryDepartures<Key: Hashable & Sendable, Value: Sendable>: ~Copyable, Sendable {
    @usableFromInline var firstKey: Key?
    @usableFromInline var firstValue: Value?
    @usableFromInline var firstCause = RemovalCause.size
    @usableFromInline var others: [MemoryRemoval<Key, Value>] = []

    @inlinable
    init() {}

    @inlinable
    @inline(__always)
    mutating func add(_ slot: consuming MemorySlot<Key, Value>, _ cause: RemovalCause) {
        if firstKey == nil {
            firstKey = slot.key
            firstValue = slot.value
            firstCause = cause
        } else {
            others.append(MemoryRemoval(key: slot.key, value: slot.value, cause: cause))
        }
    }

    @inlinable
    @inline(__always)
    func tell(_ listener: (@Sendable (MemoryRemoval<Key, Value>) -> Void)?) {
        guard let listener else { return }
        tell(listener: listener)
    }

    @inlinable
    @inline(never)
    func tell(listener: @Sendable (MemoryRemoval<Key, Value>) -> Void) {
        let removals = removals
        guard !removals.isEmpty else { return }
        CallLocals.apart { for removal in removals { listener(removal) } }
    }

    @usableFromInline
    var removals: [MemoryRemoval<Key, Value>] {
        guard let firstKey else { return [] }
        return [MemoryRemoval(key: firstKey, value: firstValue, cause: firstCause)] + others
    }
}
