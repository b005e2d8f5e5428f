/// Glob patterns as SCAN takes them.
public enum RedisGlob {
    /// A pattern that matches exactly these bytes: all special characters of a glob are escaped.
    public static func literal(_ bytes: [UInt8]) -> [UInt8] {
        var pattern: [UInt8] = []
        pattern.reserveCapacity(bytes.count + 8)
        for byte in bytes {
            if special.contains(byte) { pattern.append(UInt8(ascii: "\\")) }
            pattern.append(byte)
        }
        return pattern
    }

    /// A pattern that matches all keys that begin with these bytes.
    public static func prefix(_ bytes: [UInt8]) -> [UInt8] {
        literal(bytes) + [UInt8(ascii: "*")]
    }

    private static let special = Set("*?[]\\^-".utf8)
}
