internal import Strata

/// What an instance's memory holds of a key, and by which right.
struct MemoryFinding: Sendable {
    let finding: KeyFinding
    /// The write that the entry comes from; ``EntryVersion/none`` if that is not known.
    let version: EntryVersion
    /// How long the entry has been in memory at the least.
    let leastAge: Duration
    /// Whether it was read while the link was down, and is kept for a short time for that reason.
    let isTimed: Bool

    init(_ state: KeyFinding.State) {
        finding = KeyFinding(state)
        version = .none
        leastAge = .zero
        isTimed = false
    }

    /// An entry in memory, as a read at this moment would judge it.
    init(_ glimpse: MemoryGlimpse<some Sendable>, _ gate: FillGate, by clock: CacheClock) {
        let system = MonotonicInstant.now
        finding = KeyFinding(glimpse, gate, at: system, clock.now(at: system))
        version = glimpse.entry.version
        // The asking side counts by the system's clock, which a test's clock says nothing about.
        leastAge = clock.moved == nil ? glimpse.leastAge : .zero
        isTimed = glimpse.entry.ticket.isTimed
    }

    /// Whether a read gets it, and it is not known to be the version that Redis holds.
    func isServed(beside stored: EntryVersion) -> Bool {
        finding.state == KeyFinding.State.fresh.rawValue && (version == .none || version != stored || stored == .none)
    }
}
