/// The right to keep a value that was asked for: it is void as soon as its key has changed since.
///
/// A ticket is taken *before* a lower level is asked and travels with the entry that comes back. Every level above
/// keeps it with the entry and honours the entry only while the ticket lives. So it does not matter when an
/// invalidation comes, on the way or long after: what was read before it is dead.
@frozen
public struct Ticket: Sendable, Hashable {
    /// Bits 0 to 39: the count of the key's slot when the ticket was taken.
    ///
    /// 40 to 61: the slot. 62: whether the ticket was taken while nobody could hear of changes. 63: whether it belongs
    /// to no gate.
    @usableFromInline
    let bits: UInt64

    @inlinable
    init(bits: UInt64) {
        self.bits = bits
    }

    /// The ticket of entries that a user has put where they are.
    ///
    /// They were not filled from below, and no gate voids them.
    @inlinable
    public static var none: Ticket { Ticket(bits: 1 << 63 | 1) }

    /// A ticket that no gate has issued: whatever carries it may be returned, and not kept.
    @inlinable
    public static var void: Ticket { Ticket(bits: 1 << 63) }

    /// Whether the ticket was taken while nobody could hear of changes.
    ///
    /// An entry with such a ticket may be kept for ``FillGate/untrustedLifetime`` from when it was asked for, and no
    /// longer.
    @inlinable
    public var isTimed: Bool { bits & (1 << 62) != 0 }

    /// What goes with the entry to somebody who joined the asking when it was under way.
    ///
    /// A timed entry is kept for some time from when it was asked for, and that is known only to who asked first.
    package var ofJoined: Ticket { isTimed ? .void : self }

    @inlinable
    var belongsToGate: Bool { bits & (1 << 63) == 0 }

    @inlinable
    var slot: Int { Int(truncatingIfNeeded: bits >> 40 & (1 << 22 - 1)) }

    @inlinable
    var count: UInt64 { bits & (1 << 40 - 1) }
}
