/// Conversions of the 16-bit floating-point format, bit by bit: `Float16` does not exist on every platform.
enum CBORHalf {
    /// The value of a half-precision number (RFC 8949 appendix D).
    static func double(_ bits: UInt16) -> Double {
        let exponent = Int(bits >> 10) & 0x1F
        let fraction = Double(bits & 0x3FF)
        let magnitude: Double
        switch exponent {
        case 0: magnitude = fraction * 0x1p-24
        case 31: magnitude = fraction == 0 ? .infinity : .nan
        default: magnitude = Double(sign: .plus, exponent: exponent - 25, significand: fraction + 1024)
        }
        return bits & 0x8000 == 0 ? magnitude : -magnitude
    }

    /// The half-precision bits of a number that is not a NaN, or `nil` where they would not hold it exactly.
    static func bits(exactly value: Float) -> UInt16? {
        let pattern = value.bitPattern
        let sign = UInt16(truncatingIfNeeded: pattern >> 16) & 0x8000
        let fraction = pattern & 0x7F_FFFF
        let exponent = Int(pattern >> 23) & 0xFF
        switch exponent {
        case 0:
            return fraction == 0 ? sign : nil
        case 255:
            return sign | 0x7C00
        case 113...142:
            guard fraction & 0x1FFF == 0 else { return nil }
            return sign | UInt16(exponent - 112) << 10 | UInt16(truncatingIfNeeded: fraction >> 13)
        case 103...112:
            // Below 2^-14 the leading one becomes part of the fraction.
            let significand = fraction | 0x80_0000
            let shift = UInt32(126 - exponent)
            guard significand & ((1 << shift) - 1) == 0 else { return nil }
            return sign | UInt16(truncatingIfNeeded: significand >> shift)
        default:
            return nil
        }
    }
}
