/// What a memory level does for callers that do not know its types, compiled for these types.
///
/// A composition reaches its levels through a protocol, and its code is not compiled for the keys and values of its
/// user: at each step it would look up at run time how they lie in memory, which costs more than the step itself. These
/// closures are made where the level is made, which is in the user's own module, and are specialised there.
@usableFromInline
package struct MemoryOperations<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline
    typealias Level = MemoryLevel<Key, Value>

    /// Keeps an entry.
    @usableFromInline
    let keep: @Sendable (Level, Entry<Value>, Key) throws(CacheError) -> Void
    /// The entry of a key, also a stale one; the read is counted.
    @usableFromInline
    let read: @Sendable (Level, Key, MonotonicInstant) -> Entry<Value>?

    @inlinable
    package init() {
        keep = { (level, entry, key) throws(CacheError) in try level.keep(entry, for: key) }
        read = { level, key, now in level.entry(for: key, at: now) }
    }
}
