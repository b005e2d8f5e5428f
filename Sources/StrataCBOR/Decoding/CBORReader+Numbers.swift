/// Numbers and truth values.
extension CBORReader {
    /// Reads an integer: of major type 0 or 1, a bignum, or a floating-point number without a fraction.
    @inline(__always)
    func integer<Number: FixedWidthInteger>(_ type: Number.Type, at place: Place) throws -> Number {
        let initial = byte(place.offset)
        if initial < 24 { return Number(truncatingIfNeeded: initial) }
        return try longInteger(type, at: place)
    }

    private func longInteger<Number: FixedWidthInteger>(_ type: Number.Type, at place: Place) throws -> Number {
        let offset = place.offset
        let initial = byte(offset)
        switch initial & CBORMajor.mask {
        case CBORMajor.unsigned:
            guard let value = Number(exactly: argument(offset)) else { throw doesNotFit(type, at: place) }
            return value
        case CBORMajor.negative:
            // ~n is -1 - n. The magnitude fits the type's positive half exactly if the negative number fits the type.
            guard Number.isSigned, let magnitude = Number(exactly: argument(offset)) else {
                throw doesNotFit(type, at: place)
            }
            return ~magnitude
        case CBORMajor.tag:
            if let (magnitude, isNegative) = try bignum(at: place) {
                guard let value = Number(exactly: magnitude), !isNegative || Number.isSigned else {
                    throw doesNotFit(type, at: place)
                }
                return isNegative ? ~value : value
            }
            return try longInteger(type, at: untagged(place))
        case CBORMajor.simple where (CBORByte.half...CBORByte.double).contains(initial):
            guard let value = Number(exactly: floatingPoint(offset, initial)) else { throw doesNotFit(type, at: place) }
            return value
        default:
            throw mismatch(type, at: place)
        }
    }

    /// The argument of a bignum of up to 128 bits, and whether it stands for -1 minus it; `nil` if there is no bignum.
    func bignum(at place: Place) throws -> (magnitude: UInt128, isNegative: Bool)? {
        var offset = place.offset
        var tag: UInt64 = 0
        while major(offset) == CBORMajor.tag {
            tag = argument(offset)
            offset += CBORHead.length(initial: byte(offset))
        }
        guard tag == CBORTag.positiveBignum || tag == CBORTag.negativeBignum, major(offset) == CBORMajor.bytes else {
            return nil
        }
        var magnitude: UInt128 = 0
        var isTooLarge = false
        unsafe forEachChunk(offset) { chunk in
            for index in 0..<chunk.count {
                isTooLarge = isTooLarge || magnitude >> 120 != 0
                magnitude = unsafe magnitude << 8 | UInt128(chunk[index])
            }
        }
        guard !isTooLarge else { throw doesNotFit(UInt128.self, at: place) }
        return (magnitude, tag == CBORTag.negativeBignum)
    }

    /// Reads a floating-point number, or an integer that it holds exactly.
    @inline(__always)
    func double(at place: Place) throws -> Double {
        if byte(place.offset) == CBORByte.double {
            return Double(bitPattern: number(place.offset &+ 1, as: UInt64.self))
        }
        return try otherDouble(at: place)
    }

    private func otherDouble(at place: Place) throws -> Double {
        let inner = untagged(place)
        let initial = byte(inner.offset)
        switch initial & CBORMajor.mask {
        case CBORMajor.simple where (CBORByte.half...CBORByte.double).contains(initial):
            return floatingPoint(inner.offset, initial)
        case CBORMajor.unsigned, CBORMajor.negative:
            let magnitude = argument(inner.offset)
            let isNegative = initial & CBORMajor.mask == CBORMajor.negative
            let wide = isNegative ? ~Int128(magnitude) : Int128(magnitude)
            guard let value = Double(exactly: wide) else { throw doesNotFit(Double.self, at: place) }
            return value
        default:
            throw mismatch(Double.self, at: place)
        }
    }

    /// Reads a number, rounded to the nearest `Float`.
    func float(at place: Place) throws -> Float {
        if byte(place.offset) == CBORByte.single {
            return Float(bitPattern: number(place.offset &+ 1, as: UInt32.self))
        }
        let wide = try double(at: place)
        let value = Float(wide)
        guard value.isFinite || !wide.isFinite else { throw doesNotFit(Float.self, at: place) }
        return value
    }

    /// The value of a floating-point item of any width.
    func floatingPoint(_ offset: Int, _ initial: UInt8) -> Double {
        switch initial {
        case CBORByte.half: CBORHalf.double(number(offset + 1, as: UInt16.self))
        case CBORByte.single: Double(Float(bitPattern: number(offset + 1, as: UInt32.self)))
        default: Double(bitPattern: number(offset + 1, as: UInt64.self))
        }
    }

    /// Reads a truth value.
    @inline(__always)
    func bool(at place: Place) throws -> Bool {
        let initial = byte(untagged(place).offset)
        guard initial & 0xFE == CBORByte.false else { throw mismatch(Bool.self, at: place) }
        return initial == CBORByte.true
    }
}
