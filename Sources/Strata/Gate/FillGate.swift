public import Synchronization

/// Decides whether what was read below may still be kept above: the one mechanism that closes every fill race.
///
/// A table of counters; a key's fingerprint picks its counter. Taking a ticket reads it, an invalidation increments it, a
/// ticket lives as long as its counter still has the ticket's count, or promises it. Keys that share a counter are voided
/// together: over-invalidation is allowed, under-invalidation never happens. No lock, no memory per key, O(1) for everything
/// but ``voidAll()``, which is O(size of the table).
///
/// A gate may be fed by something that hears of changes made elsewhere. ``trustedUntil`` then says how long silence means
/// that nothing has changed. Past it, the entries above are *suspect*: what was kept on the strength of being told is asked
/// for again. What is read meanwhile gets a timed ticket and is kept for ``deafLifetime`` at most, so that an outage of the
/// messenger bounds how old a value can be and does not switch memory off.
///
/// Proof of `Sendable`: the pointer is set once, the counters are atomics, the memory lives as long as the gate.
@safe
public final class FillGate: Sendable {
    /// The count takes 40 bits: at a million changes of one counter a second it comes round after 12 days, and then only
    /// matters to an entry that was not asked for in all that time.
    @usableFromInline
    static let countMask: UInt64 = 1 << 40 - 1
    /// Beside the count: whether the next count is promised, see ``promise(_:)``.
    @usableFromInline
    static let promised: UInt64 = 1 << 40

    @usableFromInline
    nonisolated(unsafe) let counters: UnsafeMutablePointer<Atomic<UInt64>>
    @usableFromInline
    let mask: UInt64
    @usableFromInline
    let trust: Atomic<Int64>
    let tagChangeCount = Atomic<UInt64>(0)
    let lastSequence = Atomic<UInt64>(0)
    /// How long an entry may be kept that was read while nobody could hear of changes.
    public let deafLifetime: Duration

    /// A gate with at least `size` counters, rounded up to a power of two between 2¹⁰ and 2²².
    ///
    /// - Parameters:
    ///   - size: Twice the entries that are expected above keeps needless invalidation low; 8 bytes each.
    ///   - deafLifetime: How long an entry may be kept that was read while nobody could hear of changes. With `nil` the gate
    ///     needs no messenger and is always trusted.
    public init(size: Int = 1 << 16, deafLifetime: Duration? = nil) {
        var rounded = 1 << 10
        while rounded < min(size, 1 << 22) { rounded *= 2 }
        mask = UInt64(rounded - 1)
        unsafe counters = .allocate(capacity: rounded)
        for index in 0..<rounded { unsafe (counters + index).initialize(to: Atomic<UInt64>(0)) }
        trust = Atomic(deafLifetime == nil ? .max : .min)
        self.deafLifetime = deafLifetime ?? .zero
    }

    deinit {
        unsafe counters.deinitialize(count: Int(mask) + 1)
        unsafe counters.deallocate()
    }

    // MARK: Tickets

    /// A ticket for a key, to be taken before asking below.
    public func ticket(for fingerprint: UInt64) -> Ticket {
        // Trust is looked at first: when it ends in between, the ticket is one of those that its return voids.
        let timed: UInt64 = .coarse < trustedUntil ? 0 : 1
        let slot = fingerprint & mask
        let count = unsafe counters[Int(truncatingIfNeeded: slot)].load(ordering: .acquiring)
        return Ticket(bits: timed << 62 | slot << 40 | count & Self.countMask)
    }

    /// Whether nothing has voided the ticket.
    ///
    /// ``Ticket/none`` always lives, ``Ticket/void`` never.
    @inlinable
    public func isLive(_ ticket: Ticket) -> Bool {
        guard ticket.belongsToGate, UInt64(ticket.slot) <= mask else { return ticket == .none }
        let counter = unsafe counters[ticket.slot].load(ordering: .acquiring)
        return counter & Self.countMask == ticket.count || Self.promises(ticket, counter)
    }

    /// Whether a counter promises a ticket that does not count yet.
    @inlinable
    static func promises(_ ticket: Ticket, _ counter: UInt64) -> Bool {
        counter & promised != 0 && (counter &+ 1) & countMask == ticket.count
    }

    /// Whether an entry with this ticket may be served at `now` without asking below.
    @inlinable
    public func admits(_ ticket: Ticket, at now: MonotonicInstant) -> Bool {
        isLive(ticket) && (now < trustedUntil || ticket.isTimed || ticket == .none)
    }

    /// Whether somebody who asks at `now` may be given what was asked for with this ticket at `start`.
    ///
    /// While changes are told, as long as none is. Otherwise nothing vouches for it but its age: for ``deafLifetime``.
    public func lets(_ ticket: Ticket, from start: MonotonicInstant, joinAt now: MonotonicInstant) -> Bool {
        guard isLive(ticket) else { return false }
        if ticket == .none || !ticket.isTimed && now < trustedUntil { return true }
        return start.duration(to: now) < deafLifetime
    }

    /// Voids every ticket of a key.
    @inlinable
    public func void(_ fingerprint: UInt64) {
        advance(Int(truncatingIfNeeded: fingerprint & mask))
    }

    /// Voids every ticket that was ever taken.
    ///
    /// O(size of the table).
    public func voidAll() {
        for slot in 0...Int(mask) { advance(slot) }
    }

    /// The count after every ticket that lives, also a promised one.
    @inlinable
    static func count(after counter: UInt64) -> UInt64 {
        (counter &+ (counter & promised != 0 ? 2 : 1)) & countMask
    }

    @inlinable
    func advance(_ slot: Int) {
        var counter = unsafe counters[slot].load(ordering: .relaxed)
        while true {
            let (exchanged, current) = unsafe counters[slot]
                .compareExchange(
                    expected: counter,
                    desired: Self.count(after: counter),
                    ordering: .acquiringAndReleasing
                )
            if exchanged { return }
            counter = current
        }
    }

    // MARK: Trust

    /// Until when silence means that nothing has changed; ``MonotonicInstant/distantFuture`` where nobody has to listen.
    @inlinable
    public var trustedUntil: MonotonicInstant {
        MonotonicInstant(nanoseconds: trust.load(ordering: .acquiring))
    }

    /// Extends the trust, or ends it with an instant that has passed.
    public func setTrustedUntil(_ instant: MonotonicInstant) {
        trust.store(instant.nanoseconds, ordering: .releasing)
    }
}
