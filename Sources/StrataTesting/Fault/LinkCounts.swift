/// What passed in one direction through a ``FaultProxy``, in bytes.
public struct LinkCounts: Sendable, Hashable {
    /// Read from the sender.
    public var received = 0
    /// Handed to the receiver's kernel, copies and insertions included.
    public var delivered = 0
    /// Taken out by an edit, a black hole, or a half-close.
    public var swallowed = 0
    /// Changed by an edit.
    public var corrupted = 0
    /// Added by an edit.
    public var added = 0

    /// Creates counts of zero.
    public init() {}

    static func += (counts: inout LinkCounts, other: LinkCounts) {
        counts.received &+= other.received
        counts.delivered &+= other.delivered
        counts.swallowed &+= other.swallowed
        counts.corrupted &+= other.corrupted
        counts.added &+= other.added
    }
}
