#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Values whose form is known here, written without a call of their `encode(to:)` and without a container.
extension CBORWriter {
    /// Writes a value of one of the known types.
    ///
    /// The comparisons are of metadata addresses, a nanosecond each; the casts behind them have nothing left to check.
    ///
    /// - Returns: Whether it was one of them.
    func encodeKnown<Value: Encodable>(_ value: Value, level: Int32) throws -> Bool {
        if Value.self == String.self {
            unsafe output.text(unsafeBitCast(value, to: String.self))
        } else if Value.self == Int.self {
            unsafe integer(unsafeBitCast(value, to: Int.self))
        } else if Value.self == Double.self {
            unsafe double(unsafeBitCast(value, to: Double.self))
        } else if Value.self == [String].self {
            unsafe try array(unsafeBitCast(value, to: [String].self), level: level) { $0.output.text($1) }
        } else if Value.self == [String: Int].self {
            unsafe try map(unsafeBitCast(value, to: [String: Int].self), level: level) { $0.integer($1) }
        } else if Value.self == [String: String].self {
            unsafe try map(unsafeBitCast(value, to: [String: String].self), level: level) { $0.output.text($1) }
        } else if Value.self == [String: Double].self {
            unsafe try map(unsafeBitCast(value, to: [String: Double].self), level: level) { $0.double($1) }
        } else if Value.self == Date.self {
            unsafe try date(unsafeBitCast(value, to: Date.self), level: level)
        } else if Value.self == [Int].self {
            unsafe try array(unsafeBitCast(value, to: [Int].self), level: level) { $0.integer($1) }
        } else if Value.self == [Double].self {
            unsafe try array(unsafeBitCast(value, to: [Double].self), level: level) { $0.double($1) }
        } else if Value.self == [UInt8].self {
            unsafe try byteArray(unsafeBitCast(value, to: [UInt8].self), level: level)
        } else if Value.self == Bool.self {
            unsafe bool(unsafeBitCast(value, to: Bool.self))
        } else {
            return try encodeFoundation(value, level: level)
        }
        return true
    }

    private func encodeFoundation<Value: Encodable>(_ value: Value, level: Int32) throws -> Bool {
        if Value.self == Data.self {
            unsafe data(unsafeBitCast(value, to: Data.self))
        } else if Value.self == UUID.self {
            unsafe try uuid(unsafeBitCast(value, to: UUID.self), level: level)
        } else if Value.self == URL.self {
            unsafe try url(unsafeBitCast(value, to: URL.self), level: level)
        } else if Value.self == Decimal.self {
            unsafe try decimal(unsafeBitCast(value, to: Decimal.self), level: level)
        } else {
            return false
        }
        return true
    }

    @inline(__always)
    private func array<Element>(
        _ value: [Element],
        level: Int32,
        _ write: (CBORWriter, Element) -> Void
    ) throws {
        guard level < levelLimit else { throw tooDeep() }
        output.head(CBORMajor.array, UInt64(value.count))
        for element in value { write(self, element) }
    }

    private func byteArray(_ value: [UInt8], level: Int32) throws {
        if encoder.writesByteArraysAsByteStrings {
            unsafe value.withUnsafeBytes { unsafe bytes($0) }
        } else {
            try array(value, level: level) { $0.integer($1) }
        }
    }

    @inline(__always)
    private func map<Element>(
        _ value: [String: Element],
        level: Int32,
        _ write: (CBORWriter, Element) -> Void
    ) throws {
        guard level < levelLimit else { throw tooDeep() }
        let slot = open(level: level)
        unsafe top.pointee.form = .map
        output.byte(0)
        for (key, element) in value {
            if usesIntegerKeys {
                try beginEntry(slot, CBORKey(textOrNumber: key))
            } else {
                var name = key
                try name.withUTF8 { unsafe try beginEntry(slot, $0) }
            }
            write(self, element)
        }
        close()
    }
}
