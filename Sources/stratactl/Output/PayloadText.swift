import StrataRedis

/// The payload of an envelope as lines for a person, by its codec.
enum PayloadText {
    /// The name of a codec of Strata's; `nil` for a user's own.
    static func codecName(_ codec: UInt8) -> String? {
        switch codec {
        case 1: "bytes"
        case 2: "text"
        case 3: "JSON"
        case 4: "CBOR"
        case 5: "property list"
        default: nil
        }
    }

    /// What the payload was compressed by.
    static func compressionName(_ compression: UInt8) -> String {
        switch compression {
        case 0: "none"
        case 1: "1 (zlib)"
        case 2: "2 (zstd)"
        default: "\(compression) (unknown here)"
        }
    }

    /// What the payload was protected by.
    static func protectionName(_ protection: UInt8) -> String {
        switch protection {
        case 0: "none"
        case 1: "1 (AES-GCM)"
        case 2: "2 (ChaChaPoly)"
        case 3: "3 (HMAC-SHA-256)"
        default: "\(protection) (unknown here)"
        }
    }

    /// JSON indented, text with its own ends of lines, all else as a hex dump.
    ///
    /// - Parameters:
    ///   - payload: The bytes, possibly cut off behind some.
    ///   - codec: Their codec.
    /// - Returns: The lines, without their ends.
    static func lines(_ payload: [UInt8], codec: UInt8?) -> [String] {
        switch codec {
        case 2: textLines(payload)
        case 3 where isText(payload): JSONIndentation.lines(payload)
        default: Hexadecimal.dump(payload)
        }
    }

    private static func textLines(_ payload: [UInt8]) -> [String] {
        payload.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map {
                PrintableText.escape(Array($0))
            }
    }

    /// Whether the bytes are UTF-8, but for a character that the cut went through.
    private static func isText(_ payload: [UInt8]) -> Bool {
        (0..<4).contains { String(validating: payload.dropLast($0), as: UTF8.self) != nil }
    }
}
