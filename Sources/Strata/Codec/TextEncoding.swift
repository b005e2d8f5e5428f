/// How text becomes bytes.
public struct TextEncoding: Sendable, Hashable, CustomStringConvertible {
    enum Form: Sendable {
        case utf8
        case ascii
        case latin1
        case utf16(isBigEndian: Bool?)
    }

    /// The registered name of the encoding (IANA character sets).
    public let description: String
    let form: Form

    private init(_ name: String, _ form: Form) {
        description = name
        self.form = form
    }

    /// UTF-8 (RFC 3629).
    public static let utf8 = TextEncoding("UTF-8", .utf8)
    /// The 128 characters of ASCII, a byte each.
    public static let ascii = TextEncoding("US-ASCII", .ascii)
    /// The first 256 characters of Unicode, a byte each.
    public static let latin1 = TextEncoding("ISO-8859-1", .latin1)
    /// UTF-16 (RFC 2781): written big-endian behind a byte order mark, read in the order that the mark says, big-endian
    /// without.
    public static let utf16 = TextEncoding("UTF-16", .utf16(isBigEndian: nil))
    /// UTF-16, big-endian, without a byte order mark.
    public static let utf16BigEndian = TextEncoding("UTF-16BE", .utf16(isBigEndian: true))
    /// UTF-16, little-endian, without a byte order mark.
    public static let utf16LittleEndian = TextEncoding("UTF-16LE", .utf16(isBigEndian: false))

    /// Encodings are the same when their names are.
    public static func == (left: TextEncoding, right: TextEncoding) -> Bool { left.description == right.description }

    /// By the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(description) }

    /// The text of bytes.
    ///
    /// - Throws: ``CacheError/Code/codec`` when the bytes are no text of this encoding: nothing is replaced or left
    ///   out.
    public func decode(_ bytes: [UInt8]) throws -> String {
        let text: String? =
            switch form {
            case .utf8: String(validating: bytes, as: UTF8.self)
            case .ascii: bytes.allSatisfy { $0 < 0x80 } ? String(decoding: bytes, as: UTF8.self) : nil
            case .latin1: String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
            case .utf16(let isBigEndian): Self.utf16Text(bytes, isBigEndian: isBigEndian)
            }
        guard let text else { throw CacheError(code: .codec, message: "the bytes are not \(self)") }
        return text
    }

    /// The bytes of a text.
    ///
    /// - Throws: ``CacheError/Code/codec`` when the encoding lacks one of its characters.
    public func encode(_ text: String) throws -> [UInt8] {
        switch form {
        case .utf8: return Array(text.utf8)
        case .ascii: return try single(text, below: 0x80)
        case .latin1: return try single(text, below: 0x100)
        case .utf16(let isBigEndian):
            var bytes: [UInt8] = isBigEndian == nil ? [0xfe, 0xff] : []
            bytes.reserveCapacity(bytes.count + 2 * text.utf16.count)
            for unit in text.utf16 {
                let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xff))
                bytes += isBigEndian == false ? [low, high] : [high, low]
            }
            return bytes
        }
    }

    private func single(_ text: String, below limit: UInt32) throws -> [UInt8] {
        try text.unicodeScalars.map { scalar in
            guard scalar.value < limit else {
                throw CacheError(code: .codec, message: "the text has a character that \(self) cannot encode")
            }
            return UInt8(truncatingIfNeeded: scalar.value)
        }
    }

    private static func utf16Text(_ bytes: [UInt8], isBigEndian: Bool?) -> String? {
        guard bytes.count.isMultiple(of: 2) else { return nil }
        var isBigEndian = isBigEndian
        var start = 0
        if isBigEndian == nil, bytes.count >= 2 {
            switch (bytes[0], bytes[1]) {
            case (0xfe, 0xff): start = 2
            case (0xff, 0xfe): (start, isBigEndian) = (2, false)
            case (_, _): break
            }
        }
        let units = stride(from: start, to: bytes.count, by: 2)
            .map { index in
                let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
                return isBigEndian == false ? second << 8 | first : first << 8 | second
            }
        return String(validating: units, as: UTF16.self)
    }
}
