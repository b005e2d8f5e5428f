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
struct MemoryDepartures<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline var first: MemoryRemoval<Key, Value>?
    @usableFromInline var others: [MemoryRemoval<Key, Value>] = []

    @inlinable
    init() {}

    @inlinable
    mutating func add(_ removal: MemoryRemoval<Key, Value>) {
        if first == nil { first = removal } else { others.append(removal) }
    }

    @inlinable
    func tell(_ listener: (@Sendable (MemoryRemoval<Key, Value>) -> Void)?) {
        guard let listener, let first else { return }
        listener(first)
        for removal in others { listener(removal) }
    }
}
