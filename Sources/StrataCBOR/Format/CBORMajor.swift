/// The eight major types of RFC 8949 §3.1, as they stand in the upper three bits of an initial byte.
enum CBORMajor {
    static let unsigned: UInt8 = 0x00
    static let negative: UInt8 = 0x20
    static let bytes: UInt8 = 0x40
    static let text: UInt8 = 0x60
    static let array: UInt8 = 0x80
    static let map: UInt8 = 0xA0
    static let tag: UInt8 = 0xC0
    static let simple: UInt8 = 0xE0

    /// The bits of an initial byte that hold the major type.
    static let mask: UInt8 = 0xE0
}

/// Initial bytes with a meaning of their own (RFC 8949 §3.3 and §3.2.1).
enum CBORByte {
    static let `false`: UInt8 = 0xF4
    static let `true`: UInt8 = 0xF5
    static let null: UInt8 = 0xF6
    static let undefined: UInt8 = 0xF7
    static let simple: UInt8 = 0xF8
    static let half: UInt8 = 0xF9
    static let single: UInt8 = 0xFA
    static let double: UInt8 = 0xFB
    static let `break`: UInt8 = 0xFF
}

/// The tags that the coder gives a meaning to; all others are passed over when reading.
enum CBORTag {
    /// Date and time as RFC 3339 text (RFC 8949 §3.4.1).
    static let dateText: UInt64 = 0
    /// Seconds since 1970 (RFC 8949 §3.4.2).
    static let epoch: UInt64 = 1
    /// An unsigned number as big-endian bytes (RFC 8949 §3.4.3).
    static let positiveBignum: UInt64 = 2
    /// -1 minus an unsigned number in big-endian bytes (RFC 8949 §3.4.3).
    static let negativeBignum: UInt64 = 3
    /// An array of exponent and mantissa to base ten (RFC 8949 §3.4.4).
    static let decimalFraction: UInt64 = 4
    /// A URI as text (RFC 8949 §3.4.5.3).
    static let uri: UInt64 = 32
    /// A UUID as 16 bytes (IANA registry of CBOR tags).
    static let uuid: UInt64 = 37
    /// A map of whole seconds and decimal fractions of one (RFC 9581 §3).
    static let extendedTime: UInt64 = 1001
}
