/// The last six bytes of an entry's metadata, apart from ``MemoryMetadata`` so that neither is padded.
@usableFromInline
struct MemoryShortMetadata: BitwiseCopyable, Sendable {
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
    init(_ whole: EntryMetadata, servedUntil: MonotonicInstant) {
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
