public import Synchronization

/// Decides whether what was read below may still be kept above: the one mechanism that closes every fill race.
///
/// A table of counters; a key's fingerprint picks its counter. Taking a ticket reads it, an invalidation increments it, a
/// ticket lives as long as its counter still has the ticket's count. Keys that share a counter are voided together:
/// over-invalidation is allowed, under-invalidation never happens. No lock, no memory per key, O(1) for everything but
/// ``voidAll()``, which is O(size of the table).
///
/// A gate may be fed by something that hears of changes made elsewhere. ``trustedUntil`` then says how long silence means
/// that nothing has changed; past it, tickets are neither honoured nor of use, until trust is renewed.
@safe
public final class FillGate: Sendable {
    /// The count takes 40 bits: at a million changes of one counter a second it comes round after 12 days, and then only
    /// matters to an entry that was not asked for in all that time.
    @usableFromInline
    static let countMask: UInt64 = (1 << 40) - 1

    // Proof of `Sendable`: the pointer is set once, the counters are atomics, the memory lives as long as the gate.
    @usableFromInline
    nonisolated(unsafe) let counters: UnsafeMutablePointer<Atomic<UInt64>>
    @usableFromInline
    let mask: UInt64
    @usableFromInline
    let trust = Atomic<Int64>(.max)

    /// A gate with at least `size` counters, rounded up to a power of two between 2¹⁰ and 2²².
    ///
    /// - Parameter size: Twice the entries that are expected above keeps needless invalidation low; 8 bytes each.
    public init(size: Int = 1 << 16) {
        var rounded = 1 << 10
        while rounded < min(size, 1 << 22) { rounded *= 2 }
        mask = UInt64(rounded - 1)
        unsafe counters = .allocate(capacity: rounded)
        for index in 0..<rounded { unsafe (counters + index).initialize(to: Atomic<UInt64>(0)) }
    }

    deinit {
        unsafe counters.deinitialize(count: Int(mask) + 1)
        unsafe counters.deallocate()
    }

    /// A ticket for a key, to be taken before asking below.
    @inlinable
    public func ticket(for fingerprint: UInt64) -> Ticket {
        let slot = fingerprint & mask
        let count = unsafe counters[Int(truncatingIfNeeded: slot)].load(ordering: .acquiring)
        return Ticket(bits: slot << 40 | count & Self.countMask)
    }

    /// Whether nothing has voided the ticket.
    ///
    /// ``Ticket/none`` always lives, ``Ticket/void`` never.
    @inlinable
    public func isLive(_ ticket: Ticket) -> Bool {
        let slot = ticket.slot
        guard UInt64(slot) <= mask else { return ticket == .none }
        let count = unsafe counters[slot].load(ordering: .acquiring)
        return count & Self.countMask == ticket.bits & Self.countMask
    }

    /// Voids every ticket of a key.
    @inlinable
    public func void(_ fingerprint: UInt64) {
        let slot = Int(truncatingIfNeeded: fingerprint & mask)
        unsafe counters[slot].wrappingAdd(1, ordering: .acquiringAndReleasing)
    }

    /// Voids every ticket that was ever taken.
    ///
    /// O(size of the table).
    public func voidAll() {
        for slot in 0...Int(mask) { unsafe counters[slot].wrappingAdd(1, ordering: .acquiringAndReleasing) }
    }

    /// Voids every other ticket of a key and returns a new one, if `ticket` still lives.
    ///
    /// For a value that this process has just written: the ticket was taken before the write, so nobody else's change has
    /// come in between, and reads that began before the write may not be kept any more.
    ///
    /// - Returns: `nil` when the ticket is void; the key's other tickets are then void too.
    @inlinable
    public func renew(_ ticket: Ticket) -> Ticket? {
        let slot = ticket.slot
        guard UInt64(slot) <= mask else { return nil }
        let current = unsafe counters[slot].load(ordering: .acquiring)
        if current & Self.countMask == ticket.bits & Self.countMask {
            let (exchanged, _) = unsafe counters[slot]
                .compareExchange(
                    expected: current,
                    desired: current &+ 1,
                    ordering: .acquiringAndReleasing
                )
            if exchanged { return Ticket(bits: UInt64(slot) << 40 | (current &+ 1) & Self.countMask) }
        }
        unsafe counters[slot].wrappingAdd(1, ordering: .acquiringAndReleasing)
        return nil
    }

    // MARK: Trust

    /// Until when silence means that nothing has changed; ``MonotonicInstant/distantFuture`` where nobody has to listen.
    @inlinable
    public var trustedUntil: MonotonicInstant {
        MonotonicInstant(nanoseconds: trust.load(ordering: .acquiring))
    }

    /// Extends or ends the trust.
    public func setTrustedUntil(_ instant: MonotonicInstant) {
        trust.store(instant.nanoseconds, ordering: .releasing)
    }
}
