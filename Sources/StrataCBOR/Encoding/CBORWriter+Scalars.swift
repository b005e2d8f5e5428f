extension CBORWriter {
    /// Writes an integer of up to 64 bits with the shortest head.
    @inline(__always)
    func integer<Number: FixedWidthInteger>(_ value: Number) {
        if Number.isSigned && value < 0 {
            output.head(CBORMajor.negative, UInt64(bitPattern: ~Int64(truncatingIfNeeded: value)))
        } else {
            output.head(CBORMajor.unsigned, UInt64(truncatingIfNeeded: value))
        }
    }

    /// Writes an integer of 128 bits: as a bignum only where 64 bits do not hold it (RFC 8949 §3.4.3).
    ///
    /// The tag of a bignum is a level of its own.
    func wideInteger<Number: FixedWidthInteger>(_ value: Number, level: Int32) throws {
        let isNegative = Number.isSigned && value < 0
        let magnitude = UInt128(truncatingIfNeeded: isNegative ? ~value : value)
        guard magnitude <= UInt64.max || level < levelLimit else { throw tooDeep() }
        self.magnitude(magnitude, isNegative: isNegative)
    }

    /// Writes a number from its major type's argument.
    func magnitude(_ value: UInt128, isNegative: Bool) {
        if let short = UInt64(exactly: value) {
            output.head(isNegative ? CBORMajor.negative : CBORMajor.unsigned, short)
            return
        }
        output.head(CBORMajor.tag, isNegative ? CBORTag.negativeBignum : CBORTag.positiveBignum)
        let length = 16 - value.leadingZeroBitCount / 8
        output.head(CBORMajor.bytes, UInt64(length))
        for index in (0..<length).reversed() {
            output.byte(UInt8(truncatingIfNeeded: value >> UInt128(8 * index)))
        }
    }

    /// Writes a number in the shortest floating-point format that keeps its value (RFC 8949 §4.2.1).
    @inline(__always)
    func double(_ value: Double) {
        output.double(value)
    }

    /// Writes a number in the shortest floating-point format that keeps its value.
    func float(_ value: Float) {
        output.float(value)
    }

    /// Writes a truth value.
    @inline(__always)
    func bool(_ value: Bool) {
        output.byte(value ? CBORByte.true : CBORByte.false)
    }

    /// Writes a byte string.
    func bytes(_ value: UnsafeRawBufferPointer) {
        output.head(CBORMajor.bytes, UInt64(value.count))
        unsafe output.raw(value)
    }
}
