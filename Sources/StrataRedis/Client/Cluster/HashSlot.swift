/// The slot of a cluster that a key belongs to: the CRC16 of its name, or of what stands between its first braces.
///
/// CRC-16/XMODEM, as the cluster specification has it.
enum HashSlot {
    /// How many slots any cluster has.
    static let count = 16_384

    /// What a byte adds to the sum: 256 words each for a byte at the end, and with one, two and three more behind it.
    private static let tables: [UInt16] = {
        var tables = (0..<256)
            .map { byte in
                (0..<8)
                    .reduce(UInt16(byte) << 8) { value, _ in
                        value & 0x8000 == 0 ? value << 1 : value << 1 ^ 0x1021
                    }
            }
        for place in 256..<1_024 {
            let before = tables[place - 256]
            tables.append(before << 8 ^ tables[Int(before >> 8)])
        }
        return tables
    }()

    /// The slot of a key; O(length).
    static func of(_ key: RedisKey) -> UInt16 { of(key.bytes) }

    /// The slot of a key's name.
    static func of(_ name: [UInt8]) -> UInt16 {
        guard let open = name.firstIndex(of: UInt8(ascii: "{")),
            let close = name[(open + 1)...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
        else { return slot(of: name[...]) }
        return slot(of: name[(open + 1)..<close])
    }

    /// Four bytes at a time: each step of a sum waits for the one before it.
    private static func slot(of bytes: ArraySlice<UInt8>) -> UInt16 {
        tables.withUnsafeBufferPointer { tables in
            bytes.withUnsafeBufferPointer { bytes in
                var sum: UInt16 = 0
                var place = 0
                while place + 4 <= bytes.count {
                    sum =
                        tables[768 + Int(UInt8(truncatingIfNeeded: sum >> 8) ^ bytes[place])]
                        ^ tables[512 + Int(UInt8(truncatingIfNeeded: sum) ^ bytes[place + 1])]
                        ^ tables[256 + Int(bytes[place + 2])] ^ tables[Int(bytes[place + 3])]
                    place += 4
                }
                for byte in bytes[place...] {
                    sum = sum << 8 ^ tables[Int(UInt8(truncatingIfNeeded: sum >> 8) ^ byte)]
                }
                return sum & UInt16(count - 1)
            }
        }
    }
}
