internal import Synchronization

// A value that this process has written is kept with a new ticket, which voids the tickets of all reads that began
// before. Taking the ticket and keeping the value cannot be one step, and between the two the key would be missing
// above. So a new ticket can be *prepared*: it lives beside the old ones until it is *committed*, when the value is in
// its place. A change of the key ends a prepared ticket, too, because the count skips it.
extension FillGate {
    /// Voids every other ticket of a key and returns a new one, if `ticket` still lives.
    ///
    /// For a value that this process has just written. The ticket was taken before the write; if it lives, no other
    /// change has come in between, and levels must not keep reads that began before the write.
    ///
    /// - Parameters:
    ///   - ticket: The ticket that was taken before the write.
    ///   - fingerprint: The key's fingerprint.
    /// - Returns: `nil` when the ticket is void; the key's other tickets are then void too.
    public func renew(_ ticket: Ticket, for fingerprint: UInt64) -> Ticket? {
        guard ticket.belongsToGate else { return nil }
        let slot = ticket.slot
        var word = unsafe counters[slot].load(ordering: .acquiring)
        while word & Self.countMask == ticket.count {
            let count = Self.count(after: word)
            if exchange(word, for: word & ~(Self.countMask | Self.prepared) | count, at: slot) {
                // Two reads that began together may each have got a word.
                void(fingerprint, but: slot)
                recentVoids.note(Self.mixed(fingerprint), .replaced)
                return ticket.counting(count)
            }
            word = unsafe counters[slot].load(ordering: .acquiring)
        }
        void(fingerprint, because: .replaced)
        return nil
    }

    /// Like ``renew(_:for:)``, but the key's other tickets live until ``commit(_:for:)``.
    ///
    /// A counter has one prepared ticket at a time. Where there is another one already, the other tickets are void at
    /// once.
    ///
    /// - Returns: The new ticket; `nil` when the old one is void.
    package func prepare(_ ticket: Ticket, for fingerprint: UInt64) -> Ticket? {
        guard ticket.belongsToGate else { return nil }
        var word = unsafe counters[ticket.slot].load(ordering: .acquiring)
        while word & (Self.countMask | Self.prepared) == ticket.count {
            if exchange(word, for: word | Self.prepared, at: ticket.slot) {
                return ticket.counting((word &+ 1) & Self.countMask)
            }
            word = unsafe counters[ticket.slot].load(ordering: .acquiring)
        }
        return renew(ticket, for: fingerprint)
    }

    /// Voids every other ticket of a key, if this one was prepared; otherwise does nothing.
    ///
    /// One load when the ticket was not prepared.
    package func commit(_ ticket: Ticket, for fingerprint: @autoclosure () -> UInt64) {
        guard ticket.belongsToGate else { return }
        var word = unsafe counters[ticket.slot].load(ordering: .acquiring)
        while Self.prepares(ticket, word) {
            // When that fails, another thread has used, voided or committed the word.
            if exchange(word, for: word & ~(Self.countMask | Self.prepared) | ticket.count, at: ticket.slot) {
                let fingerprint = fingerprint()
                void(fingerprint, but: ticket.slot)
                return recentVoids.note(Self.mixed(fingerprint), .replaced)
            }
            word = unsafe counters[ticket.slot].load(ordering: .acquiring)
        }
    }
}

extension Ticket {
    /// The same slot with another count.
    fileprivate func counting(_ count: UInt64) -> Ticket { Ticket(bits: bits & ~FillGate.countMask | count) }
}
