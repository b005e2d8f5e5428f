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
/// that nothing has changed. Past it, the entries above are *suspect*: what was kept on the strength of being told is
/// asked for again. What is read meanwhile gets a timed ticket and is kept for `untrustedLifetime` at most, so that an
/// outage of the messenger bounds how old a value can be and does not switch memory off.
///
/// A gate may have parts: sets of keys with a link of their own each, and so with a trust and a sequence of their own.
/// The lowest bits of a fingerprint are the part of its key. The number of the row with the key's counter ends with the
/// same bits, so a ticket names its part.
///
/// Proof of `Sendable`: the pointers are set once, the counters are atomics, the memory lives as long as the gate.
@safe
public final class FillGate: Sendable, Equatable {
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
    /// Until when a gate without parts is trusted, in nanoseconds.
    ///
    /// It lies in the gate itself, so that a hit loads nothing more.
    @usableFromInline
    let trust: Atomic<Int64>
    /// Until when each part of a gate with parts is trusted, in nanoseconds.
    @usableFromInline
    nonisolated(unsafe) let trusts: UnsafeMutablePointer<Atomic<Int64>>
    /// The highest invalidation number of each part.
    nonisolated(unsafe) let sequences: UnsafeMutablePointer<Atomic<UInt64>>
    let parts: Int
    /// The bits of a fingerprint that name its part; 0 without parts.
    ///
    /// A gate with parts has as many rows again for the counters of tags, which belong to no part.
    @usableFromInline
    let partMask: Int
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
    /// What has voided keys lately.
    let recentVoids = RecentVoids()
    /// What is voided while memory is read back from a file.
    let voidLog = VoidLog()
    /// The number of words at the beginning.
    let smallest: Int
    /// How long an entry may be kept that was read while the level could not hear of changes.
    package let untrustedLifetime: Duration
    /// Whether others change what is below: an entry that has no ticket may be older than a change that was told.
    @usableFromInline
    let isFed: Bool

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
    public convenience init(size: Int = 1 << 12, untrustedLifetime: Duration? = nil) {
        self.init(size: size, untrustedLifetime: untrustedLifetime, parts: 1)
    }

    /// A gate with parts.
    ///
    /// - Parameters:
    ///   - size: The number of keys with room at the beginning; 8 bytes each.
    ///   - untrustedLifetime: How long a level may keep an entry that was read while the link was down.
    ///   - parts: The number of parts: a power of two, up to 64.
    package init(size: Int = 1 << 12, untrustedLifetime: Duration?, parts: Int) {
        precondition((1...64).contains(parts) && parts & (parts - 1) == 0, "parts of a gate are a power of two")
        self.parts = parts
        partMask = parts == 1 ? 0 : 2 * parts - 1
        let trust: Int64 = untrustedLifetime == nil ? .max : .min
        self.trust = Atomic(trust)
        unsafe trusts = .allocate(capacity: partMask + 1)
        unsafe sequences = .allocate(capacity: partMask + 1)
        for part in 0...partMask {
            unsafe (trusts + part).initialize(to: Atomic(trust))
            unsafe (sequences + part).initialize(to: Atomic(0))
        }
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
        self.untrustedLifetime = untrustedLifetime ?? .zero
        isFed = untrustedLifetime != nil
    }

    deinit {
        unsafe free(counters)
        unsafe trusts.deinitialize(count: partMask + 1)
        unsafe trusts.deallocate()
        unsafe sequences.deinitialize(count: partMask + 1)
        unsafe sequences.deallocate()
    }

    // MARK: Tickets

    /// A ticket for a key, taken before asking below.
    public func ticket(for fingerprint: UInt64) -> Ticket {
        // Trust is checked first: when it ends in between, the ticket is among those that its return voids.
        let timed: UInt64 = .coarse < trustedUntil(ofPart: part(of: fingerprint)) ? 0 : 1
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
        isLive(ticket) && (now < trustedUntil(of: ticket) || ticket.isTimed || ticket == .none)
    }

    /// Whether a caller that asks at `now` may get the result of a read that began with this ticket at `start`.
    ///
    /// While changes are told, as long as none is. Otherwise nothing vouches for it but its age: for
    /// ``untrustedLifetime``.
    package func lets(_ ticket: Ticket, from start: MonotonicInstant, joinAt now: MonotonicInstant) -> Bool {
        guard isLive(ticket) else { return false }
        if ticket == .none || !ticket.isTimed && now < trustedUntil(of: ticket) { return true }
        return start.duration(to: now) < untrustedLifetime
    }

    /// Whether both are the same gate.
    public static func == (one: FillGate, other: FillGate) -> Bool { one === other }

    // MARK: Trust

    /// Until when silence means that nothing has changed; ``MonotonicInstant/distantFuture`` without a link.
    ///
    /// With parts, the earliest of them.
    package var trustedUntil: MonotonicInstant {
        (0..<parts).reduce(.distantFuture) { min($0, trustedUntil(ofPart: $1)) }
    }

    /// Extends the trust of all parts, or ends it with an instant that has passed.
    public func setTrustedUntil(_ instant: MonotonicInstant) {
        for part in 0..<parts { setTrustedUntil(instant, ofPart: part) }
    }

    /// Until when a part is trusted.
    @inlinable
    package func trustedUntil(ofPart part: Int) -> MonotonicInstant {
        guard partMask != 0 else { return MonotonicInstant(nanoseconds: trust.load(ordering: .acquiring)) }
        return MonotonicInstant(nanoseconds: unsafe trusts[part & partMask].load(ordering: .acquiring))
    }

    /// Extends the trust of a part, or ends it with an instant that has passed.
    package func setTrustedUntil(_ instant: MonotonicInstant, ofPart part: Int) {
        guard partMask != 0 else { return trust.store(instant.nanoseconds, ordering: .releasing) }
        unsafe trusts[part & partMask].store(instant.nanoseconds, ordering: .releasing)
    }

    /// The part of a key.
    package func part(of fingerprint: UInt64) -> Int { Int(truncatingIfNeeded: fingerprint) & partMask }

    /// Until when the part of a ticket's key is trusted.
    @inlinable
    func trustedUntil(of ticket: Ticket) -> MonotonicInstant {
        trustedUntil(ofPart: ticket.slot >> Self.rowShift)
    }
}
