/// The first eight bytes of an encoded map key as a big-endian number, padded with zeros.
///
/// Two canonical keys compare bytewise as their prefixes do unless these are equal. The head of the key, which carries
/// its length, is part of the prefix: so equal prefixes mean keys of equal length, and for keys of up to eight encoded
/// bytes equal keys. A struct of the usual size is looked up and sorted without ever touching the key bytes themselves.
enum CBORKeyPrefix {
    /// The prefix of a text key with its shortest head.
    @inline(__always)
    static func text(_ start: UnsafeRawPointer, count: Int) -> UInt64 {
        let first = unsafe firstBytes(start, count: count)
        let length = UInt64(truncatingIfNeeded: count)
        if count < 24 { return (0x60 | length) << 56 | first >> 8 }
        if count <= 0xFF { return 0x78 << 56 | length << 48 | first >> 16 }
        if count <= 0xFFFF { return 0x79 << 56 | length << 40 | first >> 24 }
        return 0x7A << 56 | length << 24 | first >> 40
    }

    /// The prefix of an integer key with its shortest head.
    static func integer(major: UInt8, _ value: UInt64) -> UInt64 {
        let head = UInt64(major)
        if value < 24 { return (head | value) << 56 }
        if value <= 0xFF { return (head | 24) << 56 | value << 48 }
        if value <= 0xFFFF { return (head | 25) << 56 | value << 40 }
        if value <= 0xFFFF_FFFF { return (head | 26) << 56 | value << 24 }
        return (head | 27) << 56 | value >> 8
    }

    /// Up to eight bytes in big-endian order, read without passing the end.
    @inline(__always)
    static func firstBytes(_ start: UnsafeRawPointer, count: Int) -> UInt64 {
        if count >= 8 { return unsafe UInt64(bigEndian: start.loadUnaligned(as: UInt64.self)) }
        if count >= 4 {
            // The two loads overlap; the second one's upper part is shifted onto what the first one read.
            let head = unsafe UInt64(UInt32(bigEndian: start.loadUnaligned(as: UInt32.self)))
            let tail = unsafe UInt64(UInt32(bigEndian: start.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self)))
            return head << 32 | tail << UInt64(64 - 8 * count)
        }
        var result: UInt64 = 0
        for index in 0..<count {
            result |= unsafe UInt64(start.load(fromByteOffset: index, as: UInt8.self)) << UInt64(56 - 8 * index)
        }
        return result
    }

    /// Compares two stretches of bytes: negative, zero or positive as the first comes before, equals or comes after the
    /// second.
    static func compare(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer, count: Int) -> Int {
        var offset = 0
        while offset < count {
            let a = unsafe firstBytes(left + offset, count: count &- offset)
            let b = unsafe firstBytes(right + offset, count: count &- offset)
            if a != b { return a < b ? -1 : 1 }
            offset &+= 8
        }
        return 0
    }
}
