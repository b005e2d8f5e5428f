/// A fault's name as it fits into one word: up to 8 printable ASCII characters.
package enum FaultLabel {
    package static func pack(_ label: String) -> UInt64 {
        var word: UInt64 = 0
        for (place, byte) in label.utf8.prefix(8).enumerated() {
            word |= UInt64(isPrintable(byte) ? byte : UInt8(ascii: "?")) << (place * 8)
        }
        return word
    }

    static func unpack(_ word: UInt64) -> String {
        var label = ""
        for place in 0..<8 {
            let byte = UInt8(truncatingIfNeeded: word >> (place * 8))
            if byte == 0 { break }
            label.append(isPrintable(byte) ? Character(Unicode.Scalar(byte)) : "?")
        }
        return label
    }

    private static func isPrintable(_ byte: UInt8) -> Bool {
        byte > 32 && byte < 127
    }
}
