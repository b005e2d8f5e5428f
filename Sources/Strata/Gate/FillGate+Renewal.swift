internal import Synchronization

// What this process has written itself is kept with a ticket that voids those of all reads that began before. Taking the new
// one and keeping the value cannot be one step, and between the two the key would be missing above. So the new ticket can be
// promised: it lives beside the old ones until it is settled, when the value is in its place. Whatever voids the key ends a
// promise too, since it passes over the promised count.
extension FillGate {
    /// Voids every other ticket of a key and returns a new one, if `ticket` still lives.
    ///
    /// For a value that this process has just written: the ticket was taken before the write, so nobody else's change has
    /// come in between, and reads that began before the write may not be kept any more.
    ///
    /// - Returns: `nil` when the ticket is void; the key's other tickets are then void too.
    public func renew(_ ticket: Ticket) -> Ticket? {
        guard let slot = place(of: ticket) else { return nil }
        let counter = unsafe counters[slot].load(ordering: .acquiring)
        if counter & Self.countMask == ticket.count {
            let count = Self.count(after: counter)
            if exchange(counter, for: count, at: slot) { return ticket.counting(count) }
        }
        advance(slot)
        return nil
    }

    /// Like ``renew(_:)``, but the key's other tickets live until ``settle(_:)``.
    ///
    /// A counter makes one promise at a time. Where there is another one already, the other tickets are void at once.
    ///
    /// - Returns: The new ticket; `nil` when the old one is void.
    package func promise(_ ticket: Ticket) -> Ticket? {
        guard let slot = place(of: ticket) else { return nil }
        let counter = unsafe counters[slot].load(ordering: .acquiring)
        // Without the mark of a promise, nor any other.
        if counter == ticket.count, exchange(counter, for: counter | Self.promised, at: slot) {
            return ticket.counting((counter &+ 1) & Self.countMask)
        }
        return renew(ticket)
    }

    /// Voids every other ticket of a key of which this one was promised; with any other ticket it does nothing.
    ///
    /// One load where nothing is promised.
    package func settle(_ ticket: Ticket) {
        guard let slot = place(of: ticket) else { return }
        let counter = unsafe counters[slot].load(ordering: .acquiring)
        // If that fails, the key was voided meanwhile, or somebody else has settled it.
        if Self.promises(ticket, counter) { _ = exchange(counter, for: ticket.count, at: slot) }
    }

    private func place(of ticket: Ticket) -> Int? {
        ticket.belongsToGate && UInt64(ticket.slot) <= mask ? ticket.slot : nil
    }

    private func exchange(_ expected: UInt64, for desired: UInt64, at slot: Int) -> Bool {
        unsafe counters[slot].compareExchange(expected: expected, desired: desired, ordering: .acquiringAndReleasing)
            .exchanged
    }
}

extension Ticket {
    /// The same place, with another count.
    fileprivate func counting(_ count: UInt64) -> Ticket { Ticket(bits: bits & ~FillGate.countMask | count) }
}
