/// The slot of a cluster that a key belongs to: the CRC16 of its name, or of what stands between its first braces.
///
/// CRC-16/XMODEM, as the cluster specification has it.
enum HashSlot {
    /// How many slots any cluster has.
    static let count = 16_384

    private static let table: [UInt16] = (0..<256)
        .map { byte in
            (0..<8)
                .reduce(UInt16(byte) << 8) { value, _ in
                    value & 0x8000 == 0 ? value << 1 : value << 1 ^ 0x1021
                }
        }

    /// The slot of a key; O(length).
    static func of(_ key: RedisKey) -> UInt16 { of(key.bytes) }

    /// The slot of a key's name.
    static func of(_ name: [UInt8]) -> UInt16 {
        guard let open = name.firstIndex(of: UInt8(ascii: "{")),
            let close = name[(open + 1)...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
        else { return slot(of: name[...]) }
        return slot(of: name[(open + 1)..<close])
    }

    private static func slot(of bytes: ArraySlice<UInt8>) -> UInt16 {
        var sum: UInt16 = 0
        for byte in bytes { sum = sum << 8 ^ table[Int(UInt8(truncatingIfNeeded: sum >> 8) ^ byte)] }
        return sum & UInt16(count - 1)
    }
}
