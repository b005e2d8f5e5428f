#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension CBORReader {
    /// Reads a date: tag 0, 1 or 1001, or RFC 3339 text without a tag.
    ///
    /// A number without a tag is refused, since it does not say from when it counts.
    func date(at place: Place) throws -> Date {
        var inner = place
        while major(inner.offset) == CBORMajor.tag {
            let tag = argument(inner.offset)
            inner.offset += CBORHead.length(initial: byte(inner.offset))
            switch tag {
            case CBORTag.epoch:
                return Date(timeIntervalSince1970: try double(at: inner))
            case CBORTag.extendedTime:
                return Date(timeIntervalSinceReferenceDate: try extendedTime(at: inner))
            default:
                continue
            }
        }
        guard major(inner.offset) == CBORMajor.text else { throw mismatch(Date.self, at: place) }
        guard let seconds = CBORTime.secondsSince2001(text: try string(at: inner)) else {
            throw corrupted("The text is not an RFC 3339 date.", at: place)
        }
        return Date(timeIntervalSinceReferenceDate: seconds)
    }

    /// Reads the map of RFC 9581 §3: seconds since 1970 under 1, and a fraction under a negative power of ten.
    private func extendedTime(at place: Place) throws -> Double {
        let inner = untagged(place)
        guard major(inner.offset) == CBORMajor.map else { throw mismatch(Date.self, at: place) }
        guard let whole = unsafe find(1, in: inner.container)?.pointee else {
            throw corrupted("An extended time has no seconds.", at: place)
        }
        let seconds = Place(offset: Int(whole.value), container: Int(whole.container))
        var fraction = 0.0
        for (power, unit) in CBORTime.units {
            guard let entry = unsafe find(power, in: inner.container)?.pointee else { continue }
            let parts = try integer(UInt64.self, at: Place(offset: Int(entry.value), container: Int(entry.container)))
            fraction += Double(parts) * unit
        }
        guard byte(seconds.offset) & CBORMajor.mask <= CBORMajor.negative else {
            return try double(at: seconds) - Double(CBORTime.secondsTo2001) + fraction
        }
        return CBORTime.join(whole: try integer(Int64.self, at: seconds), fraction: fraction)
    }

    /// Reads 16 bytes, or the usual text.
    func uuid(at place: Place) throws -> UUID {
        let inner = untagged(place)
        if major(inner.offset) == CBORMajor.text {
            guard let value = UUID(uuidString: try string(at: inner)) else {
                throw corrupted("The text is not a UUID.", at: place)
            }
            return value
        }
        guard major(inner.offset) == CBORMajor.bytes else { throw mismatch(UUID.self, at: place) }
        let bytes = try bytes(at: inner, for: UUID.self)
        guard bytes.count == 16 else { throw corrupted("A UUID has 16 bytes.", at: place) }
        return unsafe UUID(uuid: bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: uuid_t.self) })
    }

    /// Reads the text of a URL.
    func url(at place: Place) throws -> URL {
        let inner = untagged(place)
        guard major(inner.offset) == CBORMajor.text else { throw mismatch(URL.self, at: place) }
        guard let value = URL(string: try string(at: inner)) else {
            throw corrupted("The text is not a URL.", at: place)
        }
        return value
    }

    /// Reads a decimal fraction (tag 4), a number, or the text of one.
    func decimal(at place: Place) throws -> Decimal {
        var inner = place
        while major(inner.offset) == CBORMajor.tag {
            let tag = argument(inner.offset)
            if tag == CBORTag.positiveBignum || tag == CBORTag.negativeBignum { break }
            inner.offset += CBORHead.length(initial: byte(inner.offset))
            if tag == CBORTag.decimalFraction { return try decimalFraction(at: inner) }
        }
        switch major(inner.offset) {
        case CBORMajor.unsigned, CBORMajor.negative, CBORMajor.tag:
            return try decimal(exponent: 0, mantissa: inner)
        case CBORMajor.simple:
            let number = try double(at: inner)
            // Foundation's initialiser ends the process when it gets one that is infinite.
            let value = number.isInfinite ? .nan : Decimal(number)
            guard number.isNaN || !value.isNaN else { throw doesNotFit(Decimal.self, at: place) }
            return value
        case CBORMajor.text:
            let text = try string(at: inner)
            // It would read as much as is a number, and leave out the rest.
            guard isDecimal(text), let value = Decimal(string: text) else {
                throw corrupted("The text is not a decimal number.", at: place)
            }
            return value
        default:
            throw mismatch(Decimal.self, at: place)
        }
    }

    /// Whether a text is a number as JSON writes them, which may begin with a plus, a dot or zeros, and end with a dot.
    private func isDecimal(_ text: String) -> Bool {
        var rest = text.utf8[...]
        func digits() -> Int {
            let count = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
            rest = rest.dropFirst(count)
            return count
        }
        func skip(_ characters: String) -> Bool {
            guard let first = rest.first, characters.utf8.contains(first) else { return false }
            rest = rest.dropFirst()
            return true
        }
        _ = skip("+-")
        var count = digits()
        if skip(".") { count += digits() }
        guard count > 0 else { return false }
        guard skip("eE") else { return rest.isEmpty }
        _ = skip("+-")
        return digits() > 0 && rest.isEmpty
    }

    private func decimalFraction(at place: Place) throws -> Decimal {
        let inner = untagged(place)
        guard major(inner.offset) == CBORMajor.array, unsafe containers.base[inner.container].count == 2 else {
            throw corrupted("A decimal fraction is an array of two numbers.", at: place)
        }
        let container = unsafe containers.base[inner.container]
        let exponent = Place(offset: Int(container.content), container: inner.container + 1)
        return try decimal(exponent: integer(Int.self, at: exponent), mantissa: following(exponent))
    }

    private func decimal(exponent: Int, mantissa place: Place) throws -> Decimal {
        let magnitude: UInt128
        let isNegative: Bool
        if let number = try bignum(at: place) {
            (magnitude, isNegative) = number
        } else {
            let number = try integer(Int128.self, at: place)
            isNegative = number < 0
            magnitude = UInt128(truncatingIfNeeded: isNegative ? ~number : number)
        }
        let (mantissa, overflow) = magnitude.addingReportingOverflow(isNegative ? 1 : 0)
        guard !overflow, (-1000...1000).contains(exponent),
            let value = CBORDecimal.value(exponent: exponent, mantissa: mantissa, isNegative: isNegative)
        else { throw doesNotFit(Decimal.self, at: place) }
        return value
    }
}
