/// The right to keep a value that was asked for: it is void as soon as its key has changed since.
///
/// A ticket is taken *before* a lower level is asked and travels with the entry that comes back. Every level above keeps it
/// with the entry and honours the entry only while the ticket lives. So it does not matter when an invalidation comes, on
/// the way or long after: what was read before it is dead.
@frozen
public struct Ticket: Sendable, Hashable {
    /// The slot of the gate in the upper 24 bits, its count when the ticket was taken in the lower 40.
    @usableFromInline
    let bits: UInt64

    @inlinable
    init(bits: UInt64) {
        self.bits = bits
    }

    /// No ticket: the entry was put where it is by a user, not filled from below.
    ///
    /// No gate voids it.
    @inlinable
    public static var none: Ticket { Ticket(bits: .max) }

    /// A ticket that no gate has issued: whatever carries it may be returned, and not kept.
    @inlinable
    public static var void: Ticket { Ticket(bits: .max - 1) }

    @inlinable
    var slot: Int { Int(truncatingIfNeeded: bits >> 40) }
}
