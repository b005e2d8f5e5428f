public import Synchronization

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// Decides whether what was read below may still be kept above: the one mechanism that closes every fill race.
///
/// Taking a ticket gives the key a counter and reads it, an invalidation of the key increments it, a ticket lives as long as
/// its counter still has the ticket's count, or promises it. A change of a key that has no ticket here changes nothing: a
/// process that shares a Redis with busy writers keeps what it has. No lock, O(1) for everything but ``voidAll()``.
///
/// Keys share a counter only when a part of the table is full (see `FillGate+Places.swift`); then they are voided together:
/// over-invalidation is allowed, under-invalidation never happens.
///
/// A gate may be fed by something that hears of changes made elsewhere. ``trustedUntil`` then says how long silence means
/// that nothing has changed. Past it, the entries above are *suspect*: what was kept on the strength of being told is asked
/// for again. What is read meanwhile gets a timed ticket and is kept for ``untrustedLifetime`` at most, so that an outage of the
/// messenger bounds how old a value can be and does not switch memory off.
///
/// A gate may have parts, of keys that different messengers tell of: each with a trust and a sequence of its own. The lowest
/// bits of a fingerprint are its key's part, and so are those of the row in which the key has its counter, so a ticket tells
/// its part.
///
/// Proof of `Sendable`: the pointers are set once, the counters are atomics, the memory lives as long as the gate.
@safe
public final class FillGate: Sendable {
    /// The count takes 40 bits: at a million changes of one counter a second it comes round after 12 days, and then only
    /// matters to an entry that was not asked for in all that time.
    @usableFromInline
    static let countMask: UInt64 = 1 << 40 - 1
    /// Beside the count: whether the next count is promised, see ``promise(_:for:)``.
    @usableFromInline
    static let promised: UInt64 = 1 << 40
    /// Where a word has the tag of the key whose counter it is, and where the generation in which it was last used.
    static let tagShift: UInt64 = 41
    @usableFromInline
    static let generationShift: UInt64 = 61

    /// The words: count, promise, tag, generation.
    ///
    /// The memory for all of them is reserved, and used from the beginning up to ``limit``: the system gives a page of it when
    /// it is touched first.
    @usableFromInline
    nonisolated(unsafe) let counters: UnsafeMutablePointer<Atomic<UInt64>>
    /// Of each part: until when it is trusted, in nanoseconds.
    @usableFromInline
    nonisolated(unsafe) let trusts: UnsafeMutablePointer<Atomic<Int64>>
    /// Of each part: the highest number of its invalidations.
    nonisolated(unsafe) let sequences: UnsafeMutablePointer<Atomic<UInt64>>
    let parts: Int
    /// The bits of a fingerprint that tell its part; of several parts there are as many again, in which tags have their counters.
    @usableFromInline
    let partMask: Int
    /// Modulo 8; see ``place(of:)``.
    @usableFromInline
    let generation = Atomic<UInt64>(0)
    /// How many words are in use; doubled when there is no room, up to ``ceiling``.
    let limit: Atomic<Int>
    /// How many words are worth their memory: sixteen for each entry that levels above can hold, where that is known.
    let ceiling = Atomic<Int>(0)
    /// Keys that were given a counter, and those that had to share one, in this generation.
    let claims = Atomic<Int>(0)
    let shared = Atomic<Int>(0)
    let tagChangeCount = Atomic<UInt64>(0)
    /// How many words the table begins with.
    let smallest: Int
    /// How long an entry may be kept that was read while nobody could hear of changes.
    public let untrustedLifetime: Duration

    /// No table has more words: that many fit into a ticket.
    static let largest = 1 << 22

    /// A gate with room for `size` keys at the beginning, rounded up to a power of two between 2¹⁰ and 2²².
    ///
    /// It grows with the keys that have tickets: up to sixteen times as many words as the memory above holds entries, and up
    /// to 2²², which is 32 MiB, where that memory is not limited by its entries.
    ///
    /// - Parameters:
    ///   - size: For how many keys there is room at the beginning; 8 bytes each.
    ///   - untrustedLifetime: How long an entry may be kept that was read while nobody could hear of changes. With `nil` the gate
    ///     needs no messenger and is always trusted.
    public convenience init(size: Int = 1 << 12, untrustedLifetime: Duration? = nil) {
        self.init(size: size, untrustedLifetime: untrustedLifetime, parts: 1)
    }

    /// A gate with parts.
    ///
    /// - Parameters:
    ///   - size: For how many keys there is room at the beginning; 8 bytes each.
    ///   - untrustedLifetime: How long an entry may be kept that was read while nobody could hear of changes.
    ///   - parts: How many parts it has: a power of two, up to 64.
    package init(size: Int = 1 << 12, untrustedLifetime: Duration?, parts: Int) {
        precondition((1...64).contains(parts) && parts & (parts - 1) == 0, "parts of a gate are a power of two")
        self.parts = parts
        partMask = parts == 1 ? 0 : 2 * parts - 1
        unsafe trusts = .allocate(capacity: partMask + 1)
        unsafe sequences = .allocate(capacity: partMask + 1)
        for part in 0...partMask {
            unsafe (trusts + part).initialize(to: Atomic(untrustedLifetime == nil ? .max : .min))
            unsafe (sequences + part).initialize(to: Atomic(0))
        }
        var rounded = 1 << 10
        while rounded < min(size, Self.largest) { rounded *= 2 }
        smallest = rounded
        limit = Atomic(rounded)
        // An atomic number is its bits, and all words begin with zero; pages that are never touched take no memory.
        guard let memory = unsafe calloc(Self.largest, MemoryLayout<Atomic<UInt64>>.stride) else {
            fatalError("no address space for a gate")
        }
        unsafe counters = memory.bindMemory(to: Atomic<UInt64>.self, capacity: Self.largest)
        self.untrustedLifetime = untrustedLifetime ?? .zero
    }

    deinit {
        unsafe free(counters)
        unsafe trusts.deinitialize(count: partMask + 1)
        unsafe trusts.deallocate()
        unsafe sequences.deinitialize(count: partMask + 1)
        unsafe sequences.deallocate()
    }

    // MARK: Tickets

    /// A ticket for a key, to be taken before asking below.
    public func ticket(for fingerprint: UInt64) -> Ticket {
        // Trust is looked at first: when it ends in between, the ticket is one of those that its return voids.
        let timed: UInt64 = .coarse < trustedUntil(ofPart: part(of: fingerprint)) ? 0 : 1
        let (slot, word) = place(of: fingerprint)
        return Ticket(bits: timed << 62 | UInt64(slot) << 40 | word & Self.countMask)
    }

    /// Whether nothing has voided the ticket.
    ///
    /// ``Ticket/none`` always lives, ``Ticket/void`` never.
    @inlinable
    public func isLive(_ ticket: Ticket) -> Bool {
        guard ticket.belongsToGate else { return ticket == .none }
        let word = unsafe counters[ticket.slot].load(ordering: .acquiring)
        guard word & Self.countMask == ticket.count || Self.promises(ticket, word) else { return false }
        if word >> Self.generationShift != generation.load(ordering: .relaxed) { use(ticket.slot, word) }
        return true
    }

    /// Whether a counter promises a ticket that does not count yet.
    @inlinable
    static func promises(_ ticket: Ticket, _ counter: UInt64) -> Bool {
        counter & promised != 0 && (counter &+ 1) & countMask == ticket.count
    }

    /// Whether an entry with this ticket may be served at `now` without asking below.
    @inlinable
    public func admits(_ ticket: Ticket, at now: MonotonicInstant) -> Bool {
        isLive(ticket) && (now < trustedUntil(of: ticket) || ticket.isTimed || ticket == .none)
    }

    /// Whether somebody who asks at `now` may be given what was asked for with this ticket at `start`.
    ///
    /// While changes are told, as long as none is. Otherwise nothing vouches for it but its age: for ``untrustedLifetime``.
    public func lets(_ ticket: Ticket, from start: MonotonicInstant, joinAt now: MonotonicInstant) -> Bool {
        guard isLive(ticket) else { return false }
        if ticket == .none || !ticket.isTimed && now < trustedUntil(of: ticket) { return true }
        return start.duration(to: now) < untrustedLifetime
    }

    // MARK: Trust

    /// Until when silence means that nothing has changed; ``MonotonicInstant/distantFuture`` where nobody has to listen.
    ///
    /// Of the part that is trusted for the shortest time.
    public var trustedUntil: MonotonicInstant {
        (0..<parts).reduce(.distantFuture) { min($0, trustedUntil(ofPart: $1)) }
    }

    /// Extends the trust of all parts, or ends it with an instant that has passed.
    public func setTrustedUntil(_ instant: MonotonicInstant) {
        for part in 0..<parts { setTrustedUntil(instant, ofPart: part) }
    }

    /// Until when a part is trusted.
    package func trustedUntil(ofPart part: Int) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: unsafe trusts[part & partMask].load(ordering: .acquiring))
    }

    /// Extends the trust of a part, or ends it with an instant that has passed.
    package func setTrustedUntil(_ instant: MonotonicInstant, ofPart part: Int) {
        unsafe trusts[part & partMask].store(instant.nanoseconds, ordering: .releasing)
    }

    /// The part of a key.
    package func part(of fingerprint: UInt64) -> Int { Int(truncatingIfNeeded: fingerprint) & partMask }

    /// The part of a ticket's key is that of its row.
    @inlinable
    func trustedUntil(of ticket: Ticket) -> MonotonicInstant {
        let part = (ticket.slot >> Self.rowShift) & partMask
        return MonotonicInstant(nanoseconds: unsafe trusts[part].load(ordering: .acquiring))
    }
}
