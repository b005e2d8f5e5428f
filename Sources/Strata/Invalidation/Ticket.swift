/// The right to keep a value that was read.
///
/// It is void as soon as the key has changed since.
///
/// A ticket is taken *before* a lower level is asked, and travels with the entry. Every level above keeps the ticket
/// with the entry, and honours the entry only while the ticket lives. So the moment of an invalidation does not matter,
/// before or after the fill: an entry that was read before it is void.
@frozen
public struct Ticket: Sendable, Hashable {
    /// Bits 0 to 39: the count of the key's slot when the ticket was taken.
    ///
    /// 40 to 61: the slot. 62: whether the ticket was taken while the link was down. 63: whether it belongs to no gate.
    @usableFromInline
    let bits: UInt64

    @inlinable
    init(bits: UInt64) {
        self.bits = bits
    }

    /// The ticket of entries that a user has set.
    ///
    /// They were not filled from below, and no gate voids them.
    @inlinable
    public static var none: Ticket { Ticket(bits: 1 << 63 | 1) }

    /// A ticket that no gate has issued: an entry with it may be returned, and not kept.
    @inlinable
    public static var void: Ticket { Ticket(bits: 1 << 63) }

    /// Whether the ticket was taken while the link was down.
    ///
    /// An entry with such a ticket may be kept for ``FillGate/untrustedLifetime`` after it was asked for.
    @inlinable
    package var isTimed: Bool { bits & (1 << 62) != 0 }

    /// The ticket for a caller that joined the read.
    ///
    /// A timed entry is kept for some time after it was asked for, and only the first caller knows when that was.
    package var ofJoined: Ticket { isTimed ? .void : self }

    @inlinable
    var belongsToGate: Bool { bits & (1 << 63) == 0 }

    @inlinable
    var slot: Int { Int(truncatingIfNeeded: bits >> 40 & (1 << 22 - 1)) }

    @inlinable
    var count: UInt64 { bits & (1 << 40 - 1) }
}
