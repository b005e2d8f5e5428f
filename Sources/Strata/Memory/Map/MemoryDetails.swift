/// What an entry has beside its value and until when it is served, in 38 bytes: these 32 and the six of ``MemoryMinutiae``.
///
/// Entries that a user has put into memory have none, and take no room for it.
///
/// Times are spans from what is known exactly, in fewer bits (``ShortSpan``), and end early rather than late: the stale
/// lifetime by a 67-millionth of its length and after nine years at the latest, the fresh one by a thousandth of the time
/// between early refresh and its end. How old an entry is, is right to a 33-millionth of the level's age.
@usableFromInline
struct MemoryDetails: Sendable {
    @usableFromInline let version: EntryVersion
    @usableFromInline let label: MemoryLabel?
    /// Until when it is of use, from the end of its being served.
    @usableFromInline let stale: UInt32
    /// When it was made, from the making of the level; the upper bit is the sign.
    @usableFromInline let stored: UInt32

    @inlinable static var staleBits: Int { 27 }
    @inlinable static var storedBits: Int { 26 }
    @inlinable static var sign: UInt32 { 1 << 31 }

    @inlinable
    init(_ whole: MemoryParticulars, _ label: MemoryLabel?, servedUntil: MonotonicInstant, start: MonotonicInstant) {
        version = whole.version
        self.label = label
        stale =
            whole.staleUntil == .distantFuture
            ? ShortSpan.last(Self.staleBits)
            : ShortSpan.encode(whole.staleUntil.span(since: servedUntil), bits: Self.staleBits)
        stored =
            if whole.storedAt == .distantPast {
                Self.sign
            } else if whole.storedAt < start {
                Self.sign | ShortSpan.encode(start.span(since: whole.storedAt), bits: Self.storedBits)
            } else {
                ShortSpan.encode(whole.storedAt.span(since: start), bits: Self.storedBits)
            }
    }

    @inlinable
    func staleUntil(servedUntil: MonotonicInstant) -> MonotonicInstant {
        guard stale != ShortSpan.last(Self.staleBits) else { return .distantFuture }
        return servedUntil.after(span: ShortSpan.decode(stale, bits: Self.staleBits))
    }

    @inlinable
    func storedAt(start: MonotonicInstant) -> MonotonicInstant {
        guard stored != Self.sign else { return .distantPast }
        let span = Int64(ShortSpan.decode(stored & ~Self.sign, bits: Self.storedBits))
        return start.advanced(byNanoseconds: stored & Self.sign == 0 ? span : -span)
    }
}

/// What an entry has beside its details, apart from them because of its size.
@usableFromInline
struct MemoryMinutiae: BitwiseCopyable, Sendable {
    /// Until when it is fresh, from the end of its being served.
    @usableFromInline let fresh: UInt16
    /// Until when it is served while it is fetched anew, from the end of its freshness.
    @usableFromInline let revalidation: UInt16
    /// How many microseconds its fetch took.
    @usableFromInline let fetch: UInt16

    @inlinable static var bits: Int { 11 }
    /// The unit of both ends is 16 µs.
    @inlinable static var shift: UInt64 { 14 }
    @inlinable static var none: UInt16 { .max }

    @inlinable
    init(_ whole: MemoryParticulars, servedUntil: MonotonicInstant) {
        fresh =
            whole.freshUntil == .distantFuture
            ? Self.none : Self.encode(whole.freshUntil.span(since: servedUntil) >> Self.shift)
        // As long as the entry is of use, as a rule; that is kept exactly.
        revalidation =
            whole.revalidateUntil >= whole.staleUntil
            ? Self.none : Self.encode(whole.revalidateUntil.span(since: whole.freshUntil) >> Self.shift)
        fetch = Self.encode(UInt64(max(whole.fetchDuration.saturatedNanoseconds / 1000, 0)))
    }

    @inlinable
    static func encode(_ value: UInt64) -> UInt16 {
        UInt16(truncatingIfNeeded: ShortSpan.encode(value, bits: bits))
    }

    @inlinable
    static func decode(_ number: UInt16) -> UInt64 { ShortSpan.decode(UInt32(number), bits: bits) }

    @inlinable
    func freshUntil(servedUntil: MonotonicInstant) -> MonotonicInstant {
        fresh == Self.none ? .distantFuture : servedUntil.after(span: Self.decode(fresh) << Self.shift)
    }

    @inlinable
    func revalidateUntil(freshUntil: MonotonicInstant, staleUntil: MonotonicInstant) -> MonotonicInstant {
        switch revalidation {
        case Self.none: staleUntil
        case 0: .distantPast
        default: min(staleUntil, freshUntil.after(span: Self.decode(revalidation) << Self.shift))
        }
    }

    @inlinable
    var fetchDuration: Duration { .microseconds(Int64(Self.decode(fetch))) }
}

/// By what an entry is invalidated together with others.
///
/// Entries without tags that were fetched between the same two invalidations share one.
@usableFromInline
final class MemoryLabel: Sendable {
    @usableFromInline let tags: [String]
    @usableFromInline let seal: TagSeal?
    @usableFromInline let asOf: UInt64

    @usableFromInline
    init(tags: [String], seal: TagSeal?, asOf: UInt64) {
        self.tags = tags
        self.seal = seal
        self.asOf = asOf
    }
}

/// The details of an entry on their way into memory.
@usableFromInline
struct MemoryParticulars: Sendable {
    @usableFromInline let freshUntil: MonotonicInstant
    @usableFromInline let revalidateUntil: MonotonicInstant
    @usableFromInline let staleUntil: MonotonicInstant
    @usableFromInline let storedAt: MonotonicInstant
    @usableFromInline let version: EntryVersion
    @usableFromInline let fetchDuration: Duration
    @usableFromInline let asOf: UInt64
    /// `nil` when there is no more to say than `asOf`.
    @usableFromInline let label: MemoryLabel?

    @inlinable
    init<Value>(_ entry: Entry<Value>) {
        freshUntil = entry.freshUntil
        revalidateUntil = entry.revalidateUntil
        staleUntil = entry.staleUntil
        storedAt = entry.storedAt
        version = entry.version
        fetchDuration = entry.fetchDuration
        asOf = entry.asOf
        label =
            entry.tags.isEmpty && entry.seal == nil
            ? nil : MemoryLabel(tags: entry.tags, seal: entry.seal, asOf: entry.asOf)
    }
}

extension Entry {
    /// Whether there is more to remember than a slot has room for.
    @inlinable
    @inline(__always)
    var hasParticulars: Bool {
        staleUntil != freshUntil || refreshAt != freshUntil || storedAt != .distantPast
            || version != .none || !tags.isEmpty || fetchDuration != .zero || asOf != 0 || seal != nil
    }
}

extension MonotonicInstant {
    /// Nanoseconds since an earlier instant; 0 when it is not earlier.
    @inlinable
    func span(since other: MonotonicInstant) -> UInt64 { UInt64(max(0, other.nanoseconds(to: self))) }

    @inlinable
    func after(span: UInt64) -> MonotonicInstant { advanced(byNanoseconds: Int64(clamping: span)) }
}
