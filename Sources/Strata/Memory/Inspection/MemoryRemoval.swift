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

/// What an operation has taken out of a level: let go, and told of, when the level's lock is open again.
///
/// The first one has a place of its own, because one is what most operations have, and an array is an allocation.
@usableFromInline
struct MemoryDepartures<Key: Hashable & Sendable, Value: Sendable>: ~Copyable, Sendable {
    @usableFromInline var first: MemorySlot<Key, Value>?
    @usableFromInline var firstCause = RemovalCause.size
    @usableFromInline var others: [(slot: MemorySlot<Key, Value>, cause: RemovalCause)] = []

    @inlinable
    init() {}

    @inlinable
    @inline(__always)
    mutating func add(_ slot: consuming MemorySlot<Key, Value>, _ cause: RemovalCause) {
        if first == nil {
            first = slot
            firstCause = cause
        } else {
            others.append((slot, cause))
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
        for removal in removals { listener(removal) }
    }

    @usableFromInline
    var removals: [MemoryRemoval<Key, Value>] {
        guard let first else { return [] }
        return ([(first, firstCause)] + others).map { MemoryRemoval(key: $0.key, value: $0.value, cause: $1) }
    }
}
