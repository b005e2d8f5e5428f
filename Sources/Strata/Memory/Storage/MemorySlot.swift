/// What the hot path needs of an entry, in one piece.
@usableFromInline
struct MemorySlot<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline var key: Key
    /// Until when it is served without a look at the rest: then it is stale, or due to be fetched anew.
    @usableFromInline var servedUntil: MonotonicInstant
    @usableFromInline var ticket: Ticket
    /// `nil` is a remembered absence.
    @usableFromInline var value: Value?
    // The three of one byte first: they fit into what an optional value leaves free.
    @usableFromInline var partition: UInt8
    /// Whether the slot has metadata that differs from what follows from the slot alone.
    @usableFromInline var hasMetadata: Bool
    /// Bit 0: the entry is suspect: it is not known whether it has changed.
    ///
    /// Bit 1: its metadata has a seal.
    @usableFromInline var marks: UInt8
    /// The part of the key's hash that stands in the index.
    @usableFromInline var tag: UInt32

    @inlinable
    init(
        key: Key,
        servedUntil: MonotonicInstant,
        ticket: Ticket,
        value: Value?,
        tag: UInt32,
        partition: UInt8,
        hasMetadata: Bool,
        isSuspect: Bool,
        isSealed: Bool = false
    ) {
        self.key = key
        self.servedUntil = servedUntil
        self.ticket = ticket
        self.value = value
        self.tag = tag
        self.partition = partition
        self.hasMetadata = hasMetadata
        marks = (isSuspect ? 1 : 0) | (isSealed ? 2 : 0)
    }

    /// Whether a read has to look twice.
    @inlinable var isMarked: Bool { marks != 0 }
    /// Whether it was kept although nothing could tell whether it has changed.
    @inlinable var isSuspect: Bool { marks & 1 != 0 }
}
