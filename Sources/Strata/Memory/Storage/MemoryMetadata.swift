/// What an entry has beside its value and until when it is served, in 38 bytes: these 32 and the six of
/// ``MemoryShortMetadata``.
///
/// Entries that a user has put into memory have none, and take no room for it.
///
/// Times are spans from what is known exactly, in fewer bits (``ShortSpan``), and end early rather than late: the stale
/// lifetime by a 67-millionth of its length and after nine years at the latest, the fresh one by a thousandth of the
/// time between early refresh and its end. How old an entry is, is right to a 33-millionth of the level's age.
@usableFromInline
struct MemoryMetadata: Sendable {
    @usableFromInline let version: EntryVersion
    @usableFromInline let label: MemoryEntryTags?
    /// Until when it is of use, from the end of its being served.
    @usableFromInline let stale: UInt32
    /// When it was made, from the making of the level; the upper bit is the sign.
    @usableFromInline let stored: UInt32

    @inlinable static var staleBits: Int { 27 }
    @inlinable static var storedBits: Int { 26 }
    @inlinable static var sign: UInt32 { 1 << 31 }

    @inlinable
    init(_ whole: EntryMetadata, _ label: MemoryEntryTags?, servedUntil: MonotonicInstant, start: MonotonicInstant) {
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

    /// The same of another version.
    init(_ version: EntryVersion, of old: MemoryMetadata) {
        self.version = version
        label = old.label
        stale = old.stale
        stored = old.stored
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
