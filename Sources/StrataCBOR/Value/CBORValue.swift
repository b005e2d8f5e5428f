/// Any CBOR item, as the data model of RFC 8949 §2 has it: for looking at documents whose type is not known.
///
/// Two values are equal if they hold the same items in the same order, pairs of maps included.
package enum CBORValue: Hashable, Sendable {
    /// One key and its value.
    package struct Pair: Hashable, Sendable {
        package var key: CBORValue
        package var value: CBORValue

        package init(_ key: CBORValue, _ value: CBORValue) {
            self.key = key
            self.value = value
        }
    }

    /// A number from zero on.
    case unsigned(UInt64)
    /// -1 minus the number.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBORValue])
    /// Pairs in the order of the document.
    case map([Pair])
    indirect case tagged(UInt64, CBORValue)
    case bool(Bool)
    case null
    case undefined
    /// A simple value without a name of its own.
    case simple(UInt8)
    /// A floating-point number; its width is not kept.
    case float(Double)
}
