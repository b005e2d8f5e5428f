/// What the hot path needs of an entry, in one piece.
@usableFromInline
struct MemorySlot<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline var key: Key
    @usableFromInline var freshUntil: MonotonicInstant
    @usableFromInline var ticket: Ticket
    /// `nil` is a remembered absence.
    @usableFromInline var value: Value?
    // The three of one byte first: they fit into what an optional value leaves free.
    @usableFromInline var partition: UInt8
    /// Whether the slot's details differ from those that follow from this.
    @usableFromInline var hasDetails: Bool
    @usableFromInline var isSuspect: Bool
    /// The part of the key's hash that stands in the index.
    @usableFromInline var tag: UInt32

    @inlinable
    init(
        key: Key,
        freshUntil: MonotonicInstant,
        ticket: Ticket,
        value: Value?,
        tag: UInt32,
        partition: UInt8,
        hasDetails: Bool,
        isSuspect: Bool
    ) {
        self.key = key
        self.freshUntil = freshUntil
        self.ticket = ticket
        self.value = value
        self.tag = tag
        self.partition = partition
        self.hasDetails = hasDetails
        self.isSuspect = isSuspect
    }
}

/// What an entry has beside its value, if it has any of it.
///
/// Entries that a user has put into memory have none, and take no room for it.
@usableFromInline
struct MemoryDetails: Sendable {
    @usableFromInline var staleUntil: MonotonicInstant
    @usableFromInline var version: EntryVersion
    @usableFromInline var tags: [String]

    @inlinable
    init<Value>(_ entry: Entry<Value>, staleUntil: MonotonicInstant) {
        self.staleUntil = staleUntil
        version = entry.version
        tags = entry.tags
    }
}

extension Entry {
    /// How long the fetch took, to the microsecond, and an hour at most.
    @inlinable
    var fetchMicroseconds: UInt32 { UInt32(clamping: fetchDuration.saturatedNanoseconds / 1000) }

    /// Whether there is more to remember than a slot has room for.
    @inlinable
    @inline(__always)
    var hasParticulars: Bool { version != .none || !tags.isEmpty || fetchDuration != .zero }
}
