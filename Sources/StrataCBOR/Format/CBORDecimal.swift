#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The parts of a `Decimal`: a mantissa of up to 128 bits and a power of ten.
enum CBORDecimal {
    /// The powers of ten that a `Decimal` can hold.
    static let exponents = -128...127

    /// The exponent and the mantissa without its sign, of a number that is not a NaN.
    static func parts(of value: Decimal) -> (exponent: Int, mantissa: UInt128) {
        // The mantissa has no accessor of its own; as a significand it is a whole number.
        var mantissa: UInt128 = 0
        for digit in value.significand.magnitude.description.utf8 where (0x30...0x39).contains(digit) {
            mantissa = mantissa &* 10 &+ UInt128(digit - 0x30)
        }
        return (value.exponent, mantissa)
    }

    /// The number with these parts, or `nil` where a `Decimal` cannot hold it.
    static func value(exponent: Int, mantissa: UInt128, isNegative: Bool) -> Decimal? {
        var exponent = exponent
        var mantissa = mantissa
        if mantissa == 0 { return Decimal(0) }
        // The same number may be written with its zeros in the mantissa or in the exponent.
        while exponent > exponents.upperBound {
            let (scaled, overflow) = mantissa.multipliedReportingOverflow(by: 10)
            guard !overflow else { return nil }
            mantissa = scaled
            exponent -= 1
        }
        while exponent < exponents.lowerBound && mantissa.isMultiple(of: 10) {
            mantissa /= 10
            exponent += 1
        }
        // Through text, which keeps a mantissa with zeros at the greatest exponent; `init(sign:exponent:significand:)`
        // turns it into a NaN, having shortened the significand first (Swift 6.3).
        guard exponents.contains(exponent), let magnitude = Decimal(string: "\(mantissa)e\(exponent)"), !magnitude.isNaN
        else { return nil }
        return isNegative ? -magnitude : magnitude
    }
}
