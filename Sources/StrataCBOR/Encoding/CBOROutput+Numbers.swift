extension CBOROutput {
    /// Writes a number in the shortest floating-point format that keeps its value (RFC 8949 §4.2.1).
    @inline(__always)
    mutating func double(_ value: Double) {
        let single = Float(value)
        if Double(single) == value || value.isNaN {
            float(single)
        } else {
            number(CBORByte.double, value.bitPattern)
        }
    }

    /// Writes a number in the shortest floating-point format that keeps its value; every NaN as the one canonical NaN.
    mutating func float(_ value: Float) {
        if value.isNaN {
            number(CBORByte.half, 0x7E00 as UInt16)
        } else if let half = CBORHalf.bits(exactly: value) {
            number(CBORByte.half, half)
        } else {
            number(CBORByte.single, value.bitPattern)
        }
    }
}
