/// What a composition notes before it asks its levels for a key.
struct Asked: Sendable {
    /// A ticket of the upper level's own gate; ``Ticket/none`` for a level without one.
    let ticket: Ticket
    /// The count of tag invalidations at the gate that voids what the upper level was filled with.
    let tagChanges: UInt64
    /// The same count at the upper level's own gate.
    let tagChangesAbove: UInt64?
    /// The key's number at the upper level's gate.
    var fingerprint: UInt64 = 0
    /// The upper level's invalidation number when the lower level was asked.
    var asOf: UInt64 = 1
    /// The ticket and the seal of the last fill of an upper level that loses them: its entry may be that fill.
    var filled: Ticket = .none
    var filledSeal: TagSeal?
    /// Whether the entry of an upper level that loses them comes from before this process knew of it, so that others
    /// may have changed the key since.
    var isUnconfirmed = false
    /// The rights to fill the upper level; `nil` where none are needed.
    var rights: FillRights?

    /// The same, with the present number: taken before the lower level is asked.
    ///
    /// Without a known number, the fetched entry counts as older than all.
    func asking(_ gate: FillGate?) -> Asked {
        var asked = self
        asked.asOf = max(1, gate?.sequence(for: fingerprint) ?? 1)
        return asked
    }
}
