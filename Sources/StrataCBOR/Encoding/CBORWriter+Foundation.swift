#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension CBORWriter {
    /// Writes the head of a tag around something that brings a number of levels with it.
    private func tag(_ number: UInt64, level: Int32, adding levels: Int32 = 1) throws {
        guard level &+ levels <= levelLimit else { throw tooDeep() }
        output.head(CBORMajor.tag, number)
    }

    /// Writes a date in the encoder's format.
    func date(_ value: Date, level: Int32) throws {
        switch encoder.dateFormat {
        case .text:
            guard let text = CBORTime.text(secondsSince2001: value.timeIntervalSinceReferenceDate) else {
                throw fault("RFC 3339 has no text for a date outside the years 0 to 9999.")
            }
            try tag(CBORTag.dateText, level: level)
            output.text(text)
        case .epoch:
            try epochDate(value.timeIntervalSinceReferenceDate, level: level)
        }
    }

    /// Writes a date so that what is read back equals it.
    ///
    /// As seconds since 1970 in tag 1. Where that number would lose a bit of a date, which is kept in seconds since
    /// 2001, as whole seconds and a decimal fraction in tag 1001 (RFC 9581).
    private func epochDate(_ seconds: Double, level: Int32) throws {
        let epoch = seconds + Date.timeIntervalBetween1970AndReferenceDate
        if epoch - Date.timeIntervalBetween1970AndReferenceDate != seconds,
            let (whole, power, parts) = CBORTime.split(secondsSince2001: seconds)
        {
            try tag(CBORTag.extendedTime, level: level, adding: 2)
            output.head(CBORMajor.map, 2)
            integer(1)
            integer(whole)
            integer(power)
            integer(parts)
            return
        }
        try tag(CBORTag.epoch, level: level)
        if let whole = Int64(exactly: epoch) {
            integer(whole)
        } else {
            double(epoch)
        }
    }

    /// Writes a byte string.
    func data(_ value: Data) {
        unsafe value.withUnsafeBytes { unsafe bytes($0) }
    }

    /// Writes the 16 bytes in tag 37.
    func uuid(_ value: UUID, level: Int32) throws {
        try tag(CBORTag.uuid, level: level)
        unsafe withUnsafeBytes(of: value.uuid) { unsafe bytes($0) }
    }

    /// Writes the absolute text in tag 32.
    func url(_ value: URL, level: Int32) throws {
        try tag(CBORTag.uri, level: level)
        output.text(value.absoluteString)
    }

    /// Writes exponent and mantissa in tag 4, without trailing zeros, so that equal numbers become equal bytes.
    func decimal(_ value: Decimal, level: Int32) throws {
        guard !value.isNaN else {
            double(.nan)
            return
        }
        // Tag, array, and the tag of a mantissa beyond 64 bits.
        try tag(CBORTag.decimalFraction, level: level, adding: 3)
        var (exponent, mantissa) = CBORDecimal.parts(of: value)
        while mantissa != 0 && mantissa.isMultiple(of: 10) && exponent < CBORDecimal.exponents.upperBound {
            mantissa /= 10
            exponent += 1
        }
        output.head(CBORMajor.array, 2)
        integer(mantissa == 0 ? 0 : exponent)
        let isNegative = value.sign == .minus && mantissa != 0
        magnitude(isNegative ? mantissa - 1 : mantissa, isNegative: isNegative)
    }
}
