public import Synchronization

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// Decides whether an upper level may keep what was read below.
///
/// This one mechanism closes every race between fills and changes.
///
/// Taking a ticket gives the key a counter and reads it; an invalidation of the key increments it. A ticket lives as
/// long as its counter has the ticket's count, or has the ticket prepared. A change of a key without a ticket here
/// changes nothing, so a process that shares a Redis with busy writers keeps what it has. There is no lock, and
/// everything but ``voidAll()`` is O(1).
///
/// A gate may be fed by something that hears of changes made elsewhere. `trustedUntil` then says how long silence means
/// that nothing has changed. Past it, the entries above are *suspect*: what was kept on the strength of being told is asked
/// for again. What is read meanwhile gets a timed ticket and is kept for `untrustedLifetime` at most, so that an outage of the
/// messenger bounds how old a value can be and does not switch memory off.
///
/// Proof of `Sendable`: the pointer is set once, the counters are atomics, the memory lives as long as the gate.
@safe
public final class FillGate: Sendable {
    /// The count has 40 bits.
    ///
    /// At a million changes of one counter a second it wraps after 12 days, and then only matters to an entry that was
    /// not read in all that time.
    @usableFromInline
    static let countMask: UInt64 = 1 << 40 - 1
    /// Whether the next count is prepared; see ``prepare(_:for:)``.
    @usableFromInline
    static let prepared: UInt64 = 1 << 40
    /// The position of the key's tag in a word, and of the generation in which the word was last used.
    static let tagShift: UInt64 = 41
    @usableFromInline
    static let generationShift: UInt64 = 61

    /// The words: count, prepared bit, tag, generation.
    ///
    /// The memory for all words is reserved; the first ``limit`` words are used. The system provides a page when it is
    /// first touched.
    @usableFromInline
    nonisolated(unsafe) let counters: UnsafeMutablePointer<Atomic<UInt64>>
    @usableFromInline
    let trust: Atomic<Int64>
    /// Modulo 8; see ``place(of:)``.
    @usableFromInline
    let generation = Atomic<UInt64>(0)
    /// How many words are in use; doubled when there is no room, up to ``ceiling``.
    let limit: Atomic<Int>
    /// The most words that are worth their memory: sixteen for each entry that the levels above can hold, where that is
    /// known.
    let ceiling = Atomic<Int>(0)
    /// Keys that got a counter, and keys that had to share one, in this generation.
    let claims = Atomic<Int>(0)
    let shared = Atomic<Int>(0)
    let tagChangeCount = Atomic<UInt64>(0)
    let lastSequence = Atomic<UInt64>(0)
    /// The number of words at the beginning.
    let smallest: Int
    /// How long an entry may be kept that was read while nobody could hear of changes.
    package let untrustedLifetime: Duration

    /// The largest number of words: as many as a ticket can address.
    static let largest = 1 << 22

    /// A gate with room for `size` keys at the beginning, rounded up to a power of two between 2¹⁰ and 2²².
    ///
    /// It grows with the keys that have tickets: up to sixteen times as many words as the memory above holds entries,
    /// and up to 2²², which is 32 MiB, where that memory is not limited by its entries.
    ///
    /// - Parameters:
    ///   - size: The number of keys with room at the beginning; 8 bytes each.
    ///   - untrustedLifetime: How long a level may keep an entry that was read while the link was down. With `nil` the
    ///     gate needs no link and is always trusted.
    public init(size: Int = 1 << 12, untrustedLifetime: Duration? = nil) {
        var rounded = 1 << 10
        while rounded < min(size, Self.largest) { rounded *= 2 }
        smallest = rounded
        limit = Atomic(rounded)
        // An atomic number consists of its bits, and all words begin with zero. Pages that are never touched take no
        // memory.
        guard let memory = unsafe calloc(Self.largest, MemoryLayout<Atomic<UInt64>>.stride) else {
            fatalError("no address space for a gate")
        }
        unsafe counters = memory.bindMemory(to: Atomic<UInt64>.self, capacity: Self.largest)
        trust = Atomic(untrustedLifetime == nil ? .max : .min)
        self.untrustedLifetime = untrustedLifetime ?? .zero
    }

    deinit { unsafe free(counters) }

    // MARK: Tickets

    /// A ticket for a key, taken before asking below.
    public func ticket(for fingerprint: UInt64) -> Ticket {
        // Trust is checked first: when it ends in between, the ticket is among those that its return voids.
        let timed: UInt64 = .coarse < trustedUntil ? 0 : 1
        let (slot, word) = place(of: fingerprint)
        return Ticket(bits: timed << 62 | UInt64(slot) << 40 | word & Self.countMask)
    }

    /// Whether the ticket is not void.
    ///
    /// ``Ticket/none`` always lives, ``Ticket/void`` never.
    @inlinable
    package func isLive(_ ticket: Ticket) -> Bool {
        guard ticket.belongsToGate else { return ticket == .none }
        let word = unsafe counters[ticket.slot].load(ordering: .acquiring)
        guard word & Self.countMask == ticket.count || Self.prepares(ticket, word) else { return false }
        if word >> Self.generationShift != generation.load(ordering: .relaxed) { use(ticket.slot, word) }
        return true
    }

    /// Whether a counter has this ticket prepared.
    @inlinable
    static func prepares(_ ticket: Ticket, _ counter: UInt64) -> Bool {
        counter & prepared != 0 && (counter &+ 1) & countMask == ticket.count
    }

    /// Whether an entry with this ticket may be served at `now` without asking below.
    @inlinable
    package func admits(_ ticket: Ticket, at now: MonotonicInstant) -> Bool {
        isLive(ticket) && (now < trustedUntil || ticket.isTimed || ticket == .none)
    }

    /// Whether a caller that asks at `now` may get the result of a read that began with this ticket at `start`.
    ///
    /// While changes are told, as long as none is. Otherwise nothing vouches for it but its age: for ``untrustedLifetime``.
    package func lets(_ ticket: Ticket, from start: MonotonicInstant, joinAt now: MonotonicInstant) -> Bool {
        guard isLive(ticket) else { return false }
        if ticket == .none || !ticket.isTimed && now < trustedUntil { return true }
        return start.duration(to: now) < untrustedLifetime
    }

    // MARK: Trust

    /// Until when silence means that nothing has changed; ``MonotonicInstant/distantFuture`` without a link.
    @inlinable
    package var trustedUntil: MonotonicInstant {
        MonotonicInstant(nanoseconds: trust.load(ordering: .acquiring))
    }

    /// Extends the trust, or ends it with an instant that has passed.
    public func setTrustedUntil(_ instant: MonotonicInstant) {
        trust.store(instant.nanoseconds, ordering: .releasing)
    }
}
