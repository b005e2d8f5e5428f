/// What a composition takes down before it asks its levels for a key.
struct Asked: Sendable {
    /// A ticket of the upper level's own gate; ``Ticket/none`` where it has none.
    let ticket: Ticket
    /// How often tags had been invalidated at the gate that voids what the upper level was filled with.
    let tagChanges: UInt64
    /// The same of the upper level's own gate.
    let tagChangesAbove: UInt64?
    /// The key as the upper level's gate knows it.
    var fingerprint: UInt64 = 0
    /// The number of the upper level's invalidations that stood when the lower level was asked.
    var asOf: UInt64 = 1

    /// The same, with the number that stands now: to be taken before the lower level is asked.
    ///
    /// Where none is known, what is fetched counts as older than everything.
    func asking(_ gate: FillGate?) -> Asked {
        var asked = self
        asked.asOf = max(1, gate?.sequence(for: fingerprint) ?? 1)
        return asked
    }
}
