/// The metadata of an entry on its way into memory.
@usableFromInline
struct EntryMetadata: Sendable {
    @usableFromInline let freshUntil: MonotonicInstant
    @usableFromInline let revalidateUntil: MonotonicInstant
    @usableFromInline let staleUntil: MonotonicInstant
    @usableFromInline let storedAt: MonotonicInstant
    @usableFromInline let version: EntryVersion
    @usableFromInline let fetchDuration: Duration
    @usableFromInline let asOf: UInt64
    /// `nil` when there is no more to say than `asOf`.
    @usableFromInline let label: MemoryEntryTags?

    @inlinable
    init<Value>(_ entry: Entry<Value>) {
        freshUntil = entry.freshUntil
        revalidateUntil = entry.revalidateUntil
        staleUntil = entry.staleUntil
        storedAt = entry.storedAt
        version = entry.version
        fetchDuration = entry.fetchDuration
        asOf = entry.asOf
        label =
            entry.tags.isEmpty && entry.seal == nil
            ? nil : MemoryEntryTags(tags: entry.tags, seal: entry.seal, asOf: entry.asOf)
    }
}

extension Entry {
    /// Whether there is more to remember than a slot has room for.
    @inlinable
    @inline(__always)
    var hasMetadata: Bool {
        staleUntil != freshUntil || refreshAt != freshUntil || storedAt != .distantPast
            || version != .none || !tags.isEmpty || fetchDuration != .zero || asOf != 0 || seal != nil
    }
}
