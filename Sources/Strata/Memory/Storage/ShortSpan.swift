/// Spans of time in few bits, rounded down: a mantissa above five bits of exponent, as small floating-point numbers
/// have.
///
/// A span that the mantissa can hold is exact; a longer one loses at most its part in 2 to the power of one less than
/// the mantissa's bits. What is too long for all 31 exponents is cut.
@usableFromInline
enum ShortSpan {
    /// The number for `value` in a mantissa of `bits` bits; never the one with all bits set.
    @inlinable
    static func encode(_ value: UInt64, bits: Int) -> UInt32 {
        let shift = max(0, 64 &- value.leadingZeroBitCount &- bits)
        guard shift < 32 else { return last(bits) &- 1 }
        return min(
            UInt32(truncatingIfNeeded: shift) &<< UInt32(bits) | UInt32(truncatingIfNeeded: value >> shift),
            last(bits) &- 1
        )
    }

    @inlinable
    static func decode(_ number: UInt32, bits: Int) -> UInt64 {
        UInt64(number & (1 &<< UInt32(bits) &- 1)) << UInt64(number >> UInt32(bits))
    }

    /// The number with all bits set, which stands for no span.
    @inlinable
    static func last(_ bits: Int) -> UInt32 { UInt32(truncatingIfNeeded: (1 as UInt64) << UInt64(bits &+ 5) &- 1) }
}

extension MonotonicInstant {
    /// Nanoseconds since an earlier instant; 0 when it is not earlier.
    @inlinable
    func span(since other: MonotonicInstant) -> UInt64 { UInt64(max(0, other.nanoseconds(to: self))) }

    @inlinable
    func after(span: UInt64) -> MonotonicInstant { advanced(byNanoseconds: Int64(clamping: span)) }
}
